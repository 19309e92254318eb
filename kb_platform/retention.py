"""Forgetting old rows without holding locks on many of them at once."""

from typing import Any

from django.db.models import QuerySet

BATCH = 5_000


def delete_in_batches(rows: "QuerySet[Any]", *, size: int = BATCH) -> int:
    """Delete the rows, oldest first and `size` at a time, each batch with what hangs on it; returns how many rows."""
    removed = 0
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:size]):
        rows.model._default_manager.filter(pk__in=ids).delete()
        removed += len(ids)
    return removed
