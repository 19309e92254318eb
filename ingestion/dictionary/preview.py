"""What a change of the dictionary would do, before it is saved: how a text is cut, and which chunks it concerns.

Chunks are counted among those that the asking person may read. Others are cut anew as well, and nothing is told of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import opencc
from django.db import DatabaseError, connection, transaction

from accounts.permissions.visibility import visible_scopes
from accounts.values import Principal
from ingestion import selectors
from ingestion.chunking.language import language_of
from ingestion.dictionary.entries import Group, Phrase
from ingestion.dictionary.questions import (
    Dictionary,
    QuestionTerms,
    SearchDictionary,
    Synonym,
    Synonyms,
    question_terms,
)
from ingestion.dictionary.revisions import dictionary_of
from ingestion.dictionary.selectors import count_holding
from ingestion.indexing.analyzer import PieceKind, cut_question, pieces, term_places
from ingestion.indexing.generations import active_generation
from ingestion.indexing.lexicon import Phrases, find
from ingestion.indexing.words import CJK
from ingestion.models import Collection

MAX_COUNTED = 2_000
MAX_EXAMPLES = 3
MAX_SHOWN_COLLECTIONS = 8
MAX_TEXT = 500
PATIENCE_MS = 4_000
EXAMPLE_LEAD, EXAMPLE_LENGTH = 24, 90

_CONCERNED = """
select c.embedding_text, c.text, d.uid, d.title, o.uid, o.name
from ingestion_chunk c
join ingestion_document d on d.id = c.document_id and d.active_version_id = c.version_id
join ingestion_collection o on o.id = d.collection_id
join ingestion_indexgeneration g on g.id = c.generation_id and g.number = %s
where d.scope_id = any(%s::int[]) and d.archived_at is null and (%s::bigint is null or d.collection_id = %s)
and c.embedding_text ~* %s
order by c.id desc limit %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tok:
    """A word in the preview. mark: "n" new term, "d" own term, "s" left out, "w" will be cut otherwise, "" none."""

    text: str
    mark: str = ""

    @property
    def language(self) -> str:
        """For the page's `lang`: the word is the document's or the person's, not the interface's."""
        return "zh" if language_of(self.text) == "zh" else "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    document_uid: str
    title: str
    before: str
    word: str
    after: str

    @property
    def language(self) -> str:
        return "zh" if language_of(self.before + self.word + self.after) == "zh" else "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of the chunks concerned are in one collection."""

    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """is_more: the count stopped at MAX_COUNTED."""

    chunks: int
    documents: int
    collections: tuple[Share, ...]
    examples: tuple[Example, ...]
    is_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TermPreview:
    text: str
    now: tuple[Tok, ...]
    then: tuple[Tok, ...]
    concerned: Concerned | None  # None: it takes too long to count them


def preview_term(
    principal: Principal,
    *,
    collection: Collection | None,
    phrase: Phrase | None,
    text: str,
    without: Phrase | None = None,
) -> TermPreview:
    """phrase: the term to come, None when only `without` goes. text: what to cut; empty: where the term is found."""
    dictionary = dictionary_of(collection.pk if collection else None)
    changing = phrase or without
    concerned = concerned_chunks(principal, collection, changing) if changing else None
    text = text.strip()[:MAX_TEXT] or _sentence_of(concerned) or (changing.text if changing else "")
    leaving = without.key if without else None
    then = [*_without(dictionary.terms, leaving), *([Phrases([phrase.key])] if phrase else [])]
    return TermPreview(
        text=text,
        now=_toks(text, dictionary, dictionary.terms, changed=phrase, is_now=True),
        then=_toks(text, dictionary, then, changed=phrase),
        concerned=concerned,
    )


def _without(groups: Sequence[Phrases], key: str | None) -> list[Phrases]:
    return [group.without(key) for group in groups] if key else list(groups)


def _sentence_of(concerned: Concerned | None) -> str:
    if not concerned or not concerned.examples:
        return ""
    first = concerned.examples[0]
    return f"{first.before}{first.word}{first.after}".strip("… ")


def _toks(
    text: str,
    dictionary: Dictionary,
    terms: Sequence[Phrases],
    *,
    changed: Phrase | None,
    is_now: bool = False,
) -> tuple[Tok, ...]:
    cut = cut_question(text)
    new = find([Phrases([changed.key])], cut.text) if changed else []
    ignored = find(dictionary.stop_words, cut.text)
    toks = []
    for piece in pieces(text, terms):
        mark = "d" if piece.kind is PieceKind.TERM else ""
        if piece.kind is PieceKind.FUNCTION_WORD or _is_in(ignored, piece.start, piece.end):
            mark = "s"
        touches = any(piece.start < end and start < piece.end for _phrase, start, end in new)
        if touches and mark != "d":
            mark = "w" if is_now else mark
        elif touches and not is_now and _is_in(new, piece.start, piece.end):
            mark = "n"
        toks.append(Tok(text=piece.text, mark=mark))
    return tuple(toks)


def _is_in(places: Sequence[tuple[str, int, int]], start: int, end: int) -> bool:
    return any(first <= start and end <= last for _phrase, first, last in places)


def concerned_chunks(principal: Principal, collection: Collection | None, phrase: Phrase) -> Concerned | None:
    """The readable chunks that hold the phrase; None when it takes too long to say."""
    place = collection.pk if collection else None
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("select set_config('statement_timeout', %s, true)", [str(PATIENCE_MS)])
            cursor.execute(
                _CONCERNED,
                [
                    active_generation().number, list(visible_scopes(principal)), place, place,
                    spellings(phrase.key), MAX_COUNTED + 1,
                ],
            )  # fmt: skip
            rows = cursor.fetchall()
    except DatabaseError:
        return None
    own = [Phrases([phrase.key])]
    held = [row for row in rows[:MAX_COUNTED] if term_places(row[0], own)]
    by_collection: dict[str, list[str]] = {}
    for row in held:
        by_collection.setdefault(str(row[4]), []).append(row[5])
    shares = sorted(
        (Share(name=names[0], count=len(names)) for names in by_collection.values()),
        key=lambda share: (-share.count, share.name),
    )
    return Concerned(
        chunks=len(held),
        documents=len({row[2] for row in held}),
        collections=tuple(shares[:MAX_SHOWN_COLLECTIONS]),
        examples=_examples(held, own),
        is_more=len(rows) > MAX_COUNTED,
    )


def _examples(rows: Sequence[tuple[str, ...]], own: Sequence[Phrases]) -> tuple[Example, ...]:
    """Of different documents, the word with what stands around it."""
    found: dict[str, Example] = {}
    for _embedding_text, text, uid, title, _collection, _name in rows:
        if str(uid) in found or len(found) == MAX_EXAMPLES:
            continue
        flat = " ".join(text.split())
        word = next((piece for piece in pieces(flat, own) if piece.kind is PieceKind.TERM), None)
        at = flat.find(word.text) if word else -1
        if word is None or at < 0:
            continue
        start, end = max(0, at - EXAMPLE_LEAD), at + len(word.text)
        found[str(uid)] = Example(
            document_uid=str(uid),
            title=title,
            before=("…" if start else "") + flat[start:at],
            word=word.text,
            after=flat[end : at + EXAMPLE_LENGTH] + ("…" if at + EXAMPLE_LENGTH < len(flat) else ""),
        )
    return tuple(found.values())


def spellings(key: str) -> str:
    """A regular expression for whatever a text may write in the place of a folded phrase, and for little else."""
    out = []
    for at, character in enumerate(key):
        if character == " ":
            out.append(r"\s+")
            continue
        if at and key[at - 1] != " " and _is_border(key[at - 1], character):
            out.append(r"\s*")
        out.append(_class(character))
    return "".join(out)


def _is_border(one: str, other: str) -> bool:
    return bool(re.match(f"[{CJK}]", one)) != bool(re.match(f"[{CJK}]", other))


def _class(character: str) -> str:
    forms = {character, *_traditional().get(character, ())}
    if "!" <= character <= "~":
        forms |= {chr(ord(form) + 0xFEE0) for form in (character, character.upper())}
    return (
        "["
        + "".join(f"\\{form}" if form.isascii() and not form.isalnum() else form for form in sorted(forms))
        + "]"
    )


@cache
def _traditional() -> dict[str, tuple[str, ...]]:
    """Simplified character -> those that are folded to it."""
    characters = [chr(code) for code in (*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000))]
    simplified = str(opencc.OpenCC("t2s").convert("\n".join(characters))).split("\n")
    found: dict[str, tuple[str, ...]] = {}
    for character, simple in zip(characters, simplified, strict=True):
        if character != simple:
            found[simple] = (*found.get(simple, ()), character)
    return found


# --- questions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SynonymPreview:
    """toks: what a question is looked for by, marked "n" where the group adds to it. now, then: chunks found by phrase."""

    question: str
    toks: tuple[Tok, ...]
    now: int
    then: int


def preview_group(
    principal: Principal, *, collection: Collection | None, group: Group, question: str
) -> SynonymPreview:
    """question: one to try; empty: the first phrase."""
    dictionary = dictionary_of(collection.pk if collection else None)
    question = question.strip()[:MAX_TEXT] or group.phrases[0].text
    synonym = Synonym(
        phrases=tuple(phrase.text for phrase in group.phrases),
        keys=group.keys,
        one_way=group.one_way,
        weight=group.weight,
    )
    with_it = Dictionary(
        terms=dictionary.terms,
        synonyms=(*dictionary.synonyms, Synonyms([synonym])),
        stop_words=dictionary.stop_words,
    )
    asked = _asked(question, with_it)
    known = {(one.said, one.means) for one in _asked(question, dictionary).expansions}
    added = [one for one in asked.expansions if (one.said, one.means) not in known]
    toks = [
        Tok(text=piece.text, mark="s" if piece.kind is PieceKind.FUNCTION_WORD else "")
        for piece in pieces(question, dictionary.terms)
    ]
    toks += [Tok(text=text, mark="n") for text in dict.fromkeys(one.means for one in added)]
    said = [list(one.replaces) for one in added[:1]] or [list(_asked(group.phrases[0].text, dictionary).own)]
    then = [*said, *(list(one.tokens) for one in added)]
    now_count, then_count = count_holding(principal, [said, then])
    return SynonymPreview(question=question, toks=tuple(toks), now=now_count, then=then_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopWordPreview:
    """titles: of how many readable documents it is a part. chunks: readable ones that hold it, None if not known."""

    toks: tuple[Tok, ...]
    question: str
    chunks: int
    titles: int


def preview_stop_word(
    principal: Principal, *, collection: Collection | None, phrase: Phrase, question: str
) -> StopWordPreview:
    dictionary = dictionary_of(collection.pk if collection else None)
    question = question.strip()[:MAX_TEXT] or phrase.text
    ignored = find([*dictionary.stop_words, Phrases([phrase.key])], cut_question(question).text)
    toks = tuple(
        Tok(
            text=piece.text,
            mark="s"
            if piece.kind is PieceKind.FUNCTION_WORD or _is_in(ignored, piece.start, piece.end)
            else "",
        )
        for piece in pieces(question, dictionary.terms)
    )
    documents = selectors.documents_for(principal).filter(
        archived_at=None, title__iregex=spellings(phrase.key)
    )
    if collection:
        documents = documents.filter(collection=collection)
    tokens = _asked(phrase.key, Dictionary(terms=dictionary.terms)).own
    return StopWordPreview(
        toks=toks,
        question=question,
        chunks=count_holding(principal, [[list(tokens)]])[0],
        titles=documents.order_by().count(),
    )


def _asked(question: str, dictionary: Dictionary) -> QuestionTerms:
    return question_terms(question, SearchDictionary(revision=1, dictionaries=(dictionary,)))
