"""One's own conversations: all of them with a search, another title, the end of one."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.requests import PageRequest
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy
from retrieval.chat.selectors import find_conversations, get_conversation
from retrieval.chat.service import delete_conversation, rename_conversation
from retrieval.views.ask import get_or_post

ROWS = 30


@policy(Access.SIGNED_IN)
@require_safe
def conversations(request: PageRequest) -> HttpResponse:
    """The latest first; `q` looks in titles and questions."""
    typed = request.GET.get("q", "").strip()[:200]
    found = find_conversations(request.principal, typed).annotate(question_count=Count("messages"))
    found = found.order_by("-updated_at", "-id")
    page = Paginator(found, ROWS).get_page(request.GET.get("page"))
    return render(request, "retrieval/conversations.html", {"page": page, "typed": typed})


@policy(Access.OBJECT)
@get_or_post
def conversation_rename(request: PageRequest, uid: str) -> HttpResponse:
    current = get_conversation(request.principal, uid)
    context: dict[str, Any] = {"conversation": current, "title": current.title}
    if request.method == "POST":
        context["title"] = request.POST.get("title", "")
        try:
            rename_conversation(current, principal=request.principal, title=context["title"])
        except InvalidInput as error:
            context["problem"] = " ".join(str(reason) for reason in error.fields.values())
            return render(request, "retrieval/conversation_rename.html", context, status=error.status)
        return redirect("conversation", uid)
    return render(request, "retrieval/conversation_rename.html", context)


@policy(Access.OBJECT)
@get_or_post
def conversation_delete(request: PageRequest, uid: str) -> HttpResponse:
    current = get_conversation(request.principal, uid)
    if request.method == "POST":
        delete_conversation(current, principal=request.principal)
        messages.success(request, _("Deleted “%(name)s”.") % {"name": current.title})
        return redirect("conversations")
    context = {
        "title": _("Delete “%(name)s”?") % {"name": current.title},
        "text": _("The conversation and its answers are removed. This cannot be undone."),
        "action": _("Delete conversation"),
        "crumb": _("Conversations"),
        "back_url": reverse("conversation", args=[uid]),
    }
    return render(request, "confirm.html", context)
