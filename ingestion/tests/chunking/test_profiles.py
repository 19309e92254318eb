"""What each profile keeps together, and that a correction holds its place in all of them."""

from itertools import pairwise

import numpy as np
import pytest

from ingestion.chunking.choices import chosen, from_key, usual
from ingestion.chunking.drafts import ChunkDraft, Shape
from ingestion.chunking.pins import Pin
from ingestion.chunking.structure import chunk_document
from ingestion.parsing.elements import Element, Kind, ParsedDocument
from ingestion.tests.chunking.counting import SimpleCounter
from ingestion.tests.chunking.documents import heading, item, paragraph, parsed, sentences, step, table
from kb_platform.errors import InvalidInput

COUNTER = SimpleCounter()


def cut(
    document: ParsedDocument,
    shape: Shape,
    *,
    target: int = 60,
    largest: int = 100,
    pins: tuple[Pin, ...] = (),
) -> tuple[ChunkDraft, ...]:
    choice = chosen(shape=shape, target=target, largest=largest, overlap=0, most_tokens=512)
    return chunk_document(document, title="T", counter=COUNTER, profile=choice.profile, pins=pins).chunks


def test_a_clause_stays_with_its_number_and_its_sub_clauses():
    document = parsed(
        heading("第一章 总则"),
        paragraph("第一条"),
        paragraph("为了规范合同管理，制定本办法，适用于公司签订的全部合同和协议。"),
        paragraph("第二条　合同分为以下几类："),
        paragraph("（一）采购合同，由采购部负责签订和履行。"),
        paragraph("（二）销售合同，由销售部负责签订和履行。"),
        paragraph("第三条　" + "合同应当采用书面形式，并由双方签字盖章后生效。" * 12),
    )
    chunks = cut(document, Shape.CONTRACT, target=60, largest=80)
    assert chunks[0].text.startswith("第一条\n为了规范")
    (second,) = [chunk for chunk in chunks if "（一）" in chunk.text]
    assert "第二条" in second.text
    assert "（二）" in second.text
    long = [chunk for chunk in chunks if "书面形式" in chunk.text]
    assert len(long) > 1
    assert all(chunk.text.startswith("第三条") for chunk in long)


def test_english_clauses_are_whole_too():
    document = parsed(
        heading("Agreement"),
        *[
            part
            for number in range(1, 6)
            for part in (
                paragraph(f"{number}. Duties. " + sentences(2, f"duty{number}")),
                paragraph(f"{number}.1 A part of it that is short."),
                paragraph("(a) And a smaller part."),
            )
        ],
    )
    for chunk in cut(document, Shape.CONTRACT):
        first = chunk.text.split(".")[0]
        assert first.isdigit()
        assert "(a)" in chunk.text.rpartition(f"{first}.1")[2]


def test_a_procedure_stays_together_with_its_warning():
    steps = [step(f"{number}. Press button {number} and wait.") for number in range(5)]
    document = parsed(
        paragraph(sentences(6)),
        paragraph("To start:"),
        *steps,
        paragraph("Note: it may blink."),
        step("6. Close it."),
    )
    (holder,) = [chunk for chunk in cut(document, Shape.MANUAL) if "button 0" in chunk.text]
    assert holder.text.startswith("To start:")
    assert holder.text.endswith("Note: it may blink.\n6. Close it.")


def test_a_table_stands_by_itself_and_every_row_has_the_header():
    rows = [(f"Item {number}", f"{number} %") for number in range(40)]
    document = parsed(
        heading("Fees"), paragraph("As follows."), table(("Name", "Rate"), *rows), paragraph("After.")
    )
    chunks = cut(document, Shape.TABLE)
    tables = [chunk for chunk in chunks if chunk.kind == "table"]
    assert [chunk.text for chunk in chunks if chunk.kind != "table"] == ["As follows.", "After."]
    assert all(chunk.text.startswith("Name | Rate\nItem") for chunk in tables)
    assert [line for chunk in tables for line in chunk.text.split("\n")[1:]] == [
        " | ".join(row) for row in rows
    ]


def test_a_question_and_its_answer_are_one_chunk():
    document = parsed(
        heading("帮助"),
        paragraph("问：如何重置密码？"),
        paragraph("答：点击“忘记密码”。"),
        paragraph("Q2: How do I log out?"),
        paragraph("A: " + "Click the avatar twice. " * 30),
        heading("How long is it kept?", 2),
        paragraph("Ninety days."),
        item("logs"),
    )
    chunks = cut(document, Shape.QA)
    assert chunks[0].text == "问：如何重置密码？\n答：点击“忘记密码”。"
    long = [chunk for chunk in chunks if "avatar" in chunk.text]
    assert len(long) > 1
    assert all(chunk.text.startswith("Q2: How do I log out?") for chunk in long)
    assert chunks[-1].text == "Ninety days.\nlogs"
    assert "How long is it kept?" in chunks[-1].embedding_text


def test_in_a_table_of_questions_a_row_is_a_chunk():
    document = parsed(table(("Question", "Answer"), *[(f"Why {n}?", f"Because {n}.") for n in range(4)]))
    texts = [chunk.text for chunk in cut(document, Shape.QA)]
    assert texts == [f"Question | Answer\nWhy {n}? | Because {n}." for n in range(4)]


def test_a_slide_is_a_chunk():
    document = parsed(
        *[
            part
            for page in (1, 2, 3)
            for part in (
                Element(kind=Kind.HEADING, text=f"Slide {page}", level=1, page=page),
                paragraph("Point.", page),
            )
        ]
    )
    assert [(chunk.page, chunk.text) for chunk in cut(document, Shape.SLIDES)] == [
        (1, "Point."),
        (2, "Point."),
        (3, "Point."),
    ]


def test_a_function_is_whole_with_what_stands_above_it():
    code = "import os\n\n" + "\n\n".join(
        f"# about {n}\n@cached\ndef function_{n}(value):\n    value += {n}\n    print(value)\n    return value"
        for n in range(6)
    )
    for chunk in cut(parsed(Element(kind=Kind.CODE, text=code)), Shape.CODE):
        assert chunk.text.startswith(("# about", "import os"))
        assert chunk.text.endswith("return value")


class ByTopic(SimpleCounter):
    """Sentences are alike when they begin with the same word."""

    def embed_documents(self, texts):
        vectors = np.zeros((len(texts), 3), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[{"Cats": 0, "Dogs": 1}.get(text.split(" ")[0], 2)] = 1
        return vectors


def test_by_meaning_borders_fall_where_it_changes():
    text = " ".join(
        [*["Cats sleep for most of the long day."] * 9, *["Dogs run through the park in the morning."] * 7]
    )
    choice = chosen(shape="semantic", target=80, largest=160, overlap=0, most_tokens=512)
    chunks = chunk_document(
        parsed(paragraph(text)), title="T", counter=ByTopic(), profile=choice.profile
    ).chunks
    assert [("Cats" in chunk.text, "Dogs" in chunk.text) for chunk in chunks] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("shape", Shape)
def test_nothing_is_lost_in_any_profile(shape):
    document = parsed(
        heading("第一章"),
        paragraph("第一条　" + "员工应当遵守本规定。" * 30),
        paragraph("第二条　其他。"),
        heading("Why?", 2),
        paragraph(sentences(20)),
        *[step(f"{n}. Do it {n}.") for n in range(9)],
        table(("A", "B"), *[(str(n), f"cell {n}") for n in range(30)]),
        Element(kind=Kind.CODE, text="def f():\n    return 1\n\n\nclass A:\n    x = 2"),
        paragraph("The end.", 3),
    )
    chunks = cut(document, shape)
    said = "".join("".join((*chunk.heading_path, chunk.text)).split() and chunk.text for chunk in chunks)
    for piece in (
        "第二条　其他。",
        "number 19 of",
        "8. Do it 8.",
        "29 | cell 29",
        "return 1",
        "x = 2",
        "The end.",
    ):
        assert piece in said
    assert all(chunk.token_count <= 100 for chunk in chunks)
    for before, after in pairwise(chunks):
        assert before.order + 1 == after.order


@pytest.mark.parametrize("shape", [Shape.GENERAL, Shape.TABLE, Shape.QA, Shape.CONTRACT])
def test_a_correction_replaces_its_quote_wherever_the_borders_fall(shape):
    document = parsed(
        heading("A"),
        paragraph(sentences(30, "first")),
        heading("B"),
        table(("K", "V"), *[(str(n), "x") for n in range(9)]),
    )
    quote = "This is first number 7 of the whole text. This is first number 8 of the whole text."
    pins = (
        Pin(number=4, first=1, last=1, quote=quote, texts=("Now it says this.",)),
        Pin(number=5, first=3, last=3, quote="4 | x\n5 | x", texts=()),
        Pin(number=6, first=1, last=1, quote="Never said.", texts=("Nowhere.",)),
    )
    choice = chosen(shape=shape, target=60, largest=100, overlap=30, most_tokens=512)
    result = chunk_document(document, title="T", counter=COUNTER, profile=choice.profile, pins=pins)
    assert result.lost == (6,)
    (made,) = [chunk for chunk in result.chunks if chunk.correction == 4]
    assert made.text == "Now it says this."
    assert (made.first_element, made.last_element, made.heading_path) == (1, 1, ("A",))
    everything = "\n".join([chunk.text for chunk in result.chunks] + [part.text for part in result.sections])
    for gone in ("number 7 of", "number 8 of", "4 | x", "5 | x"):
        assert gone not in everything
    for kept in ("number 6 of", "number 9 of", "3 | x", "6 | x"):
        assert kept in everything
    assert all(
        chunk.text.startswith("K | V\n")
        for chunk in result.chunks
        if chunk.kind == "table" and "| x" in chunk.text
    )


def test_the_parts_of_a_split_stand_where_they_come_from():
    document = parsed(
        heading("A"), paragraph("First part. It is long enough."), table(("K", "V"), ("1", "x"))
    )
    pin = Pin(
        number=1,
        first=0,
        last=2,
        quote="First part. It is long enough.\nK | V\n1 | x",
        texts=("First part.", "It is long enough.", "K | V\n1 | x"),
    )
    chunks = cut(document, Shape.GENERAL, pins=(pin,))
    assert [(chunk.text, chunk.first_element, chunk.last_element, chunk.kind) for chunk in chunks] == [
        ("First part.", 0, 1, "text"),
        ("It is long enough.", 1, 1, "text"),
        ("K | V\n1 | x", 2, 2, "table"),
    ]


def test_the_usual_general_choice_is_the_default_and_choices_survive_being_stored():
    assert usual(Shape.GENERAL).key == ""
    choice = chosen(shape="qa", target=200, largest=300, most_tokens=512)
    assert from_key(choice.key) == choice
    assert from_key("of/another/release") == usual(Shape.GENERAL)


@pytest.mark.parametrize(
    ("sizes", "field"),
    [
        ({"largest": 600}, "largest"),
        ({"target": 10}, "target"),
        ({"target": 490}, "target"),
        ({"overlap": 300}, "overlap"),
        ({"overlap": -1}, "overlap"),
    ],
)
def test_sizes_that_cannot_be_are_refused_at_their_field(sizes, field):
    with pytest.raises(InvalidInput) as refused:
        chosen(shape="general", most_tokens=512, **sizes)
    assert set(refused.value.fields) == {field}
