"""Reading questions with their answers, always as somebody: a pair is open to whom its document is open."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch, Q, QuerySet

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion import selectors
from ingestion.models import Collection, Document, FaqPair, FaqQuestion
from kb_platform.errors import NotFound
from kb_platform.json_values import is_storable

ROWS = 25
STATES = ("valid", "invalid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a list of pairs is narrowed by, as typed. text: in a question, another wording, the answer or the owner's name."""

    text: str = ""
    state: str = ""


def pairs_for(
    principal: Principal, collection: Collection, wanted: Narrowing | None = None
) -> QuerySet[FaqPair]:
    """The pairs of a collection that the principal may see, those changed last first."""
    wanted = wanted or Narrowing()
    pairs = FaqPair.objects.filter(
        document__collection=collection, document__scope_id__in=visible_scopes(principal)
    )
    if not is_storable(wanted.text) or (wanted.state and wanted.state not in STATES):
        return pairs.none()
    if wanted.state:
        pairs = pairs.filter(document__archived_at__isnull=wanted.state == "valid")
    if text := wanted.text.strip():
        worded = FaqQuestion.objects.filter(text__icontains=text).values("pair")
        pairs = pairs.filter(
            Q(pk__in=worded) | Q(answer__icontains=text) | Q(document__owner__name__icontains=text)
        )
    return _with_all(pairs).order_by("-changed_at", "-pk")


def get_pair(principal: Principal, uid: str) -> FaqPair:
    """Raises NotFound for a pair that is hidden, in the trash, or none."""
    found = FaqPair.objects.filter(
        uid=selectors.parse_uid(uid), document__scope_id__in=visible_scopes(principal)
    )
    pair = _with_all(found).first()
    if pair is None:
        raise NotFound()
    return with_states(principal, [pair])[0]


def page_of(principal: Principal, pairs: QuerySet[FaqPair], number: str | None) -> Page[FaqPair]:
    """One page of pairs, each document with `state` as readers get it."""
    page = Paginator(pairs, ROWS).get_page(number)
    page.object_list = with_states(principal, list(page.object_list))
    return page


def with_states(principal: Principal, pairs: Iterable[FaqPair]) -> list[FaqPair]:
    """The same pairs, their documents read with `state`."""
    rows = list(pairs)
    documents: dict[int, Document] = {
        document.pk: document
        for document in selectors.documents_for(principal).filter(pk__in=[row.document_id for row in rows])
    }
    for row in rows:
        row.document = documents.get(row.document_id, row.document)
    return rows


def phrasings_of(pair: FaqPair) -> list[str]:
    """The wordings besides the question itself."""
    return [row.text for row in pair.questions.all()][1:]


def _with_all(pairs: QuerySet[FaqPair]) -> QuerySet[FaqPair]:
    wordings = Prefetch("questions", FaqQuestion.objects.defer("embedding").order_by("order"))
    return pairs.select_related("document__collection", "document__owner").prefetch_related(wordings)
