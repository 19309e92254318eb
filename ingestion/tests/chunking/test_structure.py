"""What chunking promises about borders, repetition, sizes and completeness."""

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.chunking.drafts import ChunkDraft, ChunkedDocument, ChunkProfile
from ingestion.chunking.structure import chunk_document
from ingestion.parsing.elements import Element, Kind, ParsedDocument
from ingestion.tests.chunking.counting import OVERHEAD, SimpleCounter
from ingestion.tests.chunking.documents import heading, item, paragraph, parsed, sentences, step, table

COUNTER = SimpleCounter()
SMALL = ChunkProfile(target_tokens=48, max_tokens=64, section_tokens=150, section_max_tokens=200)


def chunked(
    *elements: Element, title: str = "Handbook", profile: ChunkProfile | None = None
) -> ChunkedDocument:
    document = parsed(*elements)
    return chunk_document(document, title=title, counter=COUNTER, profile=profile or ChunkProfile())


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_a_document_without_text_has_no_chunks():
    assert chunked() == ChunkedDocument(sections=(), chunks=())
    assert chunked(paragraph(" \n ")).chunks == ()


def test_title_and_heading_path_stand_before_what_is_embedded():
    (chunk,) = chunked(heading("Leave"), heading("Sick leave", 2), paragraph("Tell your manager.")).chunks
    assert chunk.embedding_text == "Handbook > Leave > Sick leave\nTell your manager."
    assert chunk.text == "Tell your manager."
    assert chunk.heading_path == ("Leave", "Sick leave")
    assert (chunk.first_element, chunk.last_element) == (0, 2)


def test_a_first_heading_equal_to_the_title_is_embedded_once():
    (chunk,) = chunked(heading("Handbook"), paragraph("Text.")).chunks
    assert chunk.embedding_text == "Handbook\nText."


def test_headings_alone_can_be_found():
    (chunk,) = chunked(heading("Leave"), heading("Travel"), heading("Flights", 2)).chunks
    assert chunk.text.split("\n") == ["Leave", "Travel", "Flights"]
    (single,) = chunked(heading("Leave")).chunks
    assert single.text == "Leave"


def test_small_siblings_share_a_chunk_that_names_each():
    chunks = chunked(
        heading("Leave"),
        heading("Sick", 2),
        paragraph("Call in."),
        heading("Annual", 2),
        paragraph("Ask early."),
    ).chunks
    assert [(chunk.heading_path, chunk.text) for chunk in chunks] == [
        (("Leave",), "Sick\nCall in.\nAnnual\nAsk early.")
    ]


def test_cousins_keep_their_own_headings():
    long = sentences(40)
    chunks = chunked(
        heading("A"), paragraph(long), heading("A1", 2), paragraph("Tail."), heading("B"), paragraph("Next.")
    ).chunks
    by_text = {chunk.text: chunk.heading_path for chunk in chunks}
    assert all("Tail." not in text or path[:1] == ("A",) for text, path in by_text.items())


def test_sentences_are_whole_and_overlap_within_a_section():
    chunks = chunked(heading("A"), paragraph(sentences(60))).chunks
    assert len(chunks) > 1
    for chunk in chunks:
        assert chunk.text.startswith("This is")
        assert chunk.text.endswith("text.")
    for before, after in pairwise(chunks):
        repeated = [
            line
            for line in re.findall(r"number \d+", after.text)
            if line in re.findall(r"number \d+", before.text)
        ]
        share = (
            sum(
                COUNTER.count_tokens_batch([f"This is sentence {line} of the whole text."])[0] - OVERHEAD
                for line in repeated
            )
            / 384
        )
        assert 0.15 <= share <= 0.26
        assert 256 <= before.token_count <= 480


def test_overlap_never_crosses_a_section():
    result = chunked(
        heading("A"), paragraph(sentences(300, "first")), heading("B"), paragraph(sentences(300, "second"))
    )
    assert len(result.sections) > 2
    seen: dict[str, int] = {}
    for chunk in result.chunks:
        for name in re.findall(r"(?:first|second) number \d+", chunk.text):
            assert seen.setdefault(name, chunk.section) == chunk.section
    for section in result.sections:
        assert section.token_count <= 1500


def test_an_abbreviation_or_a_decimal_ends_no_sentence():
    text = " ".join(f"Dr. Smith measured 3.5 mm in Fig. {number} of the long report." for number in range(60))
    for chunk in chunked(paragraph(text)).chunks:
        assert chunk.text.startswith("Dr.")
        assert chunk.text.endswith("report.")


def test_chinese_sentences_end_at_their_own_marks():
    text = "".join(f"第{number}名员工应当在“三日内。”提交申请；逾期不候！" for number in range(80))
    for chunk in chunked(paragraph(text)).chunks:
        assert chunk.text[-1] in "；！”"
        assert not chunk.text.startswith("”")
        assert chunk.language == "zh"


def test_steps_stay_together_while_they_fit():
    steps = [step(f"Press button {number} and wait for the green light.") for number in range(20)]
    chunks = chunked(
        paragraph(sentences(30)), paragraph("To restart the machine:"), *steps, paragraph(sentences(30))
    ).chunks
    (holder,) = [chunk for chunk in chunks if "button 0 " in chunk.text]
    assert "To restart the machine:" in holder.text
    assert "button 19 " in holder.text


def test_a_longer_step_list_repeats_its_lead_in():
    steps = [
        step(f"{number}. Press the button and wait for the green light to go on.") for number in range(80)
    ]
    chunks = chunked(paragraph("To restart the machine:"), *steps).chunks
    assert len(chunks) > 1
    assert all(chunk.text.startswith("To restart the machine:\n") for chunk in chunks)
    assert all(chunk.kind == "list" for chunk in chunks)
    whole = {element.text for element in steps}
    for chunk in chunks:
        assert set(chunk.text.split("\n")[1:]) <= whole


def test_table_rows_repeat_caption_and_header_and_are_never_said_twice():
    rows = [(f"Item {number}", "0.5 %", "Tier B", "Quarterly") for number in range(90)]
    chunks = chunked(
        Element(kind=Kind.CAPTION, text="Fees of 2024"), table(("Name", "Rate", "Tier", "Due"), *rows)
    ).chunks
    assert len(chunks) > 1
    for chunk in chunks:
        assert chunk.kind == "table"
        assert chunk.text.startswith("Fees of 2024\nName | Rate | Tier | Due\nItem")
    said = [line for chunk in chunks for line in chunk.text.split("\n") if line.startswith("Item")]
    assert said == [" | ".join(row) for row in rows]


def test_table_headers_are_repeated_in_every_section_too():
    rows = [(f"Item {number}", "0.5 %", "Tier B", "Quarterly") for number in range(600)]
    result = chunked(table(("Name", "Rate", "Tier", "Due"), *rows))
    assert len(result.sections) > 1
    assert all(section.text.startswith("Name | Rate") for section in result.sections)
    assert all(chunk.text.startswith("Name | Rate") for chunk in result.chunks)


def test_clauses_begin_new_pieces():
    clauses = [paragraph(f"第{number}条　" + "员工应当遵守本规定的各项要求。" * 12) for number in range(1, 9)]
    for chunk in chunked(*clauses, profile=ChunkProfile(overlap_ratio=0.0)).chunks:
        assert chunk.text.startswith("第")


def test_code_keeps_its_indentation():
    code = "def f():\n    return 1\n\n\ndef g():\n    return 2"
    (chunk,) = chunked(Element(kind=Kind.CODE, text=code)).chunks
    assert "    return 1\n\ndef g" in chunk.text
    assert chunk.kind == "code"


def test_boxes_and_page_are_those_of_the_elements_covered():
    document = parsed(*(paragraph(sentences(12, f"p{page}"), page) for page in range(1, 8)))
    chunks = chunk_document(document, title="T", counter=COUNTER).chunks
    assert len(chunks) > 1
    for chunk in chunks:
        covered = document.elements[chunk.first_element : chunk.last_element + 1]
        assert chunk.boxes == tuple(box for element in covered for box in element.boxes)
        assert chunk.page == covered[0].page


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000,
        "中" * 5_000,
        "e\u0301" * 3_000,
        "word " * 3_000,
        "." * 5_000,
        "👩\u200d💻" * 1_500,
        "一，" * 3_000,
    ],
    ids=["word", "chinese", "marks", "words", "dots", "joined", "clauses"],
)
@pytest.mark.parametrize(
    "make", [paragraph, step, lambda text: table(("Head",), (text,)), lambda text: heading(text)]
)
def test_what_no_chunk_can_hold_is_cut(text, make):
    document = parsed(make(text))
    result = chunk_document(document, title="T" * 5_000, counter=COUNTER)
    assert all(chunk.token_count <= 480 for chunk in result.chunks)
    assert len(result.chunks) < 60
    assert_complete(document, result.chunks)


def test_a_wide_header_leaves_room_for_its_rows():
    header = tuple(f"Column with a long name {number}" for number in range(400))
    chunks = chunked(table(header, *[tuple(str(n) for n in range(400))] * 3)).chunks
    assert all(chunk.token_count <= 480 for chunk in chunks)


def test_deep_and_long_heading_paths_leave_room():
    headings = [heading(f"{level} " + "long heading words " * 6, level) for level in range(1, 30)]
    chunks = chunked(*headings, paragraph(sentences(30))).chunks
    assert all(chunk.token_count <= 480 for chunk in chunks)
    assert len(chunks) < 20


def test_a_small_embedder_rules_the_size():
    result = chunk_document(parsed(paragraph(sentences(50))), title="T", counter=SimpleCounter(max_tokens=64))
    assert all(chunk.token_count <= 64 for chunk in result.chunks)


@pytest.mark.parametrize("text", ["中" * 1_000_000, "word " * 200_000, "a.\n" * 300_000, "." * 1_000_000])
def test_a_megabyte_in_one_element_takes_linear_time(text):
    started = time.process_time()
    assert chunked(paragraph(text)).chunks
    assert time.process_time() - started < 10


def test_a_profile_refuses_sizes_that_contradict_each_other():
    with pytest.raises(ValueError, match="target_tokens"):
        ChunkProfile(target_tokens=500)
    with pytest.raises(ValueError, match="section"):
        ChunkProfile(section_tokens=100)
    with pytest.raises(ValueError, match="overlap_ratio"):
        ChunkProfile(overlap_ratio=0.9)


def assert_complete(document: ParsedDocument, chunks: tuple[ChunkDraft, ...]) -> None:
    """Every visible character of every element stands in the body or path of chunks that cover it, in order."""
    for index, element in enumerate(document.elements):
        rest = squeezed(element.text)
        for chunk in chunks:
            if rest and chunk.first_element <= index <= chunk.last_element:
                places = [squeezed(chunk.text), *(squeezed(part) for part in chunk.heading_path)]
                rest = rest[max(longest_prefix(rest, place) for place in places) :]
        assert not rest, (index, rest[:50])


def longest_prefix(text: str, place: str) -> int:
    low, high = 0, min(len(text), len(place))
    while low < high:
        middle = (low + high + 1) // 2
        if text[:middle] in place:
            low = middle
        else:
            high = middle - 1
    return low


words = st.sampled_from(
    [
        "员工",
        "请假",
        "the",
        "leave",
        "policy",
        "XK-200A",
        "3.14",
        "Dr.",
        "。",
        "！",
        ". ",
        "; ",
        ":\n",
        "：",
        "\n",
    ]
)
texts = st.lists(words, min_size=1, max_size=120).map(lambda parts: " ".join(parts))
elements = st.one_of(
    st.builds(heading, texts.map(lambda text: text[:150]), st.integers(1, 4)),
    st.builds(paragraph, texts, st.integers(1, 9)),
    st.builds(step, texts),
    st.builds(item, texts),
    st.builds(lambda text: Element(kind=Kind.CODE, text=text), texts),
    st.builds(lambda text: Element(kind=Kind.CAPTION, text=text), texts),
    st.builds(lambda text: Element(kind=Kind.TITLE, text=text), texts),
    st.builds(
        lambda rows: table(*[tuple(squeezed(cell) for cell in row) for row in rows]),
        st.lists(st.tuples(texts, texts), min_size=1, max_size=8),
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(elements, max_size=20))
def test_any_document_is_chunked_completely_in_order_and_within_limits(made):
    document = parsed(*made)
    result = chunk_document(document, title="Title", counter=COUNTER, profile=SMALL)
    assert result == chunk_document(document, title="Title", counter=COUNTER, profile=SMALL)
    assert_complete(document, result.chunks)
    assert [chunk.order for chunk in result.chunks] == list(range(len(result.chunks)))
    assert [chunk.section for chunk in result.chunks] == sorted(chunk.section for chunk in result.chunks)
    assert {chunk.section for chunk in result.chunks} == {section.order for section in result.sections}
    for chunk in result.chunks:
        section = result.sections[chunk.section]
        assert chunk.text.strip()
        assert chunk.token_count <= SMALL.max_tokens
        assert chunk.token_count == COUNTER.count_tokens_batch([chunk.embedding_text])[0]
        assert section.first_element <= chunk.first_element <= chunk.last_element <= section.last_element
        covered = document.elements[chunk.first_element : chunk.last_element + 1]
        assert chunk.boxes == tuple(box for element in covered for box in element.boxes)


def test_parts_of_a_long_table_say_their_header_once_in_a_chunk_and_end_with_their_rows() -> None:
    head = ("code", "city")
    parts = [table(head, *((f"K{part}-{row}", "Bonn") for row in range(3))) for part in range(2)]
    (chunk,) = chunked(*parts).chunks
    assert chunk.text.count("code | city") == 1
    assert "K1-2 | Bonn" in chunk.text
