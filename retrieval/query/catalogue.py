"""Questions about the documents themselves, told from questions about what stands in them: rules only. Pure.

"How many files about per diem are there?" counts documents; "How many documents do I need for a visa?" does not. A
pattern must cover the whole question: whatever it does not know makes it a question about content.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from retrieval.query.conditions import has_content
from retrieval.query.values import CatalogueAsk, Condition
from retrieval.query.vocabulary import Term, Vocabulary, plural_pattern
from retrieval.query.wording import DOC, WORK, ZH_DOC, ZH_WORK

CONDITION = "§"  # stands for the words of a condition
_WITHOUT_SPACE = re.compile(rf"\s*{CONDITION}\s*")
_PLACE = r"(?:in|of|within|from)\s+(?:the\s+|our\s+|this\s+|my\s+)?(?:company(?:'s)?\s+)?(?:knowledge\s+base|library|system|database|repository|index)"
_FILLER = (
    rf"(?:{CONDITION}|(?:that\s+)?(?:are|is)\s+there|(?:do|did|can)\s+(?:we|i|you|they)\s+(?:have|see|read)|(?:that\s+)?(?:we|i)\s+have"
    rf"|exist|available|in\s+total|(?:are|is|have|has|were|was)(?=\s*(?:{CONDITION}|{_PLACE}))|{_PLACE})"
)
_ABOUT = (
    r"(?:(?:that|which)\s+)?(?:(?:are|is)\s+)?(?:about|regarding|concerning|related\s+to|relating\s+to|that\s+mention|mention(?:ing)?"
    r"|dealing\s+with|deal\s+with|talk\s+about|cover(?:ing)?|contain(?:ing)?|with|on)\s+"
)
_LEAD = (
    r"(?P<count>how\s+many|count|(?:what(?:'s|\s+is)\s+)?the\s+number\s+of)|(?P<list>(?:please\s+|can\s+you\s+|could\s+you\s+)?"
    r"(?:list|show(?:\s+me)?|give\s+me(?:\s+a\s+list\s+of)?|find(?:\s+me)?\s+all))|(?P<which>which|what)"
)
_DETERMINERS = rf"(?:(?:all|any|every|the|of|our|other|new|{CONDITION})\s+)*"
# What a file is written in is no condition and stands in no text: 「列出所有PDF文件」 cannot be answered by words.
_FORMAT = re.compile(
    r"(?i)^(?:\W|pdf|word|excel|powerpoint|markdown|html?|csv|txt|docx?|xlsx?|pptx?|json|xml|rtf|odt|epub|or|and|和|或|格式|的)+$"
)
_NEEDS = re.compile(
    r"(?i)\b(?:need|needs|require[sd]?|must|should|have to|submit|do|does|did|can|is|are|was|were|be|apply|applies)\b|\?"
)
_NEWEST_EN = (
    re.compile(
        r"(?i)^\W*(?:(?:what|which|where)(?:'s|\s+is)?\s+|show(?:\s+me)?\s+|give\s+me\s+)?the\s+(?:newest|latest|most\s+recent|current)\s+version\s+of\s+(?:the\s+)?(?P<topic>.+?)\W*$"
    ),
    re.compile(
        r"(?i)^\W*(?:which|what)\s+version\s+of\s+(?:the\s+)?(?P<topic>.+?)\s+is\s+(?:the\s+)?(?:current|latest|newest|in\s+force|valid)\W*$"
    ),
    re.compile(
        r"(?i)^\W*when\s+(?:was|were)\s+(?:the\s+)?(?P<topic>.+?)\s+last\s+(?:updated|changed|modified|revised|uploaded)\W*$"
    ),
)

_ZH_HEAD = r"(?:请问|请|帮我|我想知道|你好|麻烦)*[，,]?"
_ZH_PLACE = (
    r"(?:(?:在|我们|公司|本|现在|目前)*(?:的)?(?:知识库|资料库|文档库|文件库|系统)(?:里面|里|中|内|上)?)?"
)
_ZH_HOW_MANY = r"(?:多少|几)\s*(?:个|份|篇|条|本)?"
_ZH_ALL = r"(?:一共|总共|共|目前|现在|都|还|又)*"
_ZH_ABOUT = r"(?:关于|有关|涉及|提到|提及|包含|讲|介绍|和|与|跟)"
_ZH_OF = r"(?:相关|有关)?(?:的)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """ask: what is wanted. kind: the kind of document that the question names as a noun, and where."""

    ask: CatalogueAsk
    kind: Term | None = None
    kind_at: tuple[int, int] = (0, 0)


def ask_catalogue(text: str, conditions: Sequence[Condition], vocabulary: Vocabulary) -> Asked | None:
    """What the question asks of the catalogue; None for all other questions.

    conditions: those found in the text. A question for the newest version holds only if a title fits; that is for who
    answers it to find out.
    """
    bare = _without(text, conditions).strip()
    for shape in (*_NEWEST_EN, *_NEWEST_ZH):
        if match := shape.match(bare):
            return _asked("newest", match["topic"])
    for kind, noun, zh_noun in _nouns(vocabulary, has_condition=CONDITION in bare):
        found = _english(bare, noun) or _chinese(_WITHOUT_SPACE.sub(CONDITION, bare), zh_noun)
        if found and (asked := _asked(*found)):
            if kind is None:
                return asked
            place = re.search(rf"(?i){plural_pattern(kind.word)}", text)
            return replace(asked, kind=kind, kind_at=place.span() if place else (0, 0))
    return None


def _asked(wants: str, topic: str) -> Asked | None:
    topic = topic.replace(CONDITION, " ").strip(" \"'“”「」『』《》,，.。?？!！")
    if topic and (not has_content(topic) or _FORMAT.match(topic)):
        return None
    return Asked(ask=CatalogueAsk(wants=wants, topic=topic))


def _without(text: str, conditions: Sequence[Condition]) -> str:
    bare, at = "", 0
    for condition in sorted(conditions, key=lambda condition: condition.start):
        if condition.start >= at:
            bare += f"{text[at : condition.start]} {CONDITION} "
            at = condition.end
    return " ".join((bare + text[at:]).split())


def _nouns(vocabulary: Vocabulary, *, has_condition: bool) -> list[tuple[Term | None, str, str]]:
    """What may stand for documents: the plain words, kinds that documents have, and with a condition any word for one."""
    kinds: list[tuple[Term | None, str, str]] = [
        (kind, rf"{plural_pattern(kind.word)}\b", rf"{plural_pattern(kind.word)}(?:类)?(?:{ZH_DOC})?")
        for kind in vocabulary.named("doc_type")
    ]
    plain = rf"(?:{DOC}|{WORK}|{CONDITION})" if has_condition else DOC
    zh_plain = rf"(?:{ZH_DOC}|{ZH_WORK}|{CONDITION})" if has_condition else ZH_DOC
    return [*kinds, (None, plain, zh_plain)]


def _english(bare: str, noun: str) -> tuple[str, str] | None:
    shape = (
        rf"(?i)^\W*(?:{_LEAD})\s+{_DETERMINERS}(?P<noun>{noun})(?P<tail>(?:\s*{_FILLER})*"
        rf"(?:\s*(?P<about>{_ABOUT})(?P<topic>[^?.!]+?))?(?:\s*{_FILLER})*)[\s?.!]*$"
    )
    match = re.match(shape, bare)
    if match is None:
        return None
    topic, tail = match["topic"] or "", match["tail"]
    if topic and (
        _NEEDS.search(topic) or (match["which"] and match["about"].strip().lower() in ("with", "on"))
    ):
        return None
    is_anchored = (
        bool(match["list"]) or CONDITION in bare or bool(topic) or re.search(_FILLER, tail, re.IGNORECASE)
    )
    if not is_anchored:
        return None
    return "count" if match["count"] else "list", topic


def _chinese(bare: str, noun: str) -> tuple[str, str] | None:
    for wants, shape in _ZH_SHAPES:
        match = re.match("(?i)" + shape.replace("{noun}", f"(?P<noun>{noun})"), bare)
        if match is None:
            continue
        said = match.groupdict()
        topic = said.get("topic") or said.get("named") or ""
        there_are = wants == "count" and re.search(rf"有{_ZH_HOW_MANY}", bare)
        is_anchored = topic or CONDITION in bare or said.get("place") or wants == "list!" or there_are
        if is_anchored and not re.search(r"需要|应该|必须|怎么|如何|什么", topic):
            return wants.rstrip("!"), topic
    return None


_C = rf"(?:\s*{CONDITION}\s*)?"
_TOPIC = r"(?P<topic>[^，。？！?!,；]{1,40}?)"
_ZH_SUBJECT = rf"(?:{_ZH_ABOUT}{_TOPIC}{_ZH_OF}|(?P<named>[^，。？！?!,；]{{1,40}}?)(?:相关|有关|方面)的)?"
_END = r"(?:了)?(?:呢|啊|吗)?[\s。？?！!]*$"
_ZH_SHAPES = (
    ("count", rf"^{_ZH_HEAD}(?P<place>{_ZH_PLACE}){_C}{_ZH_ALL}有{_ZH_HOW_MANY}{_C}(?:的)?{_ZH_SUBJECT}{_C}{{noun}}{_END}"),
    ("count", rf"^{_ZH_HEAD}(?P<place>{_ZH_PLACE}){_C}{_ZH_SUBJECT}{_C}{{noun}}{_ZH_ALL}有{_ZH_HOW_MANY}{_C}{_END}"),
    ("count", rf"^{_ZH_HEAD}(?P<place>{_ZH_PLACE}){_C}{_ZH_HOW_MANY}{_C}{{noun}}{_C}{_END}"),
    ("list", rf"^{_ZH_HEAD}(?P<place>{_ZH_PLACE}){_C}{_ZH_ALL}有?哪些{_C}(?:的)?{_ZH_SUBJECT}{{noun}}{_END}"),
    ("list", rf"^{_ZH_HEAD}(?P<place>{_ZH_PLACE}){_C}{_ZH_SUBJECT}{_C}{{noun}}{_ZH_ALL}有哪些{_END}"),
    ("list", rf"^{_ZH_HEAD}(?:有)?哪些{{noun}}(?:里|中)?(?:有|是)?(?:{_ZH_ABOUT}(?:了|到|过)?{_TOPIC})?(?:的)?{_C}(?:的)?{_END}"),
    ("list!", rf"^{_ZH_HEAD}(?:列出|列一下|列举|罗列|给我列出){_C}(?:出|一下)?(?:所有|全部)*(?:的)?{_C}(?:{_ZH_ABOUT}?{_TOPIC}{_ZH_OF})?{_C}(?:所有|全部)*(?:的)?{{noun}}(?:清单|列表|名称|标题)?{_C}{_END}"),
)  # fmt: skip
_NEWEST_ZH = (
    re.compile(rf"^{_ZH_HEAD}(?P<topic>[^，。？！?!,]{{2,40}}?)的?(?:最新|现行|当前|目前)(?:的)?版本?(?:是|为|有)?(?:哪一?个|什么|哪一?版|多少|第?几版?)?(?:版本)?{_END}"),
    re.compile(rf"^{_ZH_HEAD}(?P<topic>[^，。？！?!,]{{2,40}}?)(?:最近一次|最后一次|最近|最后|上次|上一次)(?:是)?(?:在)?(?:什么时候|何时|哪天|哪一天)(?:被)?(?:更新|修改|修订|变更)的?{_END}"),
    re.compile(rf"^{_ZH_HEAD}(?P<topic>[^，。？！?!,]{{2,40}}?)(?:最近一次|最后一次|上次|上一次)(?:更新|修改|修订|变更)(?:是)?(?:在)?(?:什么时候|何时|哪天|哪一天){_END}"),
)  # fmt: skip
