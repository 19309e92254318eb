"""Reading collections, documents and jobs, always as somebody. What one may not see is NotFound, as if it did not exist."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, CharField, Count, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, NullIf

from accounts.permissions.visibility import visible_scopes
from accounts.values import Permission, Principal
from ingestion.conditions import FieldCondition, matching
from ingestion.models import (
    IN_FORCE,
    UNFINISHED,
    Chunk,
    Collection,
    Document,
    DocumentVersion,
    Element,
    IngestJob,
    Verdict,
    VersionState,
)
from kb_platform.errors import NotFound
from kb_platform.json_values import is_storable

NEEDS_ATTENTION = (
    VersionState.REJECTED,
    VersionState.QUARANTINED,
    VersionState.CANCELLED,
    VersionState.PARTLY_LIVE,
)
DOUBTFUL = (Verdict.UNREAD, Verdict.BADLY, Verdict.PARTLY)
DOCUMENT_VIEWS = ("mine", "attention", "doubtful", "restricted", "archived")
DOCUMENT_STATES = ("processing", "live", "partly_live", "rejected", "quarantined", "archived")


def parse_uid(text: str) -> uuid.UUID:
    """A public id. Anything else names nothing, hence NotFound."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise NotFound() from None


def collections_for(principal: Principal, *, at_least: Permission = Permission.VIEW) -> QuerySet[Collection]:
    """The collections open to the principal, with `document_count` and `chunk_count` of the documents that are live in them for it.

    A document shared on its own opens no collection; it is found in search and in the list of documents.
    """
    scopes = visible_scopes(principal, at_least=at_least)
    readable = visible_scopes(principal)
    live = (
        Document.objects.filter(
            collection=OuterRef("pk"),
            scope_id__in=readable,
            active_version__isnull=False,
            archived_at=None,
            is_faq=False,
        )
        .order_by()
        .values("collection")
    )
    return Collection.objects.filter(scope_id__in=scopes).annotate(
        document_count=Coalesce(Subquery(live.annotate(n=Count("pk")).values("n")), 0),
        chunk_count=Coalesce(Subquery(live.annotate(n=Sum("active_version__chunk_count")).values("n")), 0),
    )


def get_collection(principal: Principal, uid: str) -> Collection:
    collection = collections_for(principal).filter(uid=parse_uid(uid)).first()
    if collection is None:
        raise NotFound()
    return collection


def documents_for(principal: Principal, *, at_least: Permission = Permission.VIEW) -> QuerySet[Document]:
    """The documents open to the principal, each with `state` as readers get it. One query for any page of them."""
    return documents_in(visible_scopes(principal, at_least=at_least))


def documents_in(scopes: Iterable[int]) -> QuerySet[Document]:
    """The same for somebody's scopes that have just been read."""
    return (
        Document.objects.filter(scope_id__in=list(scopes))
        .select_related(
            "collection", "owner", "parent", "active_version", "latest_version", "latest_version__job"
        )
        .annotate(state=state_of_documents())
    )


def state_of_documents() -> Case:
    """A document's state as readers get it."""
    return Case(
        When(archived_at__isnull=False, then=Value("archived")),
        When(active_version__state__in=UNFINISHED, then=Value("processing")),
        When(active_version__state=VersionState.QUARANTINED, then=Value("quarantined")),
        When(active_version__state=VersionState.PARTLY_LIVE, then=Value("partly_live")),
        When(active_version__isnull=False, then=Value("live")),
        When(latest_version__state=VersionState.QUARANTINED, then=Value("quarantined")),
        When(
            latest_version__state__in=[VersionState.REJECTED, VersionState.CANCELLED], then=Value("rejected")
        ),
        default=Value("processing"),
        output_field=CharField(),
    )


def verdict_of_documents() -> Coalesce:
    """How well a document was read: the version that readers get, else the newest."""
    return Coalesce(
        NullIf("active_version__verdict", Value("")), "latest_version__verdict", output_field=CharField()
    )


def read_share_of_documents() -> Coalesce:
    return Coalesce("active_version__read_share", "latest_version__read_share")


def changed_at() -> Coalesce:
    """When a document changed: what its source says, else the file itself, else when its version came."""
    return Coalesce("source_modified_at", "active_version__file_modified_at", "active_version__created_at")


def get_document(principal: Principal, uid: str) -> Document:
    document = documents_for(principal).filter(uid=parse_uid(uid)).first()
    if document is None:
        raise NotFound()
    return document


def attached_to(principal: Principal, document: Document) -> QuerySet[Document]:
    """The documents right below one, which are files inside its file, in their order there."""
    return documents_for(principal).filter(parent=document).order_by("pk")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilters:
    """What narrows a list of documents. Texts as they were typed; an unknown value matches nothing.

    view: "mine" (owned by `user_id`), "attention", "doubtful" (badly read, or in part), "restricted" (with a list of
    its own) or "archived". conditions: on own fields.
    """

    collection: str = ""
    state: str = ""
    doc_type: str = ""
    department: str = ""
    security_level: str = ""
    language: str = ""
    verdict: str = ""
    owner: str = ""
    text: str = ""
    view: str = ""
    tags: tuple[str, ...] = ()
    conditions: tuple[FieldCondition, ...] = ()
    user_id: int | None = None


def filter_documents(documents: QuerySet[Document], wanted: DocumentFilters) -> QuerySet[Document]:
    """Narrow a list. An unknown collection or state matches nothing, nor does a text that no column can hold."""
    equal = {name: getattr(wanted, name) for name in EXACT if getattr(wanted, name)}
    if not all(map(is_storable, (wanted.state, wanted.verdict, *equal.values(), *wanted.tags))):
        return documents.none()
    if wanted.collection:
        documents = documents.filter(collection__uid=parse_uid(wanted.collection))
    if wanted.state:
        documents = documents.alias(wanted=state_of_documents()).filter(wanted=wanted.state)
    if wanted.owner:
        number = int(wanted.owner) if is_number(wanted.owner) else 0
        documents = documents.filter(owner_id=number)
    if text := wanted.text.replace("\x00", "").strip():
        documents = documents.filter(
            Q(title__icontains=text)
            | Q(latest_version__file_name__icontains=text)
            | Q(owner__name__icontains=text)
        )
    if wanted.tags:
        documents = documents.filter(tags__contains=list(wanted.tags))
    if wanted.verdict:
        documents = documents.filter(_judged([wanted.verdict]))
    return documents.filter(matching(wanted.conditions), _view(wanted), **equal)


EXACT = ("doc_type", "department", "security_level", "language")


def _judged(verdicts: Sequence[str]) -> Q:
    return Q(active_version__verdict__in=verdicts) | Q(
        active_version=None, latest_version__verdict__in=verdicts
    )


def _view(wanted: DocumentFilters) -> Q:
    """The lookups of a built-in view."""
    if wanted.view == "doubtful":
        return _judged(DOUBTFUL) & Q(archived_at=None)
    views: dict[str, dict[str, Any]] = {
        "": {},
        "mine": {"owner_id": wanted.user_id},
        "attention": {"latest_version__state__in": NEEDS_ATTENTION, "archived_at": None},
        "restricted": {"scope__collection": None},
        "archived": {"archived_at__isnull": False},
    }
    return Q(**views.get(wanted.view, {"pk": None}))


def is_number(text: str) -> bool:
    """Whether the text is a row's number."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def versions_of(principal: Principal, document: Document) -> QuerySet[DocumentVersion]:
    """The versions, newest first: all to those who contribute, to readers those that have been in force."""
    rows = document.versions.select_related("created_by", "job").order_by("-number")
    if document.scope_id in visible_scopes(principal, at_least=Permission.CONTRIBUTE):
        return rows
    return rows.filter(Q(published_at__isnull=False) | Q(state__in=IN_FORCE))


def get_version(document: Document, number: int | None = None) -> DocumentVersion:
    """A version by its number, else the one in force, else the newest."""
    if number is not None:
        found = document.versions.filter(number=number).first()
    else:
        found = document.active_version or document.latest_version
    if found is None:
        raise NotFound()
    return found


def get_published_version(document: Document, number: int | None = None) -> DocumentVersion:
    """As `get_version`, but a version that has never been in force is NotFound: readers see none of it."""
    version = get_version(document, number)
    if version.published_at is None and version.state not in IN_FORCE:
        raise NotFound()
    return version


def get_original_version(principal: Principal, document: Document) -> DocumentVersion:
    """Whose file may be downloaded: the version in force; before there is one, the newest for those who contribute."""
    if document.active_version:
        return document.active_version
    if document.scope_id not in visible_scopes(principal, at_least=Permission.CONTRIBUTE):
        raise NotFound()
    return get_version(document)


def chunks_of(document: Document) -> QuerySet[Chunk]:
    """The chunks readers can find, in reading order."""
    chunks = Chunk.objects.filter(document=document, version=document.active_version_id)
    return chunks.select_related("correction", "version").order_by("order")


def elements_of(version: DocumentVersion) -> QuerySet[Element]:
    return version.elements.order_by("order")


def get_job(principal: Principal, uid: str) -> IngestJob:
    """A job on a document that the principal may see."""
    job = (
        IngestJob.objects.filter(
            uid=parse_uid(uid), version__document__scope_id__in=visible_scopes(principal)
        )
        .select_related("version__document")
        .first()
    )
    if job is None:
        raise NotFound()
    return job


def in_force(version: DocumentVersion | None) -> bool:
    return version is not None and version.state in IN_FORCE
