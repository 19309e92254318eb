"""Chunks that other terms cut otherwise: they are cut anew in the background, and take their places all at once.

A run looks at every chunk of the collections concerned, batch by batch, and writes aside the rows that the coming terms
make of those that hold a changed one. Meanwhile whatever is published is cut both ways. In the end one transaction
exchanges the rows, the statistics, the terms in force and the dictionary's revision, while no writer of the index is
under way. A search reads the revision and the rows in one snapshot: it never sees a question cut by one dictionary and
chunks cut by another.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from ingestion.dictionary.revisions import coming_terms, move_revision, terms_in_force
from ingestion.indexing import bm25, tables
from ingestion.indexing.analyzer import analyze, term_places
from ingestion.indexing.lexicon import Phrases
from ingestion.models import (
    Chunk,
    DictionaryTerm,
    Document,
    IndexGeneration,
    Rechunking,
    RecutRow,
    Recutting,
)
from kb_platform.jobs import enqueue

log = logging.getLogger(__name__)
BATCH = 500  # chunks looked at in one transaction, about a quarter of a second
MAX_FAILURES = 3
RING_AFTER = timedelta(seconds=30)
GIVEN_UP = "recut_failed"
ONLY = 1  # the key of the one run there can be


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """What the chunks of a collection are cut with. coming: None while no run is under way."""

    terms: tuple[Phrases, ...]
    coming: tuple[Phrases, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A chunk on its way into the index."""

    chunk_id: int
    text: str


# --- for whoever publishes --------------------------------------------------------------------------------------


def enter(collection_id: int) -> Cutting:
    """What to cut with until this transaction ends: no exchange comes between."""
    tables.enter_as_writer()
    is_under_way = Recutting.objects.exists()
    return Cutting(
        terms=terms_in_force(collection_id),
        coming=coming_terms(collection_id) if is_under_way else None,
    )


def write_aside(generation: IndexGeneration, texts: Iterable[Text], cutting: Cutting) -> None:
    """What the coming terms make of chunks that are being published."""
    if cutting.coming is None:
        return
    rows = list(texts)
    RecutRow.objects.filter(
        generation=generation.number, chunk_id__in=[row.chunk_id for row in rows]
    ).delete()
    changed = [
        row for row in rows if term_places(row.text, cutting.coming) != term_places(row.text, cutting.terms)
    ]
    _store((generation.number, row, generation.average_length, cutting.coming) for row in changed)


def follow_moved(document_ids: Sequence[int]) -> None:
    """Documents that came into another collection are cut with its terms, soon after; the parts of words find them before."""
    if DictionaryTerm.objects.filter(collection__isnull=False).exists():
        moved = Document.objects.filter(pk__in=document_ids, active_version__isnull=False)
        wishes = [Rechunking(document_id=pk) for pk in moved.values_list("pk", flat=True)]
        Rechunking.objects.bulk_create(wishes, ignore_conflicts=True, batch_size=BATCH)
        enqueue("ingestion.tasks.rechunk_waiting", queue="embed")


# --- the run ------------------------------------------------------------------------------------------------------


def request() -> None:
    """Have the index follow the terms that people want, soon after commit."""
    if waiting_terms().exists():
        ring()


def ring() -> None:
    enqueue("ingestion.tasks.recut_waiting")


def waiting_terms() -> QuerySet[DictionaryTerm]:
    """Those that are not yet in force, or still are."""
    return DictionaryTerm.objects.exclude(wanted=F("in_force"))


def reconcile() -> None:
    """Ring again for a run that nobody works on, or that nobody has begun."""
    run = Recutting.objects.first()
    if run is None:
        request()
    elif not run.reason_code and run.rung_at < timezone.now() - RING_AFTER:
        enqueue("ingestion.tasks.recut_waiting", expires_s=30)


def step() -> bool:
    """One batch of the run, its beginning, or the exchange at its end; whether there is more to do."""
    with transaction.atomic():
        run = Recutting.objects.select_for_update(skip_locked=True).filter(reason_code="").first()
        if run is None:
            return _begin()
        if _look_at_some(run):
            run.rung_at = timezone.now()
            run.save()
            return True
        exchange(run)
        return waiting_terms().exists()


def _begin() -> bool:
    if Recutting.objects.exists() or not waiting_terms().exists():
        return False
    tables.exclude_writers()  # whoever published before it is seen by the run, whoever comes later sees the run
    _run, is_new = Recutting.objects.get_or_create(pk=ONLY, defaults={"total": Chunk.objects.count()})
    if is_new:
        DictionaryTerm.objects.update(coming=F("wanted"))
    return True


def _look_at_some(run: Recutting) -> bool:
    """Write aside the next chunks that hold a changed term; False when none are left to look at."""
    changed = changed_terms()
    if not changed:
        return False
    found = Chunk.objects.filter(pk__gt=run.after_chunk).order_by("pk")
    if None not in changed:  # a collection's own terms concern its documents alone
        found = found.filter(document__collection__in=list(changed))
    rows = list(
        found.values_list(
            "pk", "generation__number", "generation__average_length", "document__collection", "embedding_text"
        )[:BATCH]
    )
    if not rows:
        return False
    cuts: dict[int, tuple[Phrases, ...]] = {}
    concerned = []
    for pk, generation, average, collection, text in rows:
        groups = [changed[key] for key in (None, collection) if key in changed]
        if not groups or not term_places(text, groups):
            continue
        if collection not in cuts:
            cuts[collection] = coming_terms(collection)
        concerned.append((generation, Text(chunk_id=pk, text=text), average, cuts[collection]))
    _store(concerned)
    run.after_chunk = rows[-1][0]
    run.looked_at += len(rows)
    return True


def changed_terms() -> dict[int | None, Phrases]:
    """What the run under way adds or takes away, by collection; None for everywhere."""
    keys: dict[int | None, list[str]] = {}
    changed = DictionaryTerm.objects.exclude(coming=None).exclude(coming=F("in_force")).order_by()
    for collection, key in changed.values_list("collection", "key"):
        keys.setdefault(collection, []).append(key)
    return {collection: Phrases(own) for collection, own in keys.items()}


def _store(rows: Iterable[tuple[int, Text, float, Sequence[Phrases]]]) -> None:
    RecutRow.objects.bulk_create(
        [
            _row(generation, chunk, bm25.weights(analyze(chunk.text, terms), average_length=average))
            for generation, chunk, average, terms in rows
        ],
        update_conflicts=True,
        unique_fields=["generation", "chunk_id"],
        update_fields=["terms", "bm25"],
        batch_size=BATCH,
    )


def _row(generation: int, chunk: Text, weights: Mapping[str, float]) -> RecutRow:
    return RecutRow(
        generation=generation,
        chunk_id=chunk.chunk_id,
        terms=tables.SEPARATOR.join(weights),
        bm25=bm25.sparse_text(weights),
    )


def exchange(run: Recutting) -> None:
    """The end of a run: rows, statistics, terms and revision change together."""
    tables.exclude_writers()
    count = RecutRow.objects.count()
    for number in IndexGeneration.objects.exclude(state=IndexGeneration.State.RETIRED).values_list(
        "number", flat=True
    ):
        tables.exchange_terms(number)
    RecutRow.objects.all().delete()
    DictionaryTerm.objects.exclude(coming=None).update(in_force=F("coming"), coming=None)
    DictionaryTerm.objects.filter(wanted=False, in_force=False).delete()
    move_revision()
    run.delete()
    log.info("cut with other terms", extra={"chunks": count})


def note_failure() -> None:
    """A batch failed, and was rolled back; after three the run is given up until somebody tries again."""
    Recutting.objects.update(failures=F("failures") + 1)
    Recutting.objects.filter(failures__gte=MAX_FAILURES).update(reason_code=GIVEN_UP)


@transaction.atomic
def retry() -> None:
    """Go on with a run that was given up, where it stopped."""
    Recutting.objects.exclude(reason_code="").update(reason_code="", failures=0)
    request()


# --- how far it is ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """percent: of the chunks to look at, 0..100; it tells nothing of what they hold. waiting: not yet begun."""

    percent: int
    waiting: bool
    failed: bool


def progress(collection_ids: Iterable[int | None]) -> Progress | None:
    """How far the terms of these places are from being in force; None when all are."""
    places = list(collection_ids)
    here = Q(collection__in=[place for place in places if place is not None])
    if None in places:
        here |= Q(collection=None)
    if not waiting_terms().filter(here).exists():
        return None
    run = Recutting.objects.first()
    if run is None:
        return Progress(percent=0, waiting=True, failed=False)
    percent = min(99, 100 * run.looked_at // max(run.total, 1))
    return Progress(percent=percent, waiting=False, failed=bool(run.reason_code))
