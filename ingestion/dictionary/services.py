"""Changing the dictionary: entries are added, changed, removed, or come from a file; each with a row in the audit log.

Synonyms and stop words hold from the next question on. Terms hold once the chunks that they concern are cut anew.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models, transaction
from django.utils.translation import gettext as _

from accounts.permissions.visibility import require
from accounts.values import Permission, Principal
from ingestion.dictionary import recutting
from ingestion.dictionary.entries import LIMITS, Entry, Group, Kind, Phrase
from ingestion.dictionary.revisions import move_revision
from ingestion.dictionary.selectors import MODELS, Row, entry_of, may_change_everywhere
from ingestion.models import Collection, DictionaryStopWord, DictionarySynonym, DictionaryTerm
from kb_platform.audit import record
from kb_platform.errors import Conflict, InvalidInput, NotAllowed

NAMES = {Kind.TERMS: "term", Kind.SYNONYMS: "synonyms", Kind.STOP_WORDS: "stop_word"}
FIELDS = {Kind.TERMS: "text", Kind.SYNONYMS: "phrases", Kind.STOP_WORDS: "text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """known: entries that were there already, and stay."""

    added: int
    known: int


def require_place(actor: Principal, collection: Collection | None) -> None:
    """Administrators change what holds everywhere, managers what holds in their collection."""
    if collection is not None:
        require(actor, Permission.MANAGE, collection.scope_id)
    elif not may_change_everywhere(actor):
        raise NotAllowed()


@transaction.atomic
def add_entry(*, actor: Principal, kind: Kind, collection: Collection | None, entry: Entry) -> Row:
    """Raises Conflict for what is there already or contradicts another entry, InvalidInput when there are too many."""
    require_place(actor, collection)
    _lock(collection)
    _refuse(kind, collection, entry)
    _refuse_too_many(kind, collection, 1)
    row: Row = _make(actor, kind, collection, entry)
    record(actor, f"dictionary.{NAMES[kind]}_added", row, **_where(collection), **_told(row))
    _take_effect(kind)
    return row


@transaction.atomic
def change_entry(*, actor: Principal, kind: Kind, row: Any, entry: Entry) -> Row:
    """Another entry in the place of one. A term that reads the same to a search only changes its looks."""
    require_place(actor, row.collection)
    _lock(row.collection)
    _refuse(kind, row.collection, entry, but=row)
    before = _told(row)
    if isinstance(entry, Group):
        row.phrases, row.keys = [phrase.text for phrase in entry.phrases], list(entry.keys)
        row.one_way, row.weight = entry.one_way, entry.weight
        row.save()
    elif kind is Kind.TERMS and entry.key != row.key:
        _take_away(row)
        row = _make(actor, kind, row.collection, entry)
    else:
        row.text, row.key = entry.text, entry.key
        row.save(update_fields=["text", "key"])
    if _told(row) != before:
        record(
            actor,
            f"dictionary.{NAMES[kind]}_changed",
            row,
            **_where(row.collection),
            before=before,
            after=_told(row),
        )
        _take_effect(kind)
    return row  # type: ignore[no-any-return]


@transaction.atomic
def remove_entry(*, actor: Principal, kind: Kind, row: Any) -> None:
    """A term holds until the chunks that it concerns are cut without it."""
    require_place(actor, row.collection)
    record(actor, f"dictionary.{NAMES[kind]}_removed", row, **_where(row.collection), **_told(row))
    if isinstance(row, DictionaryTerm):
        _take_away(row)
    else:
        row.delete()
    _take_effect(kind)


@transaction.atomic
def import_entries(
    *, actor: Principal, kind: Kind, collection: Collection | None, entries: Sequence[Entry]
) -> Imported:
    """All of them, or none when one contradicts another entry; those that are there already are left as they are."""
    require_place(actor, collection)
    _lock(collection)
    fresh = new_entries(kind, collection, entries)
    _refuse_too_many(kind, collection, len(fresh))
    for sentence in contradictions(kind, collection, fresh).values():
        raise _conflict(kind, sentence, "contradiction")
    _make_all(actor, kind, collection, fresh)
    if fresh:
        record(
            actor, f"dictionary.{NAMES[kind]}_imported", collection, **_where(collection), count=len(fresh)
        )
        _take_effect(kind)
    return Imported(added=len(fresh), known=len(entries) - len(fresh))


def contradictions(
    kind: Kind, collection: Collection | None, entries: Sequence[Entry]
) -> dict[Hashable, str]:
    """Which of the entries contradict what is there, and how, by their identity."""
    found: dict[Hashable, str] = {}
    for entry in _doubtful(kind, entries):
        try:
            _refuse_contradiction(kind, collection, entry)
        except Conflict as error:
            found[identity(entry)] = str(error)
    return found


def _doubtful(kind: Kind, entries: Sequence[Entry]) -> list[Entry]:
    """Those that name what another kind of entry names somewhere: few, whatever a file holds."""
    if kind is Kind.STOP_WORDS:
        return list(entries)
    stopped = set(DictionaryStopWord.objects.values_list("key", flat=True))
    return [entry for entry in entries if not stopped.isdisjoint(_keys_of(entry))]


def _keys_of(entry: Entry) -> tuple[str, ...]:
    return entry.keys if isinstance(entry, Group) else (entry.key,)


def new_entries(kind: Kind, collection: Collection | None, entries: Sequence[Entry]) -> list[Entry]:
    """Those that the place does not have yet, each once."""
    known = _known(kind, collection)
    fresh = {identity(entry): entry for entry in entries}
    return [entry for identity, entry in fresh.items() if identity not in known]


def _known(kind: Kind, collection: Collection | None) -> set[Hashable]:
    rows = MODELS[kind].objects.filter(collection=collection)
    if kind is Kind.TERMS:
        rows = rows.filter(wanted=True)
    return {identity(entry_of(row)) for row in rows}


def identity(entry: Entry) -> Hashable:
    """What makes two entries of a place the same one."""
    if isinstance(entry, Phrase):
        return entry.key
    return (entry.keys[0], frozenset(entry.keys)) if entry.one_way else frozenset(entry.keys)


def _lock(collection: Collection | None) -> None:
    """Two who save at once come one after the other, so that limits and conflicts hold."""
    if collection is not None:
        Collection.objects.select_for_update(of=("self",)).get(pk=collection.pk)
    else:
        with transaction.get_connection().cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(hashtext('dictionary'))")


def _refuse(kind: Kind, collection: Collection | None, entry: Entry, but: models.Model | None = None) -> None:
    others = MODELS[kind].objects.filter(collection=collection)
    if kind is Kind.TERMS:
        others = others.filter(wanted=True)
    wanted = identity(entry)
    for row in others.exclude(pk=but.pk if but else 0):
        if identity(entry_of(row)) == wanted:
            raise _conflict(
                kind, _("The dictionary has “%(entry)s” already.") % {"entry": row}, "entry_exists"
            )
    _refuse_contradiction(kind, collection, entry)


def _refuse_contradiction(kind: Kind, collection: Collection | None, entry: Entry) -> None:
    """A word cannot be looked for and left out at once."""
    here = models.Q(collection=None) | models.Q(collection=collection)
    keys = list(_keys_of(entry))
    if kind is Kind.STOP_WORDS:
        if term := DictionaryTerm.objects.filter(here, key__in=keys, wanted=True).first():
            raise _conflict(
                kind,
                _("“%(word)s” is one of your terms. Remove it there before leaving it out of questions.")
                % {"word": term},
                "is_term",
            )
        if group := DictionarySynonym.objects.filter(here, keys__overlap=keys).first():
            raise _conflict(
                kind,
                _(
                    "This stands among the synonyms “%(group)s”. Remove it there before leaving it out of questions."
                )
                % {"group": group},
                "is_synonym",
            )
    elif word := DictionaryStopWord.objects.filter(here, key__in=keys).first():
        raise _conflict(
            kind,
            _("“%(word)s” is a stop word and left out of questions. Remove it there first.") % {"word": word},
            "is_stop_word",
        )


def _conflict(kind: Kind, sentence: str, code: str) -> Conflict:
    return Conflict(sentence, fields={FIELDS[kind]: sentence}, code=code)


def _refuse_too_many(kind: Kind, collection: Collection | None, more: int) -> None:
    rows = MODELS[kind].objects.filter(collection=collection)
    if kind is Kind.TERMS:
        rows = rows.filter(wanted=True)
    if rows.count() + more > LIMITS[kind]:
        sentence = _("There is room for %(limit)s entries here. Remove some that are not needed.") % {
            "limit": f"{LIMITS[kind]:,}"
        }
        raise InvalidInput(sentence, fields={FIELDS[kind]: sentence}, code="too_many_entries")


def _make(actor: Principal, kind: Kind, collection: Collection | None, entry: Entry) -> Any:
    own = {"collection": collection, "added_by_id": actor.user_id}
    if isinstance(entry, Group):
        return DictionarySynonym.objects.create(
            **own,
            phrases=[phrase.text for phrase in entry.phrases],
            keys=list(entry.keys),
            one_way=entry.one_way,
            weight=entry.weight,
        )
    if kind is Kind.TERMS:  # one that is being taken away may come back
        row, _is_new = DictionaryTerm.objects.update_or_create(
            collection=collection,
            key=entry.key,
            defaults={"text": entry.text, "wanted": True, "added_by_id": actor.user_id},
        )
        return row
    return DictionaryStopWord.objects.create(**own, text=entry.text, key=entry.key)


def _make_all(actor: Principal, kind: Kind, collection: Collection | None, entries: Sequence[Entry]) -> None:
    """Terms come by thousands and in one statement; one that is being taken away comes back."""
    terms = [entry for entry in entries if isinstance(entry, Phrase) and kind is Kind.TERMS]
    DictionaryTerm.objects.bulk_create(
        [
            DictionaryTerm(collection=collection, text=term.text, key=term.key, added_by_id=actor.user_id)
            for term in terms
        ],
        update_conflicts=True,
        unique_fields=["collection", "key"],
        update_fields=["text", "wanted", "added_by"],
        batch_size=1000,
    )
    for entry in entries if kind is not Kind.TERMS else ():
        _make(actor, kind, collection, entry)


def _take_away(row: DictionaryTerm) -> None:
    if row.in_force or row.coming:
        DictionaryTerm.objects.filter(pk=row.pk).update(wanted=False)
    else:
        row.delete()


def _take_effect(kind: Kind) -> None:
    if kind is Kind.TERMS:
        recutting.request()
    else:
        move_revision()


def _where(collection: Collection | None) -> dict[str, str]:
    return {"collection": collection.name} if collection else {}


def _told(row: Row) -> dict[str, Any]:
    if isinstance(row, DictionarySynonym):
        return {"phrases": list(row.phrases), "one_way": row.one_way, "weight": row.weight}
    return {"text": row.text}
