"""The words of questions that mean an operation, in Chinese and English, as rules know them.

What is not here, not in the table and not in its title stays unexplained, and a question with such a word is not answered.
"""

from collections.abc import Iterator
from enum import StrEnum
from functools import cache

from retrieval.tables.words import Keys, words_of


class Cue(StrEnum):
    """What a word or phrase asks for."""

    HOW_MANY = "how many"
    HOW_MUCH = "how much"
    WHICH = "which"
    WHO = "who"
    WHEN = "when"
    LIST = "list"
    MOST = "most"
    LEAST = "least"
    MORE = "more"
    FEWER = "fewer"
    LATEST = "latest"
    EARLIEST = "earliest"
    FIRST = "first"
    LAST = "last"
    SUM = "sum"
    AVERAGE = "average"
    DISTINCT = "distinct"
    GREATER = "greater"
    AT_LEAST = "at least"
    LESS = "less"
    AT_MOST = "at most"
    OR_MORE = "or more"
    OR_LESS = "or less"
    BETWEEN = "between"
    BEFORE = "before"
    AFTER = "after"
    SINCE = "since"
    EACH = "each"
    BY = "by"
    OR = "or"
    TOP = "top"
    NUMBER_OF = "number of"
    TIMES = "how many times"
    ROWS = "rows"
    PEOPLE = "people"
    DOES = "does"
    STOP = "stop"


_PHRASES: dict[Cue, str] = {
    Cue.HOW_MANY: "how many; number of; the number of; count of; 多少个; 多少名; 多少位; 多少家; 多少条; 多少项; 多少种; 多少类; 多少件; 多少台; "
    "多少所; 多少座; 多少场; 多少笔; 多少款; 多少支; 多少部; 多少只; 多少份; 几个; 几名; 几位; 几家; 几条; 几项; 几种; 几类; 几件; 几台; 几所; 几座; 几场; "
    "几笔; 几款; 几支; 几部; 几只; 几份",
    Cue.HOW_MUCH: "how much; 多少; 是多少; 有多少; 为多少",
    Cue.WHICH: "which; what; name the; 哪个; 哪一个; 哪家; 哪一家; 哪位; 哪种; 哪款; 哪项; 哪座; 哪所; 哪支; 哪类; 哪条; 哪; 什么; 是什么",
    Cue.WHO: "who; 谁; 是谁; 哪些人; 哪几个人; 有哪些人",
    Cue.WHEN: "when; what date; on what date; which date; on which date; 什么时候; 何时; 哪天; 哪一天",
    Cue.LIST: "list; list all; what are; which are; 哪些; 有哪些; 列出; 哪几个; 哪几家; 哪几位",
    Cue.MOST: "most; the most; highest; largest; greatest; biggest; maximum; max; 最高; 最大; 最多; 最高值; 最大值",
    Cue.LEAST: "least; the least; lowest; smallest; fewest; minimum; 最低; 最小; 最少; 最低值; 最小值",
    Cue.MORE: "more; higher; larger; greater; bigger; 更高; 更大; 更多; 比较高; 比较大; 比较多",
    Cue.FEWER: "less; fewer; lower; smaller; 更低; 更小; 更少; 比较低; 比较小; 比较少",
    Cue.LATEST: "latest; most recent; newest; 最新; 最近; 最晚",
    Cue.EARLIEST: "earliest; oldest; 最早",
    Cue.FIRST: "first; 第一个; 首个; 首次; 第一次; 第一位",
    Cue.LAST: "last; final; 最后一个; 最后; 最后一次; 最后一位",
    Cue.SUM: "total; sum; sum of; combined; altogether; in total; in all; total amount of; 总和; 合计; 总计; 之和; 总共; 一共; 加起来; 共计; 总",
    Cue.AVERAGE: "average; mean; on average; 平均; 平均值; 均值; 平均数; 平均为",
    Cue.DISTINCT: "different; distinct; unique; 不同的; 不同",
    Cue.GREATER: "more than; greater than; over; above; exceeding; exceeds; exceeded; exceed; higher than; larger than; 大于; 超过; 高于; 多于; 超出; >",
    Cue.AT_LEAST: "at least; no less than; no fewer than; not less than; 至少; 不少于; 不低于; 不小于; 大于等于; 大于或等于; ≥; >=",
    Cue.LESS: "less than; fewer than; under; below; lower than; smaller than; 小于; 低于; 少于; 不足; 不到; <",
    Cue.AT_MOST: "at most; no more than; not more than; up to; 至多; 不超过; 不高于; 不多于; 不大于; 小于等于; 小于或等于; ≤; <=",
    Cue.OR_MORE: "or more; or higher; or above; and above; 以上; 及以上; 或以上",
    Cue.OR_LESS: "or less; or fewer; or lower; or below; and below; 以下; 及以下; 以内; 或以下",
    Cue.BETWEEN: "between; 介于; 之间; 到; 至",
    Cue.BEFORE: "before; prior to; 之前; 以前; 早于",
    Cue.AFTER: "after; 之后; 以后; 晚于",
    Cue.SINCE: "since; 以来; 起",
    Cue.EACH: "each; per; for each; in each; every; 每个; 每一个; 每家; 每位; 每种; 每类; 每; 各; 各个; 各家; 分别; 按",
    Cue.BY: "by; grouped by; by each",
    Cue.OR: "or; 还是",
    Cue.TOP: "top; 前; 排名前",
    Cue.NUMBER_OF: "的数量; 的个数; 的数目; 数量; 个数",
    Cue.TIMES: "how many times; the number of times; number of times; 多少次; 几次",
    Cue.ROWS: "rows; records; entries; 行; 条记录; 记录; 条数据; 多少行; 几行",
    Cue.PEOPLE: "people; persons; 多少人; 几个人; 有多少人; 几人",
    Cue.DOES: "win; won; score; scored; earn; earned; receive; received; get; got; make; made; take; took; achieve; achieved; sell; sold; "
    "cost; costs; spend; spent; gain; gained; collect; collected; produce; produced; hold; held; reach; reached; play; played",
    Cue.STOP: "the; a; an; of; in; on; at; for; to; with; from; is; are; was; were; be; been; do; does; did; has; have; had; there; their; its; "
    "his; her; it; he; she; they; that; this; these; those; as; and; among; within; during; all; s; out; whose value; amount of; the name of; name of; the names of; names of; value; "
    "listed; shown; recorded; included; appear; appears; appeared; exist; exists; table; according to; please; tell me; show me; give me; i; me; "
    "的; 是; 了; 在; 有; 为; 和; 与; 中; 里; 内; 请问; 一下; 请; 吗; 呢; 啊; 这; 这个; 那; 其; 都; 把; 由; 我; 想; 知道; 我想知道; 查; 查询; 告诉; "
    "告诉我; 看看; 显示; 表; 表格; 表中; 数据; 当中; 所有; 全部; 一共有; 总共有; 共有; 共; 及; 以及; 个; 家; 名; 位; 达到; 达; 满足; 年度; 这张表; 里面; 数值; 属于; 来自; 位于",
}  # fmt: skip

NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip


@cache
def cues() -> dict[Keys, Cue]:
    """Every phrase by its words as written: "different" and "difference" have one stem and mean two things."""
    return {
        tuple(word.raw for word in words_of(phrase)): cue
        for cue, text in _PHRASES.items()
        for written in text.split(";")
        for phrase in _variants(written.strip())
    }


def _variants(phrase: str) -> Iterator[str]:
    """「多少个」 is also 「有多少个」, which must not be read as 「有多少」 and a word behind it."""
    yield phrase
    if phrase.startswith(("多少", "几", "哪几")):
        yield f"有{phrase}"


@cache
def longest_cue() -> int:
    return max(map(len, cues()))
