"""The built-in answerer: the best sentences of the passages themselves, quoted, each with the number of its passage.

A sentence is chosen by the share of the question's words in it, its nearness by meaning, and its passage's rank.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from ingestion.dictionary.questions import Expansion
from ingestion.indexing.analyzer import analyze
from retrieval.evidence import coverage
from retrieval.generation.statements import Statement
from retrieval.values import Passage

MAX_SENTENCES = 4
MAX_LIST_ITEMS = 12
CONTEXT_SHARE = 0.5  # words that only the title and the headings hold count half
RANK_WEIGHT = 0.3
NUMBER_BONUS = 0.15
AS_GOOD = 0.8  # of the best sentence's score: what a further sentence needs
WORDS_DECIDE = (
    0.3  # share of the question's idf mass; below it the question is worded otherwise, or in another language
)
READ_CLOSELY = 4  # statements then read by themselves, at 5 to 10 ms each
NEAR_ENOUGH, COVERS_ENOUGH = (
    0.25,
    0.5,
)  # centred cosine of the bundled model; share of the question's idf mass
AS_NEAR = 0.7  # of the best sentence's nearness by meaning
BY_MEANING, AS_NEAR_BY_MEANING = (
    2,
    0.85,
)  # how many sentences where words do not decide, and how near further ones
LEAST_NEW = 0.1  # share of the question's idf mass that a further sentence must add
_ASKS_FOR_NUMBER = re.compile(
    r"\bhow (?:many|much|often|long|old|far|big|large|high|tall|fast)\b|\bwhen\b|\bwhat (?:time|year|date|day|age|percentage)\b"
    r"|\bcosts?\b|\bprice\b|多少|几[^乎]|何时|什么时候|多久|多长|多大|多高|哪一?[年天日月]",
    re.IGNORECASE,
)
_ASKS_HOW = re.compile(
    r"\bhow (?:do|does|can|could|should|to)\b|\bwhat (?:can|should|must|do) (?:i|we|you)\b(?: \w+)? do\b|\bwhat to do\b"
    r"|如何|怎么|怎样|怎办|步骤|流程",
    re.IGNORECASE,
)
# A number by itself: not the digits of a code.
_NUMBER = re.compile(
    r"(?<![\w./-])\d[\d,.]*(?![\w-])|(?<![A-Za-z0-9_./-])\d[\d,.]* ?[%\u4e00-\u9fff]|[一二三四五六七八九十百千两]+[个天年月日周次元块岁人倍小分]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """What an answer takes from one passage. `n` is the number of its marker; elements count from 0, ends included."""

    n: int
    passage: Passage
    quote: str
    page: int | None
    first_element: int
    last_element: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedAnswer:
    """text: sentences with markers like [1]; quotations in the order of their numbers."""

    text: str
    quotations: tuple[Quotation, ...]


ReadClosely = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """nearness: of each statement by meaning, a cosine, or None when meaning cannot be compared.

    expansions: synonyms, by which a sentence may say terms that it does not hold. read_closely: texts -> their cosines,
    exact but slow.
    """

    text: str
    idf: Mapping[str, float]
    expansions: Sequence[Expansion] = ()
    nearness: Sequence[float] | None = None
    read_closely: ReadClosely | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rated:
    statement: Statement
    score: float
    terms: frozenset[str]
    nearness: float = 0.0


def extract_answer(
    question: Question, passages: Sequence[Passage], statements: Sequence[Statement]
) -> ExtractedAnswer | None:
    """The best one to four sentences, or None when no sentence is near the question by meaning or by words.

    passages: best first. statements: of all passages, in reading order within each; `question.nearness` is of these.
    """
    rated = _rate(question, passages, statements)
    if not rated or not _answers(question, rated[0]):
        return None
    chosen = _choose(question, rated)
    asks_how = _ASKS_HOW.search(question.text) is not None
    return _compose(_with_lists(chosen, statements, with_steps=asks_how), passages)


def _rate(question: Question, passages: Sequence[Passage], statements: Sequence[Statement]) -> list[_Rated]:
    """Statements, best first, by their words and their meaning."""
    around = [_terms(" ".join((passage.title, *passage.heading_path)), question) for passage in passages]
    rated = [_by_words(question, statement, around[statement.passage]) for statement in statements]
    if question.nearness is not None:
        rated = [_nearer(by_words, near) for by_words, near in zip(rated, question.nearness, strict=True)]
    best_first = sorted(rated, key=lambda statement: -statement.score)
    if question.nearness is None or question.read_closely is None or _words_decide(question, rated):
        return best_first
    return _read_closely(question.read_closely, passages, best_first)


def _words_decide(question: Question, rated: Sequence[_Rated]) -> bool:
    return any(coverage(statement.terms, question.idf) >= WORDS_DECIDE for statement in rated)


def _read_closely(
    read: ReadClosely, passages: Sequence[Passage], best_first: Sequence[_Rated]
) -> list[_Rated]:
    """The first few anew by what they say by themselves: within a passage, its sentences' vectors are much alike."""
    first, rest = best_first[:READ_CLOSELY], best_first[READ_CLOSELY:]
    if not first:
        return []
    closely = read([_in_context(passages, rated.statement) for rated in first])
    least = min(closely)
    anew = [_nearer(rated, near) for rated, near in zip(first, closely, strict=True)]
    anew += [_nearer(rated, min(rated.nearness, least)) for rated in rest]
    return sorted(anew, key=lambda rated: -rated.score)


def _nearer(rated: _Rated, nearness: float) -> _Rated:
    return replace(rated, score=rated.score + nearness - rated.nearness, nearness=nearness)


def _in_context(passages: Sequence[Passage], statement: Statement) -> str:
    passage = passages[statement.passage]
    heading = passage.heading_path[-1] if passage.heading_path else passage.title
    return f"{heading}\n{statement.text}"


def _answers(question: Question, best: _Rated) -> bool:
    """Whether a passage that is near also has a sentence that is; without vectors the passage's nearness must do."""
    if question.nearness is None:
        return True
    return best.nearness >= NEAR_ENOUGH or coverage(best.terms, question.idf) >= COVERS_ENOUGH


def _terms(text: str, question: Question) -> frozenset[str]:
    words = _analyzed(text)
    said = {token for one in question.expansions if words.issuperset(one.tokens) for token in one.replaces}
    return (words | said) & question.idf.keys()


@lru_cache(maxsize=4096)
def _analyzed(text: str) -> frozenset[str]:
    """Kept, because many questions meet the same sentences and cutting Chinese into words takes the longest here."""
    return frozenset(analyze(text))


def _by_words(question: Question, statement: Statement, around: frozenset[str]) -> _Rated:
    terms = _terms(statement.text, question)
    own, with_context = coverage(terms, question.idf), coverage(terms | around, question.idf)
    score = own + CONTEXT_SHARE * (with_context - own) + RANK_WEIGHT / (1 + statement.passage)
    if _ASKS_FOR_NUMBER.search(question.text) and _NUMBER.search(statement.text):
        score += NUMBER_BONUS
    return _Rated(statement=statement, score=score, terms=terms)


def _choose(question: Question, rated: Sequence[_Rated]) -> list[Statement]:
    """The best statement, and those nearly as good that say something of the question which it does not."""
    if question.nearness is not None and not _words_decide(question, rated):
        return _choose_by_meaning(rated)
    best = rated[0]
    chosen, covered = [best.statement], set(best.terms)
    for other in rated[1:]:
        if len(chosen) == MAX_SENTENCES or other.score < AS_GOOD * best.score:
            break
        new = coverage(other.terms - covered, question.idf)
        is_near = other.nearness >= AS_NEAR * best.nearness
        if (
            is_near
            and new >= LEAST_NEW
            and other.statement.text not in {statement.text for statement in chosen}
        ):
            chosen.append(other.statement)
            covered |= other.terms
    return chosen


def _choose_by_meaning(rated: Sequence[_Rated]) -> list[Statement]:
    """The best statement, and one about as near: which of the two answers, words cannot tell."""
    best = rated[0]
    texts = {best.statement.text: best.statement}
    for other in rated[1:]:
        if len(texts) == BY_MEANING or other.score < AS_GOOD * best.score:
            break
        if other.nearness >= AS_NEAR_BY_MEANING * best.nearness:
            texts.setdefault(other.statement.text, other.statement)
    return list(texts.values())


def _with_lists(
    chosen: Sequence[Statement], statements: Sequence[Statement], *, with_steps: bool
) -> list[Statement]:
    """The chosen ones in reading order, best passage first. One that introduces a list brings the list.

    with_steps: so does a step of one, for a question that asks how something is done.
    """
    wanted = {id(statement) for statement in chosen}
    complete: list[Statement] = []
    for run in _runs(statements):
        lead, items = (run[0], run[1:]) if not run[0].is_item else (None, run)
        has_lead = lead is not None and id(lead) in wanted
        brings_all = (has_lead and lead is not None and lead.leads_list) or (
            with_steps and any(item.is_step and (has_lead or id(item) in wanted) for item in items)
        )
        taken = [item for item in items if brings_all or id(item) in wanted][:MAX_LIST_ITEMS]
        if lead is not None and (id(lead) in wanted or (brings_all and lead.leads_list)):
            complete.append(lead)
        complete.extend(taken)
    first = chosen[0].passage
    return sorted(complete, key=lambda statement: (statement.passage != first, statement.passage))


def _runs(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Each statement that is no item, with the items after it in the same passage."""
    runs: list[list[Statement]] = []
    for statement in statements:
        if statement.is_item and runs and runs[-1][-1].passage == statement.passage:
            runs[-1].append(statement)
        else:
            runs.append([statement])
    return runs


def _compose(chosen: Sequence[Statement], passages: Sequence[Passage]) -> ExtractedAnswer:
    numbers = {place: n for n, place in enumerate(dict.fromkeys(s.passage for s in chosen), start=1)}
    parts: list[str] = []
    for statement in chosen:
        marked = f"{statement.text} [{numbers[statement.passage]}]"
        if statement.is_item:
            parts.append(f"\n- {marked}")
        else:
            parts.append(
                ("\n" if parts and parts[-1].startswith("\n") else " ") + marked if parts else marked
            )
    quotations = tuple(
        _quotation(n, passages[place], [s for s in chosen if s.passage == place])
        for place, n in numbers.items()
    )
    return ExtractedAnswer(text="".join(parts).strip(), quotations=quotations)


def _quotation(n: int, passage: Passage, statements: Sequence[Statement]) -> Quotation:
    quote = statements[0].quote
    for before, statement in pairwise(statements):
        joint = "\n" if statement.element - before.element in (0, 1) else "\n…\n"
        quote += joint + statement.quote
    return Quotation(
        n=n,
        passage=passage,
        quote=quote,
        page=statements[0].page,
        first_element=min(statement.element for statement in statements),
        last_element=max(statement.element for statement in statements),
    )
