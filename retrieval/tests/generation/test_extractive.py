import re

from retrieval.generation.extractive import READ_CLOSELY, Question, extract_answer
from retrieval.generation.statements import SourceElement, statements_of
from retrieval.tests.generation.test_statements import passage

IDF = {"hotel": 1.0, "cap": 1.0, "lisbon": 2.0}


def ask(question, *sources, near=None, closely=None):
    """Sources: lists of (kind, text) elements, one list a passage. near, closely: text -> its nearness."""
    passages, statements = [], []
    for index, source in enumerate(sources):
        elements = [SourceElement(order=n, kind=kind, text=text) for n, (kind, text) in enumerate(source)]
        passages.append(passage("\n".join(text for _kind, text in source), heading_path=("Hotels",)))
        statements += statements_of(index, passages[-1], elements)
    nearness = [near(statement.text) for statement in statements] if near else None
    read = (lambda texts: [closely(text) for text in texts]) if closely else None
    asked = Question(text=question, idf=IDF, nearness=nearness, read_closely=read)
    return extract_answer(asked, passages, statements)


HOTEL = ("paragraph", "The nightly cap in Lisbon is 145 euros. Breakfast is paid separately by everyone.")
RAIL = ("paragraph", "Grade P8 may take first class.")


def test_the_sentence_that_answers_is_quoted_and_numbered():
    answer = ask("hotel cap in Lisbon", [RAIL], [HOTEL])
    assert answer.text == "The nightly cap in Lisbon is 145 euros. [1]"
    (quotation,) = answer.quotations
    assert (quotation.n, quotation.quote) == (1, "The nightly cap in Lisbon is 145 euros.")
    assert (quotation.first_element, quotation.last_element) == (0, 0)


def test_nothing_to_quote_is_no_answer():
    assert ask("hotel", [("heading", "Hotels")]) is None
    assert extract_answer(Question(text="hotel", idf=IDF), [], []) is None


def test_every_marker_has_its_quotation():
    answer = ask(
        "hotel cap in Lisbon",
        [("paragraph", "Hotel stays need approval.")],
        [HOTEL],
        [("paragraph", "Each hotel cap is yearly.")],
    )
    assert {int(n) for n in re.findall(r"\[(\d+)\]", answer.text)} == {q.n for q in answer.quotations}
    assert [q.n for q in answer.quotations] == list(range(1, len(answer.quotations) + 1))


def test_a_sentence_that_introduces_a_list_brings_it_whole():
    answer = ask(
        "hotel cap in Lisbon",
        [
            ("paragraph", "To pay more than the hotel cap in Lisbon:"),
            ("step", "Fill in the form."),
            ("step", "Ask your manager."),
            ("paragraph", "Unrelated text follows here."),
        ],
    )
    assert answer.text.split("\n") == [
        "To pay more than the hotel cap in Lisbon: [1]",
        "- Fill in the form. [1]",
        "- Ask your manager. [1]",
    ]
    assert (answer.quotations[0].first_element, answer.quotations[0].last_element) == (0, 2)


def test_a_question_for_a_number_prefers_a_sentence_with_one():
    source = [("paragraph", "The hotel cap in Lisbon changes. The hotel cap in Lisbon is 145 euros.")]
    assert "145" in ask("How much is the hotel cap in Lisbon?", source).text


def test_meaning_decides_where_words_do_not():
    near = "Nocturnal accommodation may cost 145 euros."
    answer = ask(
        "hotel cap in Lisbon",
        [("paragraph", f"Grade P8 may take first class. {near}")],
        near=lambda text: 1.0 if near in text else 0.0,
    )
    assert answer.text.startswith(near)


def test_equal_sentences_of_two_documents_are_said_once():
    assert ask("hotel cap in Lisbon", [HOTEL], [HOTEL]).text.count("145") == 1


def test_a_question_how_to_do_something_gets_all_steps():
    source = [
        ("paragraph", "About hotels."),
        ("step", "Open the form."),
        ("step", "Enter the hotel cap in Lisbon."),
    ]
    assert ask("How do I enter the hotel cap in Lisbon?", source).text == (
        "- Open the form. [1]\n- Enter the hotel cap in Lisbon. [1]"
    )
    assert ask("hotel cap in Lisbon", source).text == "- Enter the hotel cap in Lisbon. [1]"


def test_the_digits_of_a_code_are_no_number():
    source = [
        (
            "paragraph",
            "The hotel cap in Lisbon is in form C-20. The hotel cap in Lisbon is 145 euros a night.",
        )
    ]
    assert "145" in ask("How much is the hotel cap in Lisbon?", source).text.split("[1]")[0]


def test_a_further_sentence_must_be_near_by_meaning_too():
    best, far = "The nightly cap in Lisbon is 145 euros.", "A hotel of ours is open."
    answer = ask(
        "hotel cap in Lisbon",
        [("paragraph", f"{best} {far}")],
        near=lambda text: 0.9 if best in text else 0.1,
    )
    assert far not in answer.text


def test_a_passage_without_a_sentence_near_the_question_gives_no_answer():
    assert ask("hotel cap in Lisbon", [RAIL], near=lambda text: 0.1) is None
    assert ask("hotel cap in Lisbon", [HOTEL], near=lambda text: 0.1) is not None  # its words are enough


FOREIGN = [("paragraph", f"Der Deckel in Raum {n} ist rot und die Wand dahinter ist weiß.") for n in range(8)]


def test_where_words_do_not_decide_the_nearest_few_are_read_closely():
    read = []

    def closely(text):
        read.append(text)
        return 0.9 if "Raum 2" in text else 0.4

    answer = ask(
        "hotel cap in Lisbon",
        FOREIGN,
        near=lambda text: 0.5 - FOREIGN.index(("paragraph", text)) / 100,
        closely=closely,
    )
    assert answer.text.startswith("Der Deckel in Raum 2")
    assert len(read) == READ_CLOSELY
    assert read[0].startswith("Hotels\n")


def test_where_words_decide_nothing_is_read():
    def closely(text):
        raise AssertionError

    assert "145" in ask("hotel cap in Lisbon", [HOTEL], near=lambda text: 0.5, closely=closely).text


def test_where_words_cannot_tell_two_sentences_about_as_near_are_both_quoted():
    answer = ask(
        "hotel cap in Lisbon",
        FOREIGN,
        near=lambda text: 0.6 if "Raum 1" in text or "Raum 4" in text else 0.45,
    )
    assert answer.text.count("[1]") == 2
    assert "Raum 1" in answer.text
    assert "Raum 4" in answer.text


def test_a_question_what_to_do_gets_the_steps_behind_its_sentence():
    source = [("paragraph", "The hotel cap in Lisbon is too low for you."), ("step", "Ask your manager.")]
    assert "Ask your manager." in ask("The hotel cap in Lisbon is too low. What can I do?", source).text
    assert "Ask your manager." not in ask("Is the hotel cap in Lisbon low?", source).text
