"""Questions that lean on the ones before, made to stand alone: by rules, in Chinese and English. Pure.

A question leans on others when a pronoun in it has nothing to mean, when it begins as a continuation ("what about …",
「那…呢」), when it counts into the last answer ("the second one"), or when it has no words of its own. All others are left
untouched. What is carried over is what the earlier questions were about, and, where they say too little, the titles that
the answers cited.
"""

import re
from collections.abc import Sequence

from ingestion.indexing.analyzer import distinct_query_terms, locate
from ingestion.indexing.stopwords import STOP_WORDS
from ingestion.indexing.words import CJK
from retrieval.evidence import is_chinese
from retrieval.query.values import Rewriting, Round

ROUNDS = 3
MAX_CHARACTERS = 2_000
BUDGET = 64  # words, or Chinese characters, that a rewriting may add
FEW_TERMS = 2
SHORT_TERMS = 4  # words with content of a question that may be a continuation

# Words that ask or point, but name nothing: a question of these alone has nothing of its own.
_EMPTY = frozenset(
    word
    for line in (
        "long many much one ones two first second third fourth fifth last next former latter other others else more",
        "detail details example examples explain elaborate mean means tell say said give show old often far soon late",
        "big large high same different thing things exactly really ok okay thanks thank yes sure apply applies happen",
        "happens know need possible allowed take takes continue go please may get gets",
        "具体 详细 详情 细节 举例 例子 例如 说明 解释 说 讲 讲讲 说说 介绍 继续 接着 然后 还有 另外 其他 其它 别的 剩下",
        "第一 第二 第三 第四 第五 第一个 第二个 第三个 第四个 第五个 前者 后者 最后 多久 多长 多长时间 几天 需要 意思 不同",
        "行 好 好的 谢谢 对 上面 下面 刚才 点 些 种 条 项 没 不 吧 用 做 办 知道 告诉 到底 究竟 里 中 内 上 下 时 后 前 间",
    )
    for word in line.split()
)
# Words that may name something in one question, and say nothing of their own in another.
_FAINT = frozenset(
    {"work", "works", "cost", "costs", "case", "cases", "kind", "kinds", "reason", "reasons", "list", "part"}
)
_FAINT |= {"时间", "原因", "区别", "情况"}
_AUX = "(?:is|are|was|were|does|do|did|can|could|will|would|should|must|may|has|have)"
_ASK = "(?:who|whom|what|which|how|when|where|why)"
_PREPOSITION = "(?:about|of|for|with|to|by|on|in|from|after|before)"
_THAT = "(?:that|this|those|these)"

# Continuations: "what about interns?", "and in France?", "for interns?".
_OPENS_EN = re.compile(
    r"(?i)^\W*(?:(?:and|but|so|ok(?:ay)?|then)[,\s]+)?(?:what|how)\s+about\b|^\W*(?:and|but|also|or)\b(?!\s*/)"
    rf"|^\W*(?:in|for|with|at|on|from|under|during)\s+(?!.*\b(?:{_ASK}|{_AUX})\b)[^,.?!]{{1,40}}\?\s*$"
)
_OPENER = re.compile(
    r"(?i)^\W*(?:(?:and|but|so|also|or|then|ok(?:ay)?)\b[,\s]*)*(?:(?:what|how)\s+about\s+)?(?:(?:for|with|in)\s+the\s+case\s+of\s+)?"
)
_ASKS_EN = re.compile(rf"(?i)(?:{_ASK}|{_AUX})\b")
_OPENS_ZH = re.compile(
    r"^(?:那么?(?![些个种样里边时天年次位只家曲英不])|还有|另外|然后|以及|至于|换成|如果是|要是|假如是)"
)
_OPENER_ZH = re.compile(r"^(?:那么?|还有|另外|然后|以及|至于|换成|如果是|要是|假如是|对于?|，|,|\s)+")
_ENDS_ZH = re.compile(r"(?:又)?(?:呢|怎么样|如何|怎么办|的话)?(?:呢)?[？?！!。.\s]*$")
_CONTINUES_ZH = re.compile(r"^[^，。？！?!]{0,14}呢[？?！!。\s]*$")
_ASKS_ZH = re.compile(r"什么|怎么|如何|多少|几|谁|哪|为何|是否|吗|何时")

_PRONOUN = re.compile(r"(?i)\b(?:it|its|they|them|their|theirs|he|she|him|his|hers?)\b")
# "How long does it take to …?", "Is it true that …?", "What time is it?": nothing is meant by it.
_IDLE_IT = re.compile(
    r"(?i)\b(?:it|its)\b(?:\W+\w+){0,6}?\W+(?:to|that|if|when|who|how|since|for|like)\b"
    r"|\b(?:time|day|date|year)\s+(?:is|was)\s+it\b|\bit\s+(?:is|was|takes?|rain|snow)\b"
)
_POINTS = re.compile(
    rf"(?i)\b(?:{_AUX}|{_PREPOSITION}|approves?|pays?|explain|do)\s+{_THAT}\s*(?:[?.!,]|$)"
    rf"|^\W*(?:{_AUX}|{_ASK})\s+(?:{_AUX}\s+)?{_THAT}\s+(?:apply|work|mean|true|allowed|possible|correct|cost|take|include|happen|also|still|only|change|valid)"
    rf"|^\W*how\s+many\s+{_AUX}\s+(?!there)|^\W*(?:and\s+)?which\s+(?:ones?|of\s+(?:these|those|them))\b"
)
_POINTS_ZH = re.compile(
    r"(?<!其)它们?|(?<![其吉])他(?![人乡国])们?|她们?"
    r"|(?:这|那|该|此|上述|前述|以上|上面[的这]?|刚才[的那]?)[个些种类项条份](?!月|年|星期|时|人|国家|词)"
    r"|^该(?=[\u4e00-\u9fff]{2,4}(?:是|的|在|有|何|什么|由|怎))"
    r"|[这那](?=[是能可会要需怎算样])|上述|刚才|其(?=[中余]?[的默有是])"
)
_ORDINAL = re.compile(
    rf"(?i){_AUX}\s+the\s+(?P<pair_en>former|latter)(?=\s+\w+\s*[?.!]*$)"
    r"|\bthe\s+(?P<en>first|second|third|fourth|fifth|last|former|latter|other)"
    r"(?:\s+(?:one|option|item|point|part|case|step|of\s+(?:these|those|them)))?\s*(?=[?.!,]|$|\b(?:in|mean|work|cost|and)\b)"
    r"|第(?P<zh>[一二三四五])[个种条项点](?=呢|吗|是|的|需|怎|有|要|能|可|会|又|为|多|什|[？?，,。！!]|$)"
    r"|(?P<pair>前者|后者)"
)
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_PLACES |= {"former": 0, "latter": 1, "other": 1}
_PLACES |= {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "前者": 0, "后者": 1}
_VERB_BEFORE = re.compile(r"\b([a-z]+)\s+(?:(?:for|to|of|with|about|on|in|by|from)\s+)?$")
_ENTITY = re.compile(
    r"[\"“「『《](?P<quoted>[^\"”」』》]{2,60})[\"”」』》]"
    r"|(?<![A-Za-z0-9])(?P<code>(?=[A-Za-z0-9_./-]*(?:\d|_|[a-z][A-Z]))[A-Za-z][A-Za-z0-9_./-]*[A-Za-z0-9])"
)


_ONE_ZH = r"([^，。？！的、\s]{2,15}?|[A-Za-z0-9_. -]{2,30}?)"
_SIDE_BY_SIDE = tuple(
    re.compile(shape)
    for shape in (
        r"(?i)\b(?:differences?\s+between|compare|comparing)\s+(.{1,80}?)\s+(?:and|with|to|or|vs\.?|versus)\s+(.{1,80}?)\s*(?:[?.!,;]|$)",
        r"(?i)\b(?:better|prefer|choose),?\s+(.{1,60}?)\s+or\s+(.{1,60}?)\s*(?:[?.!,;]|$)",
        r"(?i)^\W*(.{1,40}?)\s+(?:vs\.?|versus)\s+(.{1,40}?)\W*$",
        rf"(?:^|[，。])(?:请问|比较|对比)?(?:一下)?{_ONE_ZH}\s*(?:和|与|跟)\s*{_ONE_ZH}(?:之间)?(?:的|有什么|有何|有哪些|有啥)*(?:区别|差别|差异|异同)",
        rf"(?:比较|对比)(?:一下)?{_ONE_ZH}\s*(?:和|与|跟)\s*{_ONE_ZH}(?:的|[，。？！]|$)",
        rf"^{_ONE_ZH}\s*(?:和|与|跟|还是)\s*{_ONE_ZH}哪一?个",
    )
)
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+")


def stand_alone(text: str, rounds: Sequence[Round], *, budget: int = BUDGET) -> Rewriting | None:
    """The question with what it leans on, or None for one that stands alone (or has nothing to lean on).

    rounds: the earlier questions, oldest first, themselves alone; the last ROUNDS count.
    """
    recent = [earlier for earlier in rounds[-ROUNDS:] if content_words(earlier.question) or earlier.sources]
    if not recent or not leans(text):
        return None
    for rewrite in (_counted, _continued, _pointed):
        rewriting = rewrite(text, recent, budget)
        if rewriting:
            carried = (uid for earlier in recent for uid in earlier.carried)
            sources = tuple(dict.fromkeys((*rewriting.sources, *carried)))
            return Rewriting(text=rewriting.text[:MAX_CHARACTERS], sources=sources)
    return None


def leans(text: str) -> bool:
    """Whether a question cannot be understood by itself."""
    if not has_own_words(text) or _ORDINAL.search(text):
        return True
    if is_chinese(text):
        return _opens_zh(text) or _points_zh(text)
    return _opens_en(text) or _points_en(text)


def has_own_words(text: str) -> bool:
    """Whether any word says what the question is about."""
    return any(word.lower() not in _FAINT for word in content_words(text))


def _opens_en(text: str) -> bool:
    """ "And for interns?", but not "And who approves sick leave?", which says all it needs."""
    is_whole = _ASKS_EN.match(_OPENER.sub("", text)) is not None
    return bool(_OPENS_EN.search(text)) and not is_whole and len(content_words(text)) <= SHORT_TERMS


def _opens_zh(text: str) -> bool:
    is_short = len(content_words(text)) <= SHORT_TERMS
    if _CONTINUES_ZH.search(text) and not _ASKS_ZH.search(text):
        return is_short
    return is_short and bool(_OPENS_ZH.search(text)) and len(text) <= 16


def _points_en(text: str) -> bool:
    if _POINTS.search(text) and not _named_before(text, _POINTS.search(text)):
        return True
    pronoun = _PRONOUN.search(_IDLE_IT.sub(lambda idle: "_" * len(idle[0]), text))
    return pronoun is not None and not _named_before(text, pronoun)


def _points_zh(text: str) -> bool:
    pronoun = _POINTS_ZH.search(text)
    return pronoun is not None and not _named_before(text, pronoun)


def _named_before(text: str, pronoun: re.Match[str] | None) -> bool:
    """Whether something before the pronoun may be what it means. A verb right before it is not: "who approves it?"."""
    if pronoun is None:
        return True
    before = text[: pronoun.start()]
    words, verb = content_words(before), _VERB_BEFORE.search(before)
    return bool(words) and not (verb and words == [verb[1]])


# --- rewriting ------------------------------------------------------------------------------------------------


def _counted(text: str, rounds: Sequence[Round], budget: int) -> Rewriting | None:
    """ "The second one" of the last answer's list, or of what the last question put side by side."""
    match = _ORDINAL.search(text)
    if match is None:
        return None
    place, last = _PLACES[next(filter(None, match.groups())).lower()], rounds[-1]
    for options in (last.items, side_by_side(last.question)):
        if len(options) < 2 or place >= len(options):
            continue
        chosen = _within(options[place], budget)
        before, after = (
            text[: match.start("pair_en") if match["pair_en"] else match.start()],
            text[match.end() :],
        )
        sources = tuple(uid for uid, _title in last.sources) if options is last.items else ()
        if has_own_words(f"{before} {after}"):
            return Rewriting(text=_tidy(f"{before}{chosen}{after}"), sources=sources)
        return Rewriting(text=_with_carried(last.question, chosen), sources=sources)
    return None


def _continued(text: str, rounds: Sequence[Round], budget: int) -> Rewriting | None:
    """ "What about X?": the last question, asked of X."""
    is_zh = is_chinese(text)
    if not (_opens_zh(text) if is_zh else _opens_en(text)):
        return None
    subject = _ENDS_ZH.sub("", _OPENER_ZH.sub("", text)) if is_zh else _OPENER.sub("", text)
    subject = subject.strip(" ?？.。!！,，")
    before = next((earlier.question for earlier in reversed(rounds) if content_words(earlier.question)), "")
    if is_zh and _ASKS_ZH.search(subject):
        return None
    if not before or not has_own_words(subject) or _PRONOUN.search(subject) or _POINTS_ZH.search(subject):
        return None
    return Rewriting(text=_swapped(before, subject) or _with_carried(_within(before, budget), subject))


def _swapped(before: str, subject: str) -> str:
    """The earlier question with `subject` in place of its like: a code for a code, sick days for vacation days."""
    codes = [match for match in _ENTITY.finditer(before) if match["code"]]
    if len(codes) == 1 and (own := _ENTITY.fullmatch(subject)) and own["code"]:
        return before[: codes[0].start()] + subject + before[codes[0].end() :]
    if is_chinese(subject):
        return _swapped_zh(before, subject)
    *_rest, head = subject.split()
    likes = re.findall(rf"(?i)(?<![\w-])[\w-]+\s+{re.escape(head)}\b", before)
    if len(likes) == 1 and len(subject.split()) == 2 and not _is_function(likes[0].split()[0]):
        return before.replace(likes[0], subject)
    return ""


def _swapped_zh(before: str, subject: str) -> str:
    """A word of the same length and ending: 病假 for 年假."""
    if before[: len(subject)].endswith(subject[-1]) and len(subject) > 1:
        return subject + before[len(subject) :]
    likes = [word for word in content_words(before) if len(word) == len(subject) and word[-1] == subject[-1]]
    return before.replace(likes[0], subject) if len(likes) == 1 and before.count(likes[0]) == 1 else ""


def _is_function(word: str) -> bool:
    return word.lower() in STOP_WORDS or word.lower() in _EMPTY


def _pointed(text: str, rounds: Sequence[Round], budget: int) -> Rewriting | None:
    """The one thing that was named in place of the pronoun, else all that was spoken of, behind the question."""
    pronoun = _POINTS_ZH.search(text) if is_chinese(text) else _PRONOUN.search(text)
    entity = _entity(rounds[-1].question)
    if entity and pronoun and has_own_words(text):
        owner = "’s" if pronoun[0].lower() in ("its", "their", "theirs", "his") else ""
        return Rewriting(text=_tidy(f"{text[: pronoun.start()]}{entity}{owner}{text[pronoun.end() :]}"))
    words, sources = _topic(rounds)
    carried = _within(" ".join(word for word in words if word.casefold() not in text.casefold()), budget)
    return Rewriting(text=_with_carried(text, carried), sources=sources) if carried else None


def _entity(question: str) -> str:
    """The code or the quoted title that a question is about, if there is exactly one."""
    found = {match["quoted"] or match["code"] for match in _ENTITY.finditer(question)}
    return found.pop() if len(found) == 1 else ""


def _topic(rounds: Sequence[Round]) -> tuple[list[str], tuple[str, ...]]:
    """What the last rounds were about, and uids of documents whose titles were needed to say so."""
    words: list[str] = []
    for earlier in reversed(rounds):
        words += [word for word in content_words(earlier.question) if word not in words]
        if len(words) >= FEW_TERMS:
            return words, ()
    cited = next((earlier.sources for earlier in reversed(rounds) if earlier.sources), ())
    return words + [title for _pk, title in cited[:1]], tuple(uid for uid, _title in cited[:1])


def content_words(text: str) -> list[str]:
    """The words of a text that say what it is about, as they stand there, each once."""
    terms = [term for term in distinct_query_terms(text) if term not in STOP_WORDS]
    words = (text[place.start : place.end] for place in locate(text, terms))
    return list(dict.fromkeys(word for word in words if word.lower() not in _EMPTY))


def side_by_side(question: str) -> tuple[str, ...]:
    """What a question sets side by side: A and B of "the difference between A and B", 「A和B有什么区别」."""
    for pattern in _SIDE_BY_SIDE:
        if match := pattern.search(question):
            return tuple(part.strip(' ,，、"“”') for part in match.groups())
    return ()


def _within(text: str, budget: int) -> str:
    """The beginning of a text, up to so many words or Chinese characters."""
    pieces = list(_WORD.finditer(text))
    return text if len(pieces) <= budget else text[: pieces[budget].start()].rstrip()


def _with_carried(question: str, carried: str) -> str:
    return f"{question}（{carried}）" if is_chinese(question) else f"{question} ({carried})"


def _tidy(text: str) -> str:
    return " ".join(text.split())
