"""Corrections of chunks by people who contribute: another text, left out, split, joined with the next; each can be undone.

A correction is kept with its document as a quote and the elements where it stood (`chunking.pins`). It is carried out
whenever chunks are made: at once by a rechunking, later by every new version that still holds the quote.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.permissions.visibility import require
from accounts.values import Permission, Principal
from ingestion import rechunking, selectors
from ingestion.chunking.atoms import atoms_of
from ingestion.chunking.choices import from_key
from ingestion.chunking.drafts import TokenCounter
from ingestion.chunking.pins import Pin, pinned, squeezed
from ingestion.chunking.sentences import split_sentences
from ingestion.indexing import tables
from ingestion.models import (
    Chunk,
    Correction,
    CorrectionOutcome,
    Document,
    DocumentVersion,
    Element,
    IndexGeneration,
    Rechunking,
)
from ingestion.parsing import elements as parsing
from kb_platform.audit import record
from kb_platform.errors import Conflict, InvalidInput, NotFound

LONGEST_TEXT = 20_000  # characters
_AROUND = 3  # elements around a passage that are looked at before a correction of it is taken
_MOST_PLACES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A correction before it is stored: the chunks it is about, and the texts that take the place of their own."""

    action: Correction.Action
    chunks: tuple[Chunk, ...]
    quote: str
    texts: tuple[str, ...]


# --- what is made of chunks -------------------------------------------------------------------------------


def pins_of(document: Document) -> list[Pin]:
    """The corrections in force, in the order in which they were made."""
    return [_pin(row) for row in rechunking.active_corrections(document)]


def _pin(row: Correction) -> Pin:
    return Pin(
        number=row.pk,
        first=row.first_element,
        last=row.last_element,
        quote=row.quote,
        texts=tuple(row.texts),
    )


def note_outcomes(version: DocumentVersion, lost: Sequence[int]) -> None:
    """Remember which corrections found their passage in the chunks that were just made of a version."""
    CorrectionOutcome.objects.filter(version=version).delete()
    CorrectionOutcome.objects.bulk_create(
        CorrectionOutcome(correction=row, version=version, fits=row.pk not in lost)
        for row in rechunking.active_corrections(version.document)
    )


def lost_in(version: DocumentVersion) -> QuerySet[Correction]:
    """Corrections in force that no longer fit a version: their passage does not occur in it any more."""
    return Correction.objects.filter(
        outcomes__version=version, outcomes__fits=False, undone_at=None
    ).order_by("id")


def history_of(document: Document) -> QuerySet[Correction]:
    """All of a document's corrections, newest first, the undone ones too."""
    return document.corrections.select_related("made_by", "undone_by", "version").order_by("-id")


def own_text(chunk: Chunk) -> str:
    """What a chunk says besides the header rows, lead-in and overlap that stand before it too."""
    return chunk.text[chunk.own_from :].strip("\n")


def split_places(chunk: Chunk) -> list[int]:
    """Where its own text may be split without cutting a sentence, item or row, as counts of characters."""
    text = own_text(chunk)
    pieces = split_sentences(text) if chunk.kind == "text" else text.splitlines(keepends=True)
    places, at = [], 0
    for piece in pieces[:_MOST_PLACES]:
        at += len(piece)
        if text[:at].strip() and text[at:].strip():
            places.append(at)
    return places


# --- the corrections --------------------------------------------------------------------------------------


def get_chunk(document: Document, number: int) -> Chunk:
    """A chunk in force. Raises Conflict for one that has been made anew since somebody looked at it."""
    chunk = selectors.chunks_of(document).filter(pk=number).first() if number < 2**63 else None
    if chunk is None:
        raise Conflict(
            _("The passages of this document have been made anew. Look at it again."), code="changed"
        )
    return chunk


def correct_text(
    *, actor: Principal, document: Document, chunk: int, text: str, counter: TokenCounter
) -> Correction:
    """Put another text in the place of a chunk's own. Raises InvalidInput for one that is empty, too long, or the same."""
    found = _chunk_to_change(actor, document, chunk)
    text = text.replace("\x00", "").replace("\r\n", "\n").strip()
    if not text:
        raise InvalidInput(fields={"text": _("This may not be empty. Leave the passage out instead.")})
    if squeezed(text) == squeezed(own_text(found)):
        raise InvalidInput(fields={"text": _("This is the text as it stands.")})
    _refuse_too_long(found, text, counter)
    wish = Wish(action=Correction.Action.EDIT, chunks=(found,), quote=own_text(found), texts=(text,))
    return _store(actor, document, wish)


def exclude(*, actor: Principal, document: Document, chunk: int) -> Correction:
    """Leave a chunk out: no search finds it from this moment on."""
    found = _chunk_to_change(actor, document, chunk)
    wish = Wish(action=Correction.Action.EXCLUDE, chunks=(found,), quote=own_text(found), texts=())
    with transaction.atomic():
        correction = _store(actor, document, wish)
        for generation in IndexGeneration.objects.exclude(state=IndexGeneration.State.RETIRED):
            tables.delete_chunks(generation.number, document.pk, [found.pk])
        found.delete()
        if not selectors.chunks_of(
            document
        ).exists():  # looked at under the lock: two may leave out the last two
            raise Conflict(
                _("This is the only passage. Archive the document to take it out of search."), code="last_one"
            )
    return correction


def split(*, actor: Principal, document: Document, chunk: int, at: int) -> Correction:
    """Make two of a chunk, the second beginning after `at` characters of its own text."""
    found = _chunk_to_change(actor, document, chunk)
    text = own_text(found)
    parts = (text[: max(0, at)].strip("\n"), text[max(0, at) :].strip("\n"))
    if not all(part.strip() for part in parts):
        raise InvalidInput(fields={"at": _("Choose a place that leaves text on both sides.")})
    wish = Wish(action=Correction.Action.SPLIT, chunks=(found,), quote=text, texts=parts)
    return _store(actor, document, wish)


def merge(*, actor: Principal, document: Document, chunk: int, counter: TokenCounter) -> Correction:
    """Make one of a chunk and the next. Raises Conflict when there is none, or both are too long together."""
    found = _chunk_to_change(actor, document, chunk)
    following = selectors.chunks_of(document).filter(order__gt=found.order).first()
    if following is None:
        raise Conflict(_("This is the last passage; there is none to join it with."), code="last_one")
    new_headings = following.heading_path[len(_shared(found.heading_path, following.heading_path)) :]
    joined = "\n".join([own_text(found), *new_headings, own_text(following)])
    try:
        _refuse_too_long(found, joined, counter)
    except InvalidInput as error:
        raise Conflict(error.fields["text"], code="too_long") from error
    wish = Wish(
        action=Correction.Action.MERGE,
        chunks=(found, following),
        quote=f"{own_text(found)}\n{own_text(following)}",
        texts=(joined,),
    )
    return _store(actor, document, wish)


def _shared(first: Sequence[str], second: Sequence[str]) -> Sequence[str]:
    depth = 0
    while depth < min(len(first), len(second)) and first[depth] == second[depth]:
        depth += 1
    return first[:depth]


@transaction.atomic
def undo(*, actor: Principal, document: Document, uid: str) -> Correction:
    """Take a correction back; it stays in the history. Raises Conflict while a later one builds on it."""
    require(actor, Permission.CONTRIBUTE, document.scope_id)
    document = _locked(document)
    correction = document.corrections.filter(uid=selectors.parse_uid(uid)).first()
    if correction is None:
        raise NotFound()
    if correction.undone_at is not None:
        return correction
    later = rechunking.active_corrections(document).filter(pk__gt=correction.pk)
    if any(_builds_on(row, correction) for row in later):
        raise Conflict(
            _("A later correction changes the same passage. Undo that one first."), code="built_on"
        )
    correction.undone_at, correction.undone_by_id = timezone.now(), actor.user_id
    correction.save(update_fields=["undone_at", "undone_by"])
    rechunking.request(document, by_person=True)
    record(actor, "chunk.correction_undone", document, **_told(correction))
    return correction


def _builds_on(later: Correction, earlier: Correction) -> bool:
    """Whether it takes the other's text for its quote, as far as can be told."""
    is_elsewhere = later.version_id == earlier.version_id and (
        later.first_element > earlier.last_element or later.last_element < earlier.first_element
    )
    if is_elsewhere:
        return False
    quote = squeezed(later.quote)
    texts = [squeezed(text) for text in earlier.texts]
    return any(text in quote or quote in text for text in texts)


def _chunk_to_change(actor: Principal, document: Document, number: int) -> Chunk:
    require(actor, Permission.CONTRIBUTE, document.scope_id)
    return get_chunk(document, number)


def _refuse_too_long(chunk: Chunk, text: str, counter: TokenCounter) -> None:
    if len(text) > LONGEST_TEXT:
        reason = _("At most %(limit)d characters.") % {"limit": LONGEST_TEXT}
        raise InvalidInput(fields={"text": reason})
    context = chunk.embedding_text.removesuffix(chunk.text)
    profile = from_key(chunk.version.chunking).profile
    most = min(profile.max_tokens, counter.max_tokens)
    (tokens,) = counter.count_tokens_batch([context + text])
    if tokens > most:
        reason = _("With its headings it has %(tokens)d tokens; at most %(most)d fit into one passage.")
        raise InvalidInput(fields={"text": reason % {"tokens": tokens, "most": most}})


@transaction.atomic
def _store(actor: Principal, document: Document, wish: Wish) -> Correction:
    document = _locked(document)
    first = min(chunk.first_element for chunk in wish.chunks)
    last = max(chunk.last_element for chunk in wish.chunks)
    version = wish.chunks[0].version
    if not selectors.chunks_of(document).filter(pk__in=[chunk.pk for chunk in wish.chunks]).exists():
        raise Conflict(
            _("The passages of this document have been made anew. Look at it again."), code="changed"
        )
    correction = Correction.objects.create(
        document=document,
        version=version,
        action=wish.action,
        first_element=first,
        last_element=last,
        quote=wish.quote,
        texts=list(wish.texts),
        made_by_id=actor.user_id,
    )
    if not _fits(correction):
        if Rechunking.objects.filter(document=document, reason_code="").exists():
            raise Conflict(
                _("The passages are being made anew after another correction. Try again in a moment."),
                code="changing",
            )
        raise Conflict(
            _("This passage is put together from several places, so this cannot be done with it."),
            code="no_place",
        )
    rechunking.request(document, by_person=True)
    record(actor, _AUDITED[wish.action], document, version=version.number, **_told(correction))
    return correction


_AUDITED = {
    Correction.Action.EDIT: "chunk.corrected",
    Correction.Action.EXCLUDE: "chunk.excluded",
    Correction.Action.SPLIT: "chunk.split",
    Correction.Action.MERGE: "chunk.merged",
}


def _told(correction: Correction) -> dict[str, object]:
    """For the audit log, which people read who may not see the document: the texts stand in its history alone."""
    return {"made": correction.action, "correction": str(correction.uid)}


def _locked(document: Document) -> Document:
    """The document as it is now, kept from all other writers until commit."""
    found = Document.objects.select_for_update(of=("self",)).filter(pk=document.pk).first()
    if found is None:
        raise NotFound()
    return found


def _fits(correction: Correction) -> bool:
    """Whether it finds its passage, tried on the elements around it."""
    begin = max(0, correction.first_element - _AROUND)
    rows = correction.version.elements.filter(
        order__gte=begin, order__lte=correction.last_element + _AROUND
    ).order_by("order")
    pins = [
        Pin(
            number=pin.number,
            first=pin.first - begin,
            last=pin.last - begin,
            quote=pin.quote,
            texts=pin.texts,
        )
        for pin in pins_of(correction.document)
    ]
    _atoms, lost = pinned(atoms_of([as_parsed(row) for row in rows]), pins)
    return correction.pk not in lost


def as_parsed(row: Element) -> parsing.Element:
    """A stored element as the parser gave it."""
    return parsing.Element(
        kind=parsing.Kind(row.kind),
        text=row.text,
        level=row.level,
        heading_path=tuple(row.heading_path),
        page=row.page,
        boxes=tuple(parsing.PageBox(**box) for box in row.boxes),
        table=parsing.Table(
            rows=tuple(tuple(cells) for cells in row.table["rows"]),
            header_rows=row.table["header_rows"],
            html=row.table["html"],
        )
        if row.table
        else None,
        confidence=row.confidence,
        picture=row.picture,
    )
