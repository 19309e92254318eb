"""Conditions on documents that a question states, in Chinese and English: rules only, and only where they are sure.

"What was revenue in 2024?" asks about 2024; "in documents from 2024" narrows the documents. Where it cannot be told, the
words stay words: a filter that is not meant hides the answer, while words that could have been one merely rank.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import Any

from ingestion.conditions import PREFIX
from ingestion.indexing.analyzer import distinct_query_terms
from ingestion.indexing.stopwords import STOP_WORDS
from ingestion.models import MetadataField
from kb_platform.errors import InvalidInput
from retrieval.filters import Filters, parse_filters
from retrieval.query.periods import Period, find_periods
from retrieval.query.values import Condition
from retrieval.query.vocabulary import Term, Vocabulary, plural_pattern
from retrieval.query.wording import (
    DOC,
    EXCEPT,
    LANGUAGES,
    NAMES_A_KIND,
    SAYS_WHERE,
    WORK,
    ZH_DOC,
    ZH_IN,
    ZH_NAMES_A_KIND,
    ZH_SAYS_WHERE,
    ZH_WORK,
)

_SPEAKS_OF_DOCUMENTS = re.compile(
    rf"(?i)\b{DOC}|\b{WORK}|\b(?:tag|tagged|label|labelled|labeled|marked|collection|folder|library|knowledge base|version|last (?:updated|changed|modified|revised|uploaded))\b"
    rf"|\bin (?:all|our)\b|[:=：≥≤<>]|{ZH_DOC}|{ZH_WORK}|{ZH_IN}|标签|标记|集合|知识库|[类型]|版本|更新|修[改订]"
)
_QUOTE, _UNQUOTE = "[\"“'「『《]?", "[\"”'」』》]?"
_SHORT = r"[^，。？！,?!；;\s]{0,6}?"


def speaks_of_documents(text: str) -> bool:
    """Whether a question could state a condition at all; most do not, and need no look at what values there are."""
    return _SPEAKS_OF_DOCUMENTS.search(text) is not None


def find_conditions(text: str, vocabulary: Vocabulary, *, today: date) -> tuple[Condition, ...]:
    """The conditions the question states, in reading order, at most one for each filter; checked as `checked` does."""
    found = [*_periods(text, today), *_measured(text, vocabulary, today), *_values(text, vocabulary)]
    meant: list[Condition] = []
    for condition in found:
        is_taken = any(condition.start < other.end and other.start < condition.end for other in meant)
        if not is_taken and not EXCEPT.search(text[: condition.start]):
            meant.append(condition)
    return tuple(sorted(checked(meant, vocabulary), key=lambda condition: condition.start))


def checked(conditions: Iterable[Condition], vocabulary: Vocabulary) -> tuple[Condition, ...]:
    """Those that are filters, with values that occur where the reader may look; the first of each filter.

    Whoever proposes conditions, rules or a model, they pass through here.
    """
    kept: dict[str, Condition] = {}
    for condition in conditions:
        if condition.name not in kept and _is_usable(condition, vocabulary):
            kept[condition.name] = condition
    return tuple(kept.values())


def narrowed(filters: Filters, conditions: Iterable[Condition]) -> Filters:
    """The filters with the conditions added; what the reader has set already stays as it is."""
    for condition in conditions:
        if not is_set(filters, condition.name):
            filters = _with(filters, condition)
    return filters


def without_words(text: str, conditions: Sequence[Condition]) -> str:
    """The question without the words of its conditions; all of it if nothing to look for would be left."""
    rest, at = [], 0
    for condition in sorted(conditions, key=lambda condition: condition.start):
        rest.append(text[at : condition.start])
        at = max(at, condition.end)
    remaining = " ".join(" ".join([*rest, text[at:]]).split()).strip(" ,，、;；:：")
    return remaining if has_content(remaining) else text


def has_content(text: str) -> bool:
    """Whether any word of a text says what it is about."""
    return any(term not in STOP_WORDS for term in distinct_query_terms(text))


def _is_usable(condition: Condition, vocabulary: Vocabulary) -> bool:
    try:
        parsed = _parse(condition.stated)
    except InvalidInput:
        return False
    names = {name for name in parsed.as_json() if name not in ("modified_after", "modified_before")}
    return all(vocabulary.holds(name, value) for name in names for value in _listed(condition.stated, name))


def _listed(stated: Any, name: str) -> Sequence[Any]:
    value = stated[name]
    if isinstance(value, dict):  # bounds of an own field: no values
        return ()
    return value if isinstance(value, list) else [value]


def _parse(stated: Any) -> Filters:
    conditions = {name: value for name, value in stated.items() if name != "collections"}
    return parse_filters(conditions, collections=stated.get("collections"))


def is_set(filters: Filters, name: str) -> bool:
    """Whether the reader has narrowed by this already."""
    if name.startswith(PREFIX):
        return any(PREFIX + condition.key == name for condition in filters.metadata)
    if name == "modified":
        return bool(filters.modified_after or filters.modified_before)
    return filters.collections is not None if name == "collections" else bool(getattr(filters, name))


def _with(filters: Filters, condition: Condition) -> Filters:
    added = _parse(condition.stated)
    if condition.name.startswith(PREFIX):
        return replace(filters, metadata=(*filters.metadata, *added.metadata))
    if condition.name == "modified":
        return replace(filters, modified_after=added.modified_after, modified_before=added.modified_before)
    return replace(filters, **{condition.name: getattr(added, condition.name)})


def _condition(text: str, name: str, span: tuple[int, int], stated: dict[str, Any]) -> Condition:
    start, end = span
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return Condition(name=name, words=text[start:end].strip(), start=start, end=end, stated=stated)


# --- periods: only where they speak of the documents' own date ------------------------------------------------

_CHANGED = r"(?:updated|modified|changed|edited|revised|uploaded|added)"
_MADE = r"(?:updated|modified|changed|edited|revised|uploaded|added|published|issued|released|created|dated|written)"
_BE = r"(?:(?:that|which)\s+)?(?:(?:we|were|was|are|have|has|been|got|last|recently|newly)\s+){0,3}"
_QUALIFIED = r"(?:[\w-]+\s+){0,2}?"
_TOPIC = r"(?:(?:about|on)\s+[\w -]{1,40}?\s+(?P<cut>))?"
_BEFORE_PERIOD = tuple(
    re.compile(rf"(?i){shape}\s*$")
    for shape in (
        rf"{SAYS_WHERE}{_QUALIFIED}{DOC}\s+{_TOPIC}{_BE}{_MADE}",
        rf"{NAMES_A_KIND}{_QUALIFIED}{DOC}\s+(?:(?:about|on)\s+[\w -]{{1,40}}?\s+)?(?P<cut>){_BE}{_MADE}",
        rf"(?:{SAYS_WHERE}|{NAMES_A_KIND}){_QUALIFIED}{WORK}\s+(?P<cut>){_BE}{_CHANGED}",
    )
)
_DATED_BEFORE = re.compile(
    rf"(?i)(?:{SAYS_WHERE}{_QUALIFIED}{DOC}|{NAMES_A_KIND}{_QUALIFIED}{DOC}(?P<cut>))(?:\s+dated)?\s*$"
)
_DATING = frozenset({"from", "of", "since", "before", "after", "between", "dated"})
_ZH_CHANGED = r"(?:更新|修改|修订|上传|新增|添加|编辑|改动|变更)"
_ZH_MADE = rf"(?:{_ZH_CHANGED}|发布|创建|颁布|印发|出台)"
_ZH_AFTER = re.compile(
    rf"\s*(?:新|有|都|又|才|刚)?{_ZH_MADE}(?:过|了)?的(?=\s*{_SHORT}(?:{ZH_DOC}|{ZH_WORK}))"
    rf"|\s*(?:一共|总共|共|都)?{_ZH_MADE}(?:过|了)?(?=(?:哪些|多少|几)(?:[个份篇条])?(?:新的?)?(?:{ZH_DOC}|{ZH_WORK}))"
    rf"|的\s*{ZH_DOC}{ZH_IN}"
)
_ZH_WHICH = re.compile(
    rf"(?:哪些|什么|多少|几[个份篇]|所有|全部)(?:的)?(?:{ZH_DOC}|{ZH_WORK})(?P<cut>)(?:是|在|于|有|都)*\s*$"
)
_ZH_THEN = re.compile(rf"\s*(?:有|被|都)?{_ZH_MADE}(?:过|了)?")


def _periods(text: str, today: date) -> Iterator[Condition]:
    for period in find_periods(text, today=today):
        span = _documents_period(text, period)
        if span:
            ends = (("modified_after", period.after), ("modified_before", period.before))
            yield _condition(text, "modified", span, {name: day.isoformat() for name, day in ends if day})


def _documents_period(text: str, period: Period) -> tuple[int, int] | None:
    """The words of the condition if the period is one of the documents' own dates, else None."""
    before = text[: period.start]
    for shape in _BEFORE_PERIOD:
        if found := shape.search(before):
            return _cut(found)[0], period.end
    if period.preposition in _DATING and (found := _DATED_BEFORE.search(before)):
        return _cut(found)[0], period.end
    if tail := _ZH_AFTER.match(text, period.end):
        return period.start, tail.end()
    if (found := _ZH_WHICH.search(before)) and (tail := _ZH_THEN.match(text, period.end)):
        return _cut(found)[0], tail.end()
    return None


def _cut(match: re.Match[str]) -> tuple[int, int]:
    """What of a match goes from the question: all of it, or from an empty group `cut` on, or up to `upto`."""
    groups = match.groupdict()
    start = match.start("cut") if groups.get("cut") is not None else match.start()
    end = match.start("upto") if groups.get("upto") is not None else match.end()
    return start, end


# --- values that documents have -------------------------------------------------------------------------------

_NOUN, _ZH_NOUN = rf"(?:{DOC}|(?P<upto>){WORK})", rf"(?:{ZH_DOC}|(?P<upto>){ZH_WORK})"
_KINDS: dict[str, tuple[str, ...]] = {
    "department": (
        rf"{SAYS_WHERE}{{v}}(?:['’]s)?(?:\s+(?:department|dept|team))?(?:['’]s)?\s+{_NOUN}",
        rf"{NAMES_A_KIND}(?P<cut>){{v}}(?:['’]s)?(?:\s+(?:department|dept|team))?(?:['’]s)?\s+{_NOUN}",
        rf"(?:{SAYS_WHERE}|{NAMES_A_KIND})(?:{DOC}|{WORK}(?P<cut>))\s+(?:of|from|by|owned\s+by|in)\s+(?:the\s+)?{{v}}\b(?:\s+(?:department|dept|team))?",
        rf"{ZH_SAYS_WHERE}{{v}}(?:部门?|团队)?的?{_SHORT}{_ZH_NOUN}(?:{ZH_IN})?",
        rf"{{v}}(?:部门?|团队)?的?{_SHORT}{_ZH_NOUN}{ZH_IN}",
        rf"{ZH_NAMES_A_KIND}(?P<cut>){{v}}(?:部门?|团队)?的?{_SHORT}{_ZH_NOUN}",
        rf"{{v}}(?:部门?|团队)?的?{_ZH_NOUN}(?:都|一共|总共|共)?(?=有哪些|有多少|有几|清单|列表)",
    ),
    "doc_type": (
        rf"{SAYS_WHERE}{{v}}\s+{DOC}",
        rf"(?:{SAYS_WHERE}|{NAMES_A_KIND}){DOC}\s+of\s+(?:the\s+)?(?:type|kind)\s+{_QUOTE}{{v}}{_UNQUOTE}",
        r"\bin\s+(?:all\s+|our\s+|all\s+(?:our|the)\s+){v}\b",
        rf"(?:{ZH_SAYS_WHERE})?{{v}}类型?的?(?:{ZH_DOC})?{ZH_IN}",
        rf"{ZH_SAYS_WHERE}{{v}}类型?的?{ZH_DOC}",
        rf"类型(?:为|是){_QUOTE}{{v}}{_UNQUOTE}的{ZH_DOC}",
        rf"(?:在)?(?:所有|全部|各类|我们的|公司的){{v}}{ZH_IN}",
    ),
    "security_level": (
        rf"{SAYS_WHERE}{{v}}\s+{DOC}",
        rf"(?:{SAYS_WHERE}|{NAMES_A_KIND}){DOC}\s+(?:that\s+are\s+)?classified\s+(?:as\s+)?{{v}}\b",
        rf"(?:{ZH_SAYS_WHERE})?{{v}}级?别?的?{ZH_DOC}{ZH_IN}",
        rf"密级(?:为|是|：|:){{v}}的?(?:{ZH_DOC})?",
    ),
    "language": (
        rf"(?:{SAYS_WHERE}|{NAMES_A_KIND}(?P<cut>)){{v}}(?:[\s-]language)?\s+{_NOUN}",
        rf"(?:{SAYS_WHERE}|{NAMES_A_KIND}){DOC}\s+(?:that\s+are\s+)?(?:written\s+)?in\s+{{v}}\b",
        rf"(?:{ZH_SAYS_WHERE})?{{v}}(?:版本?|语言)?的?{_ZH_NOUN}{ZH_IN}",
        rf"{ZH_NAMES_A_KIND}(?P<cut>){{v}}(?:版本?|语言)?的?{_ZH_NOUN}",
    ),
    "collections": (
        rf"\b(?:in|from|within|under|inside)\s+(?:the\s+|our\s+)?{_QUOTE}{{v}}{_UNQUOTE}\s+(?:collection|library|folder|knowledge\s+base)\b",
        r"\b(?:in|from|within|under|inside)\s+[\"“]{v}[\"”]",
        rf"(?:在|从)?{_QUOTE}{{v}}{_UNQUOTE}(?:这个|的)?(?:知识库|资料库|文档库|文件夹|集合)(?:{ZH_IN})?",
        rf"(?:在|从)?[「“《]{{v}}[」”》]{ZH_IN}",
    ),
    "tags": (
        rf"\b(?:tagged|labell?ed|marked)\s+(?:as\s+|with\s+)?{_QUOTE}{{v}}{_UNQUOTE}(?!\w)",
        rf"\bwith\s+(?:the\s+)?tag\s+{_QUOTE}{{v}}{_UNQUOTE}(?!\w)",
        rf"\btag\s*[:=]\s*{_QUOTE}{{v}}{_UNQUOTE}(?!\w)",
        rf"标签(?:为|是|：|:)?{_QUOTE}{{v}}{_UNQUOTE}的?",
        rf"(?:标记|标注|打上)(?:为|了)?{_QUOTE}{{v}}{_UNQUOTE}(?:标签)?的",
        rf"(?:带|有|打了)?{_QUOTE}{{v}}{_UNQUOTE}标签的",
    ),
}
# A collection whose name says that it holds documents may be named like a place: "in the employee handbook".
_NAMED_PLACE = (rf"{SAYS_WHERE}{{v}}(?!\w)", rf"{ZH_SAYS_WHERE}{{v}}{ZH_IN}")
_IS_PLACE = re.compile(rf"(?i)\w\s+(?:{WORK}|{DOC}|handbook\b|manual\b)$|^\S{{2,}}(?:{ZH_DOC}|{ZH_WORK}|库)$")
_OWN = (
    r"{l}\s*[:=：]\s*" + _QUOTE + "{v}" + _UNQUOTE + r"(?!\w)",
    rf"(?:{DOC}|{WORK})\s+(?P<cut>)(?:with|whose|where|having)\s+(?:the\s+|a\s+)?{{l}}\s+(?:is\s+|of\s+)?{_QUOTE}{{v}}{_UNQUOTE}(?!\w)",
    rf"{{l}}(?:为|是|等于){_QUOTE}{{v}}{_UNQUOTE}的(?={_SHORT}(?:{ZH_DOC}|{ZH_WORK}))",
)


def _values(text: str, vocabulary: Vocabulary) -> Iterator[Condition]:
    """Longer values first, so that 「人事部」 does not hide 「人事部一组」."""
    for term in sorted(vocabulary.terms, key=lambda term: -len(term.word)):
        for pattern in _patterns_of(term):
            match = pattern.search(text)
            if match:
                stated = {term.name: _stated(term, vocabulary)}
                found = _condition(text, term.name, _cut(match), stated)
                yield replace(found, shown=term.word, label=term.label)
                yield from _kind_behind(text, match, vocabulary)
                break


def _stated(term: Term, vocabulary: Vocabulary) -> list[Any]:
    """A text in both languages is one in either."""
    is_mixed = term.name == "language" and vocabulary.holds("language", "mixed")
    return [term.value, "mixed"] if is_mixed else [term.value]


def _kind_behind(text: str, match: re.Match[str], vocabulary: Vocabulary) -> Iterator[Condition]:
    """The kind of document that a department's are named by: the policies of "in HR policies"."""
    if match.groupdict().get("upto") is None:
        return
    start = match.start("upto")
    for kind in vocabulary.named("doc_type"):
        if found := re.compile(rf"(?i){plural_pattern(kind.word)}").match(text, start):
            yield of_kind(text, kind, found.span())
            return


def of_kind(text: str, kind: Term, span: tuple[int, int]) -> Condition:
    """The condition that a document is of a kind which stands at `span`."""
    return replace(_condition(text, "doc_type", span, {"doc_type": [kind.value]}), shown=kind.word)


def _patterns_of(term: Term) -> Sequence[re.Pattern[str]]:
    return _compiled(term.name, term.word, term.label)


@lru_cache(maxsize=2_000)
def _compiled(name: str, word: str, label: str) -> tuple[re.Pattern[str], ...]:
    if name.startswith(PREFIX):
        return tuple(_ready(shape, _value_pattern(word), label) for shape in _OWN)
    if name == "language":
        words = "|".join(LANGUAGES.get(word, ()))
        return tuple(_ready(shape, f"(?:{words})") for shape in _KINDS[name]) if words else ()
    value = plural_pattern(word) if name == "doc_type" else _value_pattern(word)
    shapes = _KINDS[name]
    if name == "collections" and _IS_PLACE.search(word):
        shapes = (*shapes, *_NAMED_PLACE)
    return tuple(_ready(shape, value) for shape in shapes) if len(word) > 1 else ()


def _value_pattern(word: str) -> str:
    """In any case of letters, except for names that are function words in small letters (IT, US)."""
    literal = re.escape(word)
    return f"(?-i:{literal})" if word.casefold() in STOP_WORDS else literal


def _ready(shape: str, value: str, label: str = "") -> re.Pattern[str]:
    return re.compile("(?i)" + shape.replace("{v}", value).replace("{l}", re.escape(label)))


# --- own fields that compare ----------------------------------------------------------------------------------

_SIGNS = {
    "gt": r">|over|above|more\s+than|greater\s+than|大于|超过|高于|多于",
    "gte": r">=|≥|at\s+least|不少于|不低于|不小于|至少",
    "lt": r"<|under|below|less\s+than|小于|低于|少于",
    "lte": r"<=|≤|at\s+most|up\s+to|不超过|不高于|不大于|至多",
}
_NUMBER = r"(?P<number>\d[\d,]*(?:\.\d+)?)\s*(?P<factor>万|亿|k\b|million\b)?"
_FACTORS = {"万": 10_000, "亿": 100_000_000, "k": 1_000, "million": 1_000_000}
_SPOKEN_OF = re.compile(rf"(?i)(?:{DOC}|{WORK})\s+(?:with|whose|where|having)\s+(?:an?\s+|the\s+)?$")
_ZH_SPOKEN_OF = re.compile(rf"(?:元|块|天|个)?的?{_SHORT}(?:{ZH_DOC}|{ZH_WORK})")


def _measured(text: str, vocabulary: Vocabulary, today: date) -> Iterator[Condition]:
    for label, (key, kind) in vocabulary.measures.items():
        read = _dates if kind == MetadataField.Kind.DATE else _numbers
        for start, end, bounds in read(text, label, today):
            if _SPOKEN_OF.search(text[:start]) or _ZH_SPOKEN_OF.match(text, end):
                found = _condition(text, PREFIX + key, (start, end), {PREFIX + key: bounds})
                yield replace(found, label=label)


Bounded = tuple[int, int, dict[str, Any]]


def _numbers(text: str, label: str, _today: date) -> Iterator[Bounded]:
    for operator in ("gte", "lte", "gt", "lt"):
        shape = rf"(?i){re.escape(label)}\s*(?:is\s+|of\s+|在)?(?:{_SIGNS[operator]})\s*{_NUMBER}"
        for match in re.finditer(shape, text):
            number = float(match["number"].replace(",", "")) * _FACTORS.get(
                (match["factor"] or "").lower(), 1
            )
            yield match.start(), match.end(), {operator: int(number) if number.is_integer() else number}


def _dates(text: str, label: str, today: date) -> Iterator[Bounded]:
    for period in find_periods(text, today=today, with_future=True):
        match = re.search(rf"(?i){re.escape(label)}\s*(?:is\s+|在|为)?\s*$", text[: period.start])
        ends = (("gte", period.after), ("lt", period.before))
        if match:
            yield match.start(), period.end, {name: day.isoformat() for name, day in ends if day}
