"""The audit log, newest first. It is read only, and names of objects are all it says of them."""

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kb_platform.models import AuditEntry
from kb_platform.policies import Access, policy

PAGE_SIZE = 50


@policy(Access.ADMINISTRATOR)
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip().replace("\x00", "")
    entries = AuditEntry.objects.all()
    if words:
        entries = entries.filter(
            Q(actor_name__icontains=words)
            | Q(object_name__icontains=words)
            | Q(action__icontains=words)
            | Q(trace_id=words)
        )
    page = Paginator(entries, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "accounts/audit.html", {"page": page, "q": words})
