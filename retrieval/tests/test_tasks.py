from datetime import timedelta

import pytest
from django.utils import timezone

from retrieval.models import SearchTrace
from retrieval.tasks import forget_old_traces


@pytest.mark.django_db
def test_traces_are_forgotten_after_thirty_days():
    for age in (1, 29, 31):
        trace = SearchTrace.objects.create(trace_id=f"{age:032}", query="q", mode="hybrid", generation=1)
        SearchTrace.objects.filter(pk=trace.pk).update(created_at=timezone.now() - timedelta(days=age))
    assert forget_old_traces() == 1
    assert SearchTrace.objects.count() == 2
