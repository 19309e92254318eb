from ingestion.faq.rendering import render
from ingestion.parsing import markdown
from ingestion.parsing.formats import Source


def read(question, answer):
    parsed = markdown.parse(Source(data=render(question, answer).encode(), file_name="a.md"))
    return [(element.kind.value, element.text) for element in parsed.elements]


def test_an_answer_is_read_back_word_for_word():
    answer = (
        r"Open \\server\share, type <your name> & press [OK]: a_b_c, 2*3*4."
        + "\n# not a heading\n| a | b |\n---"
    )
    assert read("What about <b> & *stars*?", answer) == [
        ("heading", "What about <b> & *stars*?"),
        ("paragraph", answer),
    ]


def test_numbered_and_dashed_lines_become_lists():
    assert read("How?", "First:\n1. Open it\n2. Close it\n- or\n- not\nDone.") == [
        ("heading", "How?"),
        ("paragraph", "First:"),
        ("step", "1. Open it"),
        ("step", "2. Close it"),
        ("list_item", "or"),
        ("list_item", "not"),
        ("paragraph", "Done."),
    ]
