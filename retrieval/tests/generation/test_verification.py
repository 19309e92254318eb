"""Whether a cited passage says what a sentence says."""

import pytest

from retrieval.generation.verification import Verdict, check_answer, unsupported_share

PASSAGES = {
    1: "The nightly hotel cap in Lisbon is 1,145 euros for grade P8. Form XK-200A is signed by Marta Reis.",
    2: "员工每年享有十五天带薪年假，未休年假须在次年3月31日前休完。",
    3: "Backups run at 02:30 and are kept for 90 days.",
}


def verdicts(answer, **named):
    return [one.verdict for one in check_answer(answer, PASSAGES, **named)]


@pytest.mark.parametrize(
    "answer",
    [
        "The hotel cap in Lisbon is 1145 euros [1].",
        "The hotel cap in Lisbon is 1,145 euros. [1]",
        "每年有15天带薪年假[2]。",
        "年假为十五天，次年3月31日前休完。[2]",
        "Form XK-200A is signed by Marta Reis [1].",
        "1. Backups are kept for 90 days [3].",
        "The cap is 1,145 euros and backups run at 02:30 [1][3].",
    ],
)
def test_what_the_passage_says_is_supported(answer):
    assert verdicts(answer) == [Verdict.SUPPORTED]


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("The hotel cap in Lisbon is 1,154 euros [1].", "1154"),
        ("每年有二十天带薪年假[2]。", "20"),
        ("Form XK-300B is needed in Lisbon [1].", "XK-300B"),
        ("The form for Lisbon is signed by Pedro Alves [1].", "Pedro Alves"),
        ("The hotel cap in Lisbon is 1,145 euros [3].", "1145"),
        ("The hotel cap “including breakfast” in Lisbon [1].", "including breakfast"),
    ],
)
def test_what_stands_in_no_cited_passage_is_named(answer, missing):
    (checked,) = check_answer(answer, PASSAGES)
    assert checked.verdict is Verdict.UNSUPPORTED
    assert missing in checked.missing


def test_a_statement_without_a_source_is_told_and_what_states_nothing_is_not():
    answer = "Here is what applies:\n- Backups are kept for 90 days [3].\nEverybody likes cake.\n---"
    assert verdicts(answer) == [Verdict.SILENT, Verdict.SUPPORTED, Verdict.UNCITED, Verdict.SILENT]


def test_an_unknown_number_is_no_source():
    assert verdicts("Backups are kept for 90 days [9].") == [Verdict.UNCITED]


def test_other_words_are_judged_by_meaning_where_it_can_be_compared():
    asked = []

    def near(sentence, texts):
        asked.append((sentence, tuple(texts)))
        return 0.9 if "accommodation" in sentence else 0.0

    sentences = (
        "Accommodation costs money there, accommodation does [1]. Cake is served daily on the roof [1]."
    )
    assert verdicts(sentences, nearness=near) == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
    assert len(asked) == 2
    assert verdicts(sentences) == [Verdict.UNSUPPORTED, Verdict.UNSUPPORTED]


def test_another_language_is_held_to_its_numbers_alone():
    assert verdicts("年假可以顺延到3月31日[2]。Leave of 15 days a year [2].") == [Verdict.SUPPORTED] * 2
    assert verdicts("Leave of 25 days a year [2].") == [Verdict.UNSUPPORTED]


def test_the_share_counts_only_what_states_something():
    checked = check_answer("As follows:\nBackups are kept for 90 days [3]. They cost 5 euros [3].", PASSAGES)
    assert unsupported_share(checked) == 0.5
    assert unsupported_share(()) == 0.0
