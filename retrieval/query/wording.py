"""How people speak of documents, in both languages: pieces of patterns that several rules share."""

import re

# What speaks of documents and of nothing else, and kinds of them, which may also be what a question is about.
DOC = r"(?:documents?|files?|docs)\b"
WORK = (
    r"(?:policies|contracts|reports|manuals|guidelines|handbooks|memos|procedures|presentations|spreadsheets|agreements"
    r"|regulations|guides|minutes|playbooks|specifications|specs|notices)\b"
)
ZH_DOC = r"(?:文件|文档|资料|档案)"
ZH_WORK = (
    r"(?:制度|规定|规章|合同|手册|报告|流程|规范|政策|指南|办法|协议|通知|纪要|方案|细则|教程|条例|公告|文章)"
)
# 「合同中国区」 is no place in a contract, nor is 「文件上传」.
ZH_IN = r"(?:里面|里头|里边|当中|之中|里|中(?![心国文英间介止断标午东西小学外])|内(?![容部存外网地])|上(?![海传线报级次周个月交述市班门]))"

_ALL = r"(?:(?:all|any|only|just|the|our|your|of)\s+){0,3}"
SAYS_WHERE = rf"\b(?:in|from|within|among|across|through|inside|according\s+to|only)\s+{_ALL}"
NAMES_A_KIND = rf"(?:^\W*|\b(?:please|me|you|and)\s+)(?:which|how\s+many|list|show(?:\s+me)?|find(?:\s+me)?|give\s+me|count)\s+{_ALL}"
ZH_SAYS_WHERE = (
    r"(?:在|从|查找|查询|查|搜索|搜|根据|按照|依据|依照|参照|只看|只查)(?:一下)?(?:我们|公司|所有|全部|的)*"
)
ZH_NAMES_A_KIND = r"(?:列出|列一下|列举|哪些|有多少|多少|几)(?:[份个篇条])?(?:所有|全部|的)*"
EXCEPT = re.compile(
    r"(?i)(?:\bnot|\bexcept(?:\s+for)?|\bexcluding|\bother\s+than|\bwithout|n't|除了?|不|非|排除)\s*$"
)

LANGUAGES = {
    "zh": ("Chinese", "中文", "汉语", "汉文"),
    "en": ("English", "英文", "英语"),
}
