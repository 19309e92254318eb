"""Whether two questions ask for the same thing in other words. Pure; how near their vectors are is looked at elsewhere.

Vectors alone do not tell: of questions about one subject that ask for different things, several in a hundred are nearer to
each other than most paraphrases. So a question counts as asked before only if it has the same kind of question word, the same
numbers and codes, the same restrictions ("not", "except", "before") and no word of content that the other has not.
"""

import re
from dataclasses import dataclass

from ingestion.faq.folding import fold
from ingestion.indexing.analyzer import distinct_query_terms

# In order: what an earlier kind takes is not looked at again.
_KINDS = (
    ("choice", r"能不能|可不可以|是不是|有没有|会不会|要不要|需不需要|是否|可否|能否|有无"),
    ("why", r"为什么|为何|为啥|什么原因|怎么会|怎么回事|\bwhy\b|\bhow come\b|\bwhat (?:is the )?reasons?\b"),
    ("when", r"什么时候|什么时间|(?<!如)何时|啥时候|哪一?[年天月日]|几[点号月时]|\bwhen\b|\b(?:what|which) (?:time|date|day|month|year)\b"),
    ("where", r"什么地方|哪里|哪儿|在哪|去哪|(?<!如)何处|\bwhere\b"),
    ("who", r"谁|哪位|什么人|哪个人|\bwho(?:m|se)?\b"),
    ("long", r"多久|多长时间|多长|\bhow long\b"),
    ("many", r"多少|几(?!乎|率|何)|多[大高远重]|\bhow (?:many|much|often|far|old|big|large|high|deep)\b"),
    ("how", r"怎么样|怎么|如何|怎样|咋|\bhow\b"),
    ("what", r"什么|哪些|哪个|哪种|哪|啥|何(?=[种为])|\bwhat\b|\bwhich\b"),
    ("choice", r"吗|^(?:can|could|do|does|did|is|are|was|were|will|would|should|shall|may|must|has|have|am)\b"),
)  # fmt: skip
_QUESTION_WORDS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_LIMITS = re.compile(
    r"不|没|无|未|非|别|勿|除|以外|之外|以内|之内|以前|之前|以后|之后|以上|以下|曾|仅|只|才|超过|少于|多于|"
    r"\b(?:not|no|never|none|cannot|without|except|besides|unless|only|before|after|until|since|under|over|below|above|"
    r"more|less|than|other|former|previous|during|while|if|too|own|off|out)\b|n't\b"
)
_NOT_A_WORD = re.compile(r"\W+")
_WITH_DIGIT = re.compile(r"[a-z0-9]*\d[a-z0-9]*")
# Words that change nothing about what a question asks for. Chinese ones are taken out as they stand in the line, because a
# word is cut one way or another by its neighbours; what is left is compared by its characters.
_LIGHT_CHINESE = re.compile(
    "需要|应该|应当|可以|能够|想要|我们|咱们|你们|大家|自己|本人|公司|一下|具体|一般|大概|到底|究竟|现在|目前|有关|关于|相关|"
    "的话|知道|告诉|办理|进行|方式|方法|[的了着是有该我你您他她由请想要能会得去来天个次里时候时间么呢吗吧啊呀嘛]"
)
_CHINESE = re.compile("[\u3400-\u9fff]")
_LIGHT_ENGLISH = frozenset(
    [
        "do",
        "doe",
        "did",
        "make",
        "get",
        "need",
        "want",
        "should",
        "would",
        "could",
        "can",
        "may",
        "must",
        "will",
        "shall",
        "have",
        "has",
        "had",
        "be",
        "is",
        "are",
        "use",
        "i",
        "my",
        "me",
        "we",
        "our",
        "us",
        "you",
        "your",
        "it",
        "one",
        "someone",
        "somebody",
        "anyone",
        "anybody",
        "people",
        "person",
        "company",
        "please",
        "tell",
        "know",
        "exactly",
        "actually",
        "currently",
        "generally",
        "usually",
        "way",
        "best",
        "possible",
        "possibly",
        "able",
        "allow",
        "there",
        "question",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What has to agree: kinds of question words, restrictions, what holds digits, and the words of content.

    words: in their order where turning them round asks something else ("may A pay B?"), else sorted.
    """

    kinds: frozenset[str]
    limits: tuple[str, ...]
    numbers: tuple[str, ...]
    words: tuple[str, ...]
    characters: str


def shape_of(question: str) -> Shape:
    text = fold(question)
    kinds, rest, limited = set(), text, text
    for number, (kind, pattern) in enumerate(_QUESTION_WORDS):
        shorter = pattern.sub(" ", rest)
        if shorter != rest:
            kinds.add(kind)
            rest = shorter
        if number == 0:  # the "not" in "whether or not" restricts nothing
            limited = rest
    words = [
        word
        for word in distinct_query_terms(_CHINESE.sub(" ", rest))
        if word not in _LIGHT_ENGLISH and _NOT_A_WORD.sub("", word)
    ]
    return Shape(
        kinds=frozenset(kinds),
        limits=tuple(sorted(_LIMITS.findall(limited))),
        numbers=tuple(sorted(_WITH_DIGIT.findall(text))),
        words=tuple(words if "choice" in kinds else sorted(words)),
        characters="".join(sorted(_CHINESE.findall(_LIGHT_CHINESE.sub("", rest)))),
    )


def asks_the_same(first: str, second: str) -> bool:
    """Whether nothing that both say tells them apart. Never true across languages: their words cannot be compared."""
    one, other = shape_of(first), shape_of(second)
    return one == other and bool(one.words or one.characters)
