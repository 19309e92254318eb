"""What a person may do with everything they have asked."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.requests import PageRequest
from kb_platform.audit import record
from kb_platform.policies import Access, policy
from retrieval.models import Conversation


@policy(Access.SIGNED_IN)
@require_http_methods(["GET", "HEAD", "POST"])
def conversations_delete_all(request: PageRequest) -> HttpResponse:
    """Delete all of one's own conversations, after a page that says how many."""
    mine = Conversation.objects.filter(user_id=request.principal.user_id)
    count = mine.count()
    if request.method == "POST":
        with transaction.atomic():
            mine.delete()
            record(request.principal, "conversations.deleted", None, count=count)
        messages.success(request, _("Your chats are deleted."))
        return redirect("account")
    action = ngettext("Delete %(n)d chat", "Delete %(n)d chats", count) % {"n": count}
    context = {
        "title": f"{action}?",
        "text": _("Questions, answers and citations are erased at once. This cannot be undone."),
        "action": action,
        "back_url": reverse("account"),
        "crumb": _("My account"),
    }
    return render(request, "confirm.html", context)
