"""Words that say nothing about a text's subject, in the form the analyzer produces (lower case, simplified)."""

_ENGLISH = """
a about above after again against all am an and any are aren't as at be because been before being below between both
but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how how's i
i'd i'll i'm i've if in into is isn't it it's its itself let's me more most mustn't my myself no nor not of off on
once only or other ought our ours ourselves out over own please same shan't she she'd she'll she's should shouldn't
so some such than that that's the their theirs them themselves then there there's these they they'd they'll they're
they've this those through to too under until up us very was wasn't we we'd we'll we're we've were weren't what
what's when when's where where's which while who who's whom why why's will with won't would wouldn't you you'd you'll
you're you've your yours yourself yourselves d ll m re s t ve
"""

_CHINESE = """
的 了 和 是 在 就 都 而 及 与 着 或 之 于 也 把 被 让 给 向 从 到 对 将 以 为 其 这 那 我 你 他 她 它 们 我们 你们 他们
她们 它们 咱们 您 自己 这个 那个 这些 那些 这里 那里 这样 那样 什么 怎么 怎样 怎么样 如何 为何 为什么 哪 哪个 哪些 哪里
哪儿 谁 吗 呢 吧 啊 呀 嘛 么 哦 请 请问 想 问 一下 有 没有 还 还是 又 再 很 太 更 最 才 只 因为 所以 但 但是 如果 那么
并 并且 以及 或者 而且 然后 其中 关于 由 地 得 所 能 能否 可以 是否 是不是 有没有 会 要 多少 几 个 第 啥 咋
"""

ENGLISH = frozenset(_ENGLISH.split())
CHINESE = frozenset(_CHINESE.split())
STOP_WORDS = ENGLISH | CHINESE

# Names whose stem would be that of an ordinary word (haste, man, hard, field …) are left as they are. Most names need no
# such care: a stem that nothing else has finds them as well, and other words can be made terms of the dictionary.
UNSTEMMED = frozenset(
    [
        "barnes",
        "browning",
        "cummings",
        "dickens",
        "dunning",
        "fielding",
        "golding",
        "harding",
        "hastings",
        "hemmings",
        "manning",
        "rawlings",
        "redding",
        "reeves",
        "spaulding",
    ]
)

# Written in capitals these are names (information technology, the United States), not function words.
NAMES_IN_CAPITALS = frozenset({"IT", "US", "WHO", "AM", "CAN"})
