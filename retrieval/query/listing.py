"""Catalogue questions answered from what is known of the documents: how many, which, and which version is the newest.

"About" means that all words asked for stand in the title, or together in one passage. Only documents open to the reader
are counted; the first ones are listed, each with a passage to cite, so that the answer is withdrawn with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.backends.utils import CursorWrapper
from django.db.models import Case, F, IntegerField, Q, Value, When
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion.conditions import PREFIX
from ingestion.indexing.analyzer import distinct_query_terms
from ingestion.indexing.tables import quoted
from ingestion.models import Chunk, Document
from ingestion.selectors import changed_at
from retrieval.channels.lexical import MAX_TERMS
from retrieval.filters import Filters
from retrieval.hydration import PageRequest, hydrate
from retrieval.query.values import CatalogueAsk
from retrieval.reach import matching_documents
from retrieval.snapshot import read_snapshot
from retrieval.values import Candidate, DirectAnswer, Passage

LISTED = 10
ADDRESS_NAMES = {
    "doc_type": "type",
    "department": "department",
    "security_level": "level",
    "tags": "tag",
    "language": "language",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """A document of the list, with the passage that stands for it."""

    document_id: int
    title: str
    changed_at: datetime
    chunk_id: int


def answer_catalogue(
    ask: CatalogueAsk, filters: Filters, *, principal: Principal, generation: int
) -> DirectAnswer | None:
    """The answer with its list; None where a question for the newest version names no document open to the reader."""
    with read_snapshot() as cursor:
        scopes = visible_scopes(principal)
        ids = _documents(filters, scopes) if scopes else set()
        about = _about(cursor, generation, scopes, ids, ask)
        shown = _first(cursor, generation, about, ask)
        count = len(about)
    passages = _passages(shown, principal, generation)
    shown = [one for one in shown if one.chunk_id in passages]
    if ask.wants == "newest" and not shown:
        return None
    url = documents_url(ask.topic, filters)
    text = (
        _newest(shown[0], passages)
        if ask.wants == "newest"
        else _text(_headline(ask, filters, count), count, shown)
    )
    return DirectAnswer(
        kind="catalogue",
        text=text,
        passages=tuple(passages[one.chunk_id] for one in shown),
        detail={"wants": ask.wants, "topic": ask.topic, "count": count, "url": url},
    )


def documents_url(topic: str, filters: Filters) -> str:
    """Where all of it can be looked through: the search page with the same conditions, or the list of documents."""
    stated = filters.as_json()
    pairs = [(ADDRESS_NAMES[name], value) for name in ADDRESS_NAMES for value in stated.get(name, ())]
    pairs += [("collection", uid) for uid in stated.get("collections", ())]
    pairs += [pair for name in stated if name.startswith(PREFIX) for pair in _own_pairs(name, stated[name])]
    if not topic:
        return _address("documents", [*pairs, ("sort", "-changed")])
    days = (("after", "modified_after"), ("before", "modified_before"))
    pairs += [(name, stated[key][:10]) for name, key in days if key in stated]
    return _address("search", [("q", topic), *pairs])


def _own_pairs(name: str, stated: Any) -> list[tuple[str, str]]:
    if isinstance(stated, Mapping):
        return [(f"{name}.{operator}", str(value)) for operator, value in stated.items()]
    return [(name, str(value)) for value in stated]


def _address(route: str, pairs: Sequence[tuple[str, str]]) -> str:
    return f"{reverse(route)}?{urlencode(pairs)}"


# --- which documents ------------------------------------------------------------------------------------------


def _documents(filters: Filters, scopes: Sequence[int]) -> set[int]:
    """Those that the list of documents counts, too: a question of the FAQ is none."""
    found = [document for document, _chunks in matching_documents(filters, scopes)]
    return set(Document.objects.filter(pk__in=found, is_faq=False).values_list("pk", flat=True))


def _about(
    cursor: CursorWrapper, generation: int, scopes: Sequence[int], ids: set[int], ask: CatalogueAsk
) -> set[int]:
    if not ask.topic or not ids:
        return ids
    titled = Document.objects.filter(pk__in=ids).filter(_in_title(ask.topic))
    about = set(titled.values_list("pk", flat=True))
    if ask.wants == "newest":  # a title is asked for
        return about
    cursor.execute(
        f"select distinct document_id from lexical_g{generation:d} "  # noqa: S608
        "where terms @@ %s::tsquery and scope_id = any(%s::int[])",
        [_all_of(ask.topic), list(scopes)],
    )
    return about | ({document for (document,) in cursor.fetchall()} & ids)


def _in_title(topic: str) -> Q:
    condition = Q()
    for word in topic.split():
        condition &= Q(title__icontains=word)
    return condition


def _all_of(topic: str) -> str:
    """A tsquery that wants every token; user text never reaches a query parser."""
    return " & ".join(map(quoted, distinct_query_terms(topic)[:MAX_TERMS]))


def _first(cursor: CursorWrapper, generation: int, about: set[int], ask: CatalogueAsk) -> list[_Listed]:
    """The documents to list: those with the words in the title first, the last changed first among equals."""
    order: list[Any] = [changed_at().desc(), F("pk").desc()]
    if ask.topic:
        in_title = When(_in_title(ask.topic), then=Value(0))
        order.insert(0, Case(in_title, default=Value(1), output_field=IntegerField()))
    documents = Document.objects.filter(pk__in=about).order_by(*order)
    rows = list(documents.values_list("pk", "title", changed_at())[:LISTED])
    if ask.wants == "newest":
        rows = sorted(rows, key=lambda row: len(row[1]))[:1]  # the title that says little else
    chunks = _chunks(cursor, generation, [pk for pk, _title, _changed in rows], ask.topic)
    return [
        _Listed(document_id=pk, title=title, changed_at=changed, chunk_id=chunks[pk])
        for pk, title, changed in rows
        if pk in chunks
    ]


def _chunks(cursor: CursorWrapper, generation: int, documents: list[int], topic: str) -> dict[int, int]:
    """A passage of each document: its first with all the words, else its first."""
    first = Chunk.objects.filter(document_id__in=documents, generation__number=generation).order_by(
        "document_id", "order"
    )
    chunks = dict(reversed(first.values_list("document_id", "pk")))
    if topic:
        cursor.execute(
            f"select document_id, min(chunk_id) from lexical_g{generation:d} "  # noqa: S608
            "where terms @@ %s::tsquery and document_id = any(%s::bigint[]) group by document_id",
            [_all_of(topic), documents],
        )
        chunks |= dict(cursor.fetchall())
    return chunks


def _passages(listed: Sequence[_Listed], principal: Principal, generation: int) -> dict[int, Passage]:
    """By chunk id, read like any passage: with the second access check."""
    candidates = [Candidate(chunk_id=one.chunk_id, score=0.0, channels={}) for one in listed]
    asked = PageRequest(offset=0, limit=LISTED, terms={})
    page = hydrate(candidates, asked, principal=principal, generation=generation)
    return {int(passage.chunk_id): passage for passage in page.passages}


# --- in words -------------------------------------------------------------------------------------------------


def _text(headline: str, count: int, shown: Sequence[_Listed]) -> str:
    """The headline, which leads to the list, and a line with a marker for each document."""
    if not shown:
        return headline
    if count > len(shown):
        leads = _("Here are %(n)d of them:") % {"n": len(shown)}
    else:
        leads = ngettext("Here it is:", "Here they are:", count)
    lines = [f"- {one.title} · {_day(one.changed_at)} [{n}]" for n, one in enumerate(shown, start=1)]
    first = _("%(sentence)s %(next)s") % {"sentence": headline, "next": leads}
    return "\n".join([first, *lines])


def _headline(ask: CatalogueAsk, filters: Filters, count: int) -> str:
    if not ask.topic and not filters.as_json():
        said = ngettext("%(n)d document is open to you.", "%(n)d documents are open to you.", count)
        return said % {"n": count}
    if not ask.topic:
        said = ngettext("%(n)d document open to you fits.", "%(n)d documents open to you fit.", count)
        return said % {"n": count}
    said = ngettext(
        "%(n)d document open to you has “%(topic)s” in its title, or all of its words in one passage.",
        "%(n)d documents open to you have “%(topic)s” in the title, or all of its words in one passage.",
        count,
    )
    return said % {"n": count, "topic": ask.topic}


def _newest(one: _Listed, passages: Mapping[int, Passage]) -> str:
    said = _("“%(title)s”: version %(n)d is the newest, changed %(day)s. [1]")
    return said % {
        "title": one.title,
        "n": passages[one.chunk_id].version_number,
        "day": _day(one.changed_at),
    }


def _day(moment: datetime) -> str:
    chinese = (get_language() or "").startswith("zh")
    return date_format(timezone.localtime(moment), "Y-m-d" if chinese else "j M Y")
