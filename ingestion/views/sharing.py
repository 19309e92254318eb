"""Who may see a collection or a document: a list that is edited on the page and saved as a whole.

Every button posts the whole form. Only "save" writes; the others show the page again with what would change, so the
page works the same with and without scripts.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import AccessScope
from accounts.permissions.explanation import explain_access
from accounts.permissions.grants import grants_of, version_of
from accounts.permissions.visibility import may, require, require_sharing
from accounts.requests import PageRequest
from accounts.selectors import FoundHolder, find_holders, find_user, named_holders
from accounts.values import GrantRequest, HolderKind, Permission, Principal, StoredGrant
from ingestion import families, selectors, services
from ingestion.access import (
    AccessPlan,
    access_version,
    follows_collection,
    plan_collection,
    plan_document,
)
from ingestion.access_words import change_lines, documents_phrase
from ingestion.models import Collection, Document
from ingestion.staging import (
    LEVELS,
    REMOVE,
    SharingRow,
    Shown,
    edits_in,
    holder_of,
    requests_in,
    sharing_rows,
    staged_rows,
    subject_of,
)
from kb_platform.errors import Conflict, InvalidInput, NotFound
from kb_platform.policies import Access, policy

__all__ = ["collection_sharing", "document_sharing", "holder_search", "sharing_rows"]
get_or_post = require_http_methods(["GET", "HEAD", "POST"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is shared. grants: the list that is edited. switches: the form exchanges one list for another.

    editable: False while a document follows its collection. plan and save take the wished list.
    """

    scope: AccessScope
    grants: Sequence[StoredGrant]
    version: str
    plan: Callable[[Sequence[GrantRequest]], AccessPlan]
    save: Callable[[Sequence[GrantRequest]], None]
    context: dict[str, Any]
    done_url: str
    editable: bool = True
    switches: bool = False


@dataclass(slots=True, kw_only=True)
class Staged:
    """The list on the page. `problem` says why it cannot be saved as it is."""

    rows: list[SharingRow]
    planned: AccessPlan | None = None
    wished: list[GrantRequest] = field(default_factory=list)
    problem: str = ""
    found: list[FoundHolder] = field(default_factory=list)

    @property
    def change_count(self) -> int:
        return sum(bool(row.mark) for row in self.rows)


@policy(Access.OBJECT)
@get_or_post
def collection_sharing(request: PageRequest, uid: str) -> HttpResponse:
    collection = selectors.get_collection(request.principal, uid)
    require(request.principal, Permission.MANAGE, collection.scope_id)
    return _respond(request, lambda: _of_collection(request.principal, collection))


@policy(Access.OBJECT)
@get_or_post
def document_sharing(request: PageRequest, uid: str) -> HttpResponse:
    document = selectors.get_document(request.principal, uid)
    require(request.principal, Permission.MANAGE, document.scope_id)
    if above := families.above(document):  # it is seen by whoever sees what holds it
        return redirect("document_sharing", above[0].uid)
    return _respond(request, lambda: _of_document(request, uid))


@policy(Access.SIGNED_IN)
@require_safe
def holder_search(request: PageRequest) -> HttpResponse:
    """Buttons for the people and groups whose name or address holds what was typed; for those who manage something."""
    require_sharing(request.principal)
    context = {"found": find_holders(request.GET.get("add", ""))}
    return render(request, "ingestion/_found_holders.html", context)


def _of_collection(principal: Principal, collection: Collection) -> Subject:
    grants = grants_of(collection.scope)
    version = version_of(grants)
    return Subject(
        scope=collection.scope,
        grants=grants,
        version=version,
        plan=lambda wished: plan_collection(principal, collection, wished),
        save=lambda wished: services.share_collection(
            actor=principal, collection=collection, grants=wished, version=version
        ),
        context={"collection": collection, "subject_name": collection.name, "tab": "sharing"},
        done_url=reverse("collection_sharing", args=[collection.uid]),
    )


def _of_document(request: PageRequest, uid: str) -> Subject:
    principal = request.principal
    document = selectors.get_document(principal, uid)
    follows = follows_collection(document)
    may_follow = may(principal, Permission.MANAGE, document.collection.scope_id)
    mode = request.POST.get("mode") or request.GET.get("mode") or ("collection" if follows else "own")
    own = mode == "own" or not may_follow
    version = access_version(document)

    def planned(wished: Sequence[GrantRequest]) -> AccessPlan:
        return plan_document(principal, document, wished if own else None)

    def save(wished: Sequence[GrantRequest]) -> None:
        services.share_document(
            actor=principal, document=document, grants=wished if own else None, version=version
        )

    return Subject(
        scope=document.scope,
        grants=grants_of(document.scope if own else document.collection.scope),
        version=version,
        plan=planned,
        save=save,
        context={
            "document": document,
            "collection": document.collection,
            "subject_name": document.title,
            "mode": "own" if own else "collection",
            "follows_collection": follows,
            "may_follow": may_follow,
            **_frame(document),
        },
        done_url=reverse("document_sharing", args=[document.uid]),
        editable=own,
        switches=own == follows,
    )


def _frame(document: Document) -> dict[str, Any]:
    """What the head of a document's pages shows to somebody who manages it."""
    scopes = {document.scope_id}
    return {
        "tab": "access",
        "version_count": document.versions.count(),
        "may_edit": True,
        "may_manage": True,
        "contributable": scopes,
        "manageable": scopes,
    }


def _respond(request: PageRequest, read: Callable[[], Subject]) -> HttpResponse:
    subject = read()
    staged = _stage(request, subject)
    seen = request.POST.get("version", "")
    is_stale = bool(seen) and seen != subject.version
    asked = ""
    if _wants(request, "save", "confirm") and staged.planned and not staged.problem and not is_stale:
        asked = _digest(staged.planned) if staged.planned.plan.gaining else ""
        if not asked or request.POST.get("confirm") == asked:
            try:
                subject.save(staged.wished)
            except Conflict:  # between reading and writing: shown on top of the list as it is now
                return _respond(request, read)
            messages.success(request, _("Saved. It holds from the next search on."))
            return redirect(_where_next(request.principal, subject))
    context = {
        **subject.context,
        "rows": staged.rows,
        "levels": LEVELS,
        "editable": subject.editable,
        "version": subject.version,
        "is_stale": is_stale,
        "problem": staged.problem,
        "found": staged.found,
        "planned": staged.planned,
        "lines": change_lines(staged.planned) if staged.planned else (),
        "change_count": staged.change_count + subject.switches,
        "confirm": asked,
        "gaining": len(staged.planned.plan.gaining) if staged.planned else 0,
        "documents": _how_many(staged.planned),
        "typed": _typed(request, bool(staged.found or staged.problem)),
        **_checked_person(request, subject.scope),
    }
    status = 400 if staged.problem and not request.htmx else 200
    return render(request, "ingestion/sharing.html", context, status=status)


def _wants(request: PageRequest, *actions: str) -> bool:
    """Whether the button that was pressed is one of these; Enter in a field, or no button at all, means "add"."""
    named = [name for name in ("confirm", "pick", "drop", "undo", "who_is") if request.POST.get(name)]
    return (named or [request.POST.get("do") or "add"])[0] in actions


def _stage(request: PageRequest, subject: Subject) -> Staged:
    """The list with the posted edits, and what it would change. What cannot be used is said, not dropped."""
    principal = request.principal
    if not subject.editable:
        staged = Staged(rows=sharing_rows(principal, subject.grants))
        return _with_plan(staged, subject) if subject.switches else staged
    edits: dict[str, Shown] = {}
    problem, found = "", []
    try:
        edits = edits_in(request.POST)
        found = _add(request, subject, edits)
    except InvalidInput as error:
        problem = str(error)
    rows = staged_rows(principal, subject.grants, edits)
    wanted = {who for who, (level, _end) in edits.items() if level != REMOVE}
    if wanted - {row.subject for row in rows}:
        problem = problem or _("There is no such person or group.")
    staged = Staged(rows=rows, problem=problem, found=found)
    return _with_plan(staged, subject) if staged.change_count or subject.switches else staged


def _with_plan(staged: Staged, subject: Subject) -> Staged:
    try:
        staged.wished = requests_in(staged.rows, subject.grants)
        planned = subject.plan(staged.wished)
        staged.planned = planned
    except InvalidInput as error:
        staged.problem = staged.problem or _in_words(error)
    return staged


def _add(request: PageRequest, subject: Subject, edits: dict[str, Shown]) -> list[FoundHolder]:
    """Put whoever was picked or typed among the edits; several or no exact matches are given back to choose from."""
    level = request.POST.get("add_permission", "")
    if picked := request.POST.get("pick", ""):
        edits[subject_of(holder_of(picked))] = (level, "")
        return []
    text = request.POST.get("add", "").strip()
    if not _wants(request, "add", "save") or not text:
        return []
    named = named_holders(text)
    if len(named) == 1:
        edits[subject_of(named[0].holder)] = (level, "")
        return []
    found = named or find_holders(text)
    if not found:
        raise InvalidInput(
            _("Nobody is called “%(name)s”. Type an e-mail address or the name of a group.") % {"name": text}
        )
    return found


def _typed(request: PageRequest, keep: bool) -> dict[str, str]:
    """What stays in the field for adding; a name that has been added leaves it."""
    posted = request.POST
    kept = posted.get("add", "") if keep or not _wants(request, "add", "save") else ""
    return {
        "add": "" if posted.get("pick") else kept,
        "permission": posted.get("add_permission", Permission.VIEW.value),
        "who": posted.get("who", ""),
    }


def _checked_person(request: PageRequest, scope: AccessScope) -> dict[str, Any]:
    """The verdict on the person asked about, or those to choose from."""
    text = request.POST.get("who", "").strip()
    chosen = request.POST.get("who_is", "")
    is_asked = _wants(request, "check") or (_wants(request, "add") and text and not request.POST.get("add"))
    if not chosen and not (is_asked and text):
        return {}
    if chosen:
        try:
            return {"verdict": explain_access(scope, find_user(chosen))}
        except NotFound:
            return {"nobody": text or chosen[:50]}
    people = [found for found in named_holders(text) if found.holder.kind is HolderKind.USER]
    people = people or [found for found in find_holders(text) if found.holder.kind is HolderKind.USER]
    if not people:
        return {"nobody": text}
    if len(people) > 1:
        return {"candidates": people}
    return {"verdict": explain_access(scope, find_user(str(people[0].holder.id)))}


def _how_many(planned: AccessPlan | None) -> str:
    """The documents concerned in words, empty where there are none yet."""
    return documents_phrase(planned.document_count) if planned and planned.document_count else ""


def _digest(planned: AccessPlan) -> str:
    """Names the people who gain sight: a confirmation counts only for those it was asked for."""
    people = ",".join(map(str, sorted(planned.plan.gaining)))
    return hashlib.sha256(people.encode()).hexdigest()[:16]


def _where_next(principal: Principal, subject: Subject) -> str:
    document: Document | None = subject.context.get("document")
    if document is None:
        return (
            subject.done_url
            if may(principal, Permission.MANAGE, subject.scope.pk)
            else reverse("collections")
        )
    document.refresh_from_db()
    return subject.done_url if may(principal, Permission.MANAGE, document.scope_id) else reverse("documents")


def _in_words(error: InvalidInput) -> str:
    return " ".join(dict.fromkeys(str(reason) for reason in error.fields.values())) or str(error)
