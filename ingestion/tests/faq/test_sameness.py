import pytest

from ingestion.faq.sameness import asks_the_same

SAME = [
    ("如何重置VPN密码？", "VPN密码怎么重置？"),
    ("公司的年假有多少天？", "年假有几天？"),
    ("出差可以坐高铁一等座吗？", "出差能不能坐高铁一等座？"),
    ("什么时候发工资？", "工资什么时候发？"),
    ("打印机卡纸了怎么处理？", "打印机卡纸如何处理"),
    ("試用期多久？", "试用期是多长时间"),
    ("How do I reset my VPN password?", "how to reset the VPN password"),
    ("Which symptoms does it cause?", "What are the symptoms that it causes?"),
    ("Can I work from abroad?", "May I work from abroad?"),
]
DIFFERENT = [
    ("年假有几天？", "病假有几天？"),
    ("年假可以顺延吗？", "年假不可以顺延吗？"),
    ("怎么登录系统？", "怎么不能登录系统？"),
    ("XK-200A 怎么校准？", "XK-200B 怎么校准？"),
    ("为什么要重置密码？", "怎么重置密码？"),
    ("满3年的员工年假几天？", "满10年的员工年假几天？"),
    ("合同到期前怎么办？", "合同到期后怎么办？"),
    ("药房技术员的职责是什么？", "药房技术员以前的职责是什么？"),
    ("Can I work from abroad?", "Can't I work from abroad?"),
    ("What is the refund period?", "What is the refund period for opened goods?"),
    ("Does v2.3.1 support SSO?", "Does v2.3 support SSO?"),
    ("Why did it end?", "In what year did it end?"),
    ("Can managers approve their reports?", "Can reports approve their managers?"),
    ("如何申请居家办公？", "How do I apply for remote work?"),
    ("怎么办", "怎么做"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_words_of_content_ask_the_same(first, second):
    assert asks_the_same(first, second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_another_word_number_restriction_or_kind_of_question_does_not(first, second):
    assert not asks_the_same(first, second)
