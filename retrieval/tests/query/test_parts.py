"""Questions of several parts are cut, and only those."""

import pytest

from retrieval.query.parts import split_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "What is the yearly training budget, and through which platform do I book flights?",
            ("What is the yearly training budget", "through which platform do I book flights?"),
        ),
        (
            "外键功能在哪个版本成为正式功能？该版本是什么时候发布的？",
            ("外键功能在哪个版本成为正式功能？", "该版本是什么时候发布的？（外键 功能 成为 正式）"),
        ),
        (
            "数据能进日志备份吗？另外 Lightning 的版本要和什么一致？",
            ("数据能进日志备份吗？", "Lightning 的版本要和什么一致？"),
        ),
        (
            "Which of credit hours and award leave expires at TTS, and after how long?",
            ("credit hours expires TTS", "award leave expires TTS"),
        ),
        ("年假和病假有什么区别？", ("年假", "病假")),
        ("Compare the travel policy and the expense policy.", ("the travel policy", "the expense policy")),
    ],
)
def test_every_part_stands_alone(text, parts):
    assert split_parts(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "How do I apply for leave and who approves it?",
        "What is R&D and how is it funded?",
        "I joined eight months ago and am expecting a baby. Am I able to take leave?",
        "Although it is cold, how much of it is left undeveloped?",
        "除了阿纳海姆鸭子队，还有哪支球队位于南加州？",
        "硕塞跟随谁进攻陕州？",
        "第一位获得诺贝尔和平奖的美国黑人是谁？",
        "How much did people pay for research and development?",
    ],
)
def test_a_single_question_stays_whole(text):
    assert split_parts(text) == ()
