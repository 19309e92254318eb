"""Who may see a collection or a document: one form that lists everybody and replaces the list when it is saved."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.models import AccessScope, User
from accounts.permissions.grants import grants_of
from accounts.permissions.visibility import require
from accounts.requests import PageRequest
from accounts.selectors import group_name, groups, sharing_choices
from accounts.values import GrantRequest, Holder, HolderKind, Permission, Principal, StoredGrant
from ingestion import selectors, services
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy

get_or_post = require_http_methods(["GET", "HEAD", "POST"])
LEVELS = (
    (Permission.VIEW.value, gettext_lazy("View")),
    (Permission.CONTRIBUTE.value, gettext_lazy("Contribute")),
    (Permission.MANAGE.value, gettext_lazy("Manage")),
)
REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingRow:
    """One holder in the form. `subject` is "group:3" or "user:7"; the reader's own row cannot be changed."""

    subject: str
    name: str
    detail: str
    is_group: bool
    is_own: bool
    member_count: int
    permission: str
    expires_on: str

    @property
    def permission_label(self) -> str:
        return str(dict(LEVELS)[self.permission])


@policy(Access.OBJECT)
@get_or_post
def collection_sharing(request: PageRequest, uid: str) -> HttpResponse:
    collection = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, collection.scope_id)
    problem = ""
    if request.method == "POST":
        try:
            wanted = wished_grants(request.POST)
            services.share_collection(actor=request.principal, collection=collection, grants=wanted)
            messages.success(request, _("Saved. It holds from the next search on."))
            return redirect("collection_sharing", uid)
        except InvalidInput as error:
            problem = _in_words(error)
    context = {"collection": collection, "subject_name": collection.name, "back_url": reverse("collections")}
    return _page(request, collection.scope, problem, **context)


@policy(Access.OBJECT)
@get_or_post
def document_sharing(request: PageRequest, uid: str) -> HttpResponse:
    document = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, document.scope_id)
    follows = document.scope_id == document.collection.scope_id
    problem = ""
    if request.method == "POST":
        try:
            wanted = None if request.POST.get("follow") else wished_grants(request.POST)
            services.share_document(actor=request.principal, document=document, grants=wanted)
            messages.success(request, _("Saved. It holds from the next search on."))
            return redirect("document", uid)
        except InvalidInput as error:
            problem = _in_words(error)
    return _page(
        request,
        document.scope,
        problem,
        document=document,
        collection=document.collection,
        subject_name=document.title,
        follows_collection=follows,
        own_list=not follows,
        back_url=reverse("document", args=[uid]),
    )


def _page(request: PageRequest, scope: AccessScope, problem: str, **context: object) -> HttpResponse:
    people, crowds = sharing_choices()
    typed = {
        "subject": request.POST.get("add", ""),
        "permission": request.POST.get("add_permission", Permission.VIEW),
        "expires": request.POST.get("add_expires", ""),
    }
    form = {
        "rows": sharing_rows(request.principal, grants_of(scope)),
        "levels": LEVELS,
        "known": [*(group_name(group) for group in crowds), *(user.email for user in people[:500])],
        "added": typed,
        "problem": problem,
    }
    return render(request, "ingestion/sharing.html", {**form, **context}, status=400 if problem else 200)


def sharing_rows(principal: Principal, grants: Sequence[StoredGrant]) -> list[SharingRow]:
    """The stored list as the form shows it."""
    members = {group.pk: getattr(group, "member_count", 0) for group in groups()}
    return [
        SharingRow(
            subject=f"{grant.holder.kind}:{grant.holder.id}",
            name=grant.name,
            detail=grant.email,
            is_group=grant.holder.kind is HolderKind.GROUP,
            is_own=grant.holder == Holder.user(principal.user_id),
            member_count=members.get(grant.holder.id, 0),
            permission=grant.permission.value,
            expires_on=timezone.localdate(grant.expires_at).isoformat() if grant.expires_at else "",
        )
        for grant in grants
    ]


def wished_grants(form: QueryDict) -> list[GrantRequest]:
    """The list as the form wishes it. Raises InvalidInput with a sentence for what cannot be read."""
    rows = zip(form.getlist("subject"), form.getlist("permission"), form.getlist("expires"), strict=False)
    wanted = {
        holder: _request(holder, level, end)
        for subject, level, end in rows
        if level != REMOVE and (holder := _holder(subject))
    }
    if typed := form.get("add", "").replace("\x00", "").strip():
        holder = _named(typed)
        wanted[holder] = _request(holder, form.get("add_permission", ""), form.get("add_expires", ""))
    return list(wanted.values())


def _request(holder: Holder, level: str, end: str) -> GrantRequest:
    try:
        permission, day = Permission(level), parse_date(end) if end else None
        expires_at = _end_of(day) if day else None
    except (ValueError, OverflowError) as error:
        raise InvalidInput(_("Choose a level from the list and a date from the calendar.")) from error
    return GrantRequest(holder=holder, permission=permission, expires_at=expires_at)


def _end_of(day: date) -> datetime:
    """Access until a day includes that day, on the site's clock. Raises OverflowError at the end of the calendar."""
    return timezone.make_aware(datetime.combine(day, time(23, 59, 59))).astimezone(UTC)


def _holder(subject: str) -> Holder:
    kind, _colon, key = subject.partition(":")
    if kind not in set(HolderKind) or not key.isdecimal() or len(key) > 18:
        raise InvalidInput(_("There is no such person or group."))
    return Holder(kind=HolderKind(kind), id=int(key))


def _named(text: str) -> Holder:
    """Whoever the typed e-mail address or group name means."""
    if user := User.objects.filter(email=text.lower(), is_active=True).first():
        return Holder.user(user.pk)
    named = [
        group
        for group in groups()
        if text.casefold() in (group_name(group).casefold(), group.name.casefold())
    ]
    if not named:
        raise InvalidInput(
            _("Nobody is called “%(name)s”. Type an e-mail address or the name of a group.") % {"name": text}
        )
    return Holder.group(named[0].pk)


def _in_words(error: InvalidInput) -> str:
    return " ".join(dict.fromkeys(str(reason) for reason in error.fields.values())) or str(error)
