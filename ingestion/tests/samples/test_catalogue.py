"""The catalogue agrees with itself and with the files."""

import re

import docx
import pymupdf
import pytest
from lxml import html

from ingestion.samples.catalogue import (
    COLLECTIONS,
    DOCUMENTS,
    FILES,
    QUESTIONS,
    SampleDocument,
    SampleQuestion,
)
from ingestion.tests.samples.reading import squeezed, text_of

LARGEST_BYTES = 200_000
BY_FILE = {document.file: document for document in DOCUMENTS}
# Subjects that checks of a running site upload themselves; a sample about one would answer in their place.
TAKEN_SUBJECTS = re.compile(
    r"\b(annual|vacation|travel|hotels?|train\w*|rail|badges?|hydraulic|oil|merger|acqui\w*|staff|Lisbon|euros?|P8|ZK)\b"
    r"|145|162|88 million|年假|休假|假期|差旅|酒店|火车|高铁|工牌|胸卡|液压|并购|收购",
    re.IGNORECASE,
)


def of_suffix(suffix: str) -> list[SampleDocument]:
    return [document for document in DOCUMENTS if document.path.suffix == suffix]


def test_every_file_is_listed_once_and_every_listed_file_is_there() -> None:
    assert sorted(BY_FILE) == sorted(path.name for path in FILES.iterdir())
    assert len(BY_FILE) == len(DOCUMENTS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.file)
def test_no_file_is_large(document: SampleDocument) -> None:
    assert 1000 < document.path.stat().st_size <= LARGEST_BYTES


def test_documents_are_in_known_collections_and_no_collection_is_empty() -> None:
    keys = [collection.key for collection in COLLECTIONS]
    assert len(set(keys)) == len(keys)
    assert {document.collection for document in DOCUMENTS} == set(keys)


def test_names_and_titles_are_not_repeated() -> None:
    assert len({collection.name for collection in COLLECTIONS}) == len(COLLECTIONS)
    assert len({document.title for document in DOCUMENTS}) == len(DOCUMENTS)


def test_each_format_comes_in_both_languages() -> None:
    kinds = {(document.path.suffix, document.language) for document in DOCUMENTS}
    assert kinds == {
        (suffix, language) for suffix in (".pdf", ".docx", ".md", ".html") for language in ("en", "zh")
    }


def test_dates_carry_a_time_zone() -> None:
    assert all(document.modified_at.tzinfo for document in DOCUMENTS)


def test_exactly_one_collection_is_restricted_and_its_documents_are_confidential() -> None:
    (restricted,) = [collection.key for collection in COLLECTIONS if collection.restricted]
    for document in DOCUMENTS:
        assert (document.collection == restricted) == (document.security_level == "confidential")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.file)
def test_a_document_says_its_title_and_is_in_its_language(document: SampleDocument) -> None:
    text = text_of(document.path)
    assert squeezed(document.title) in squeezed(text)
    letters = [character for character in text if character.isalpha()]
    chinese = sum("\u4e00" <= character <= "\u9fff" for character in letters) / len(letters)
    assert chinese > 0.5 if document.language == "zh" else chinese < 0.05


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.file)
def test_no_document_touches_a_taken_subject(document: SampleDocument) -> None:
    assert TAKEN_SUBJECTS.findall(text_of(document.path)) == []


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_the_answer_of_a_question_stands_in_its_file(question: SampleQuestion) -> None:
    assert squeezed(question.answer) in squeezed(text_of(BY_FILE[question.file].path))


def test_both_languages_have_questions_of_which_some_cross_languages() -> None:
    for language in ("en", "zh"):
        asked = [question for question in QUESTIONS if question.language == language]
        assert 6 <= len(asked) <= 8
        assert any(BY_FILE[question.file].language != language for question in asked)


def test_no_question_gives_away_a_restricted_document() -> None:
    restricted = {collection.key for collection in COLLECTIONS if collection.restricted}
    assert not any(BY_FILE[question.file].collection in restricted for question in QUESTIONS)


@pytest.mark.parametrize(
    ("file", "page", "expected"),
    [
        ("pl-300-user-manual.pdf", 2, "MEAS:ABS?"),
        ("pl-300-user-manual.pdf", 4, "Wavelength motor does not reach home position"),
        ("pl-300-user-manual.pdf", 4, "PL3-0512"),
        ("c-20-maintenance.zh.pdf", 1, "更换门封圈"),
        ("c-20-maintenance.zh.pdf", 3, "停机后重新配平离心管"),
        ("purchase-approval.zh.pdf", 1, "部门经理、采购经理"),
        ("purchase-approval.zh.pdf", 2, "每 36 个月"),
        ("data-retention-schedule.pdf", 1, "Calibration certificates 12 years"),
        ("data-retention-schedule.pdf", 2, "dpo@polaris.example"),
    ],
)
def test_pdf_text_is_on_its_page(file: str, page: int, expected: str) -> None:
    with pymupdf.open(BY_FILE[file].path) as pdf:
        assert squeezed(expected) in squeezed(pdf[page - 1].get_text())


@pytest.mark.parametrize("document", of_suffix(".pdf"), ids=lambda document: document.file)
def test_pdf_fonts_are_embedded_and_every_line_leaves_ink(document: SampleDocument) -> None:
    with pymupdf.open(document.path) as pdf:
        assert 2 <= len(pdf) <= 4
        for page in pdf:
            assert all(extension != "n/a" for _, extension, *_ in page.get_fonts())
            for block in page.get_text("dict")["blocks"]:
                for line in block["lines"]:
                    pixels = page.get_pixmap(clip=line["bbox"], colorspace=pymupdf.csGRAY)
                    assert min(pixels.samples) < 160, line["spans"]


@pytest.mark.parametrize("document", of_suffix(".pdf"), ids=lambda document: document.file)
def test_pdf_has_an_outline_that_begins_with_its_title_and_ruled_tables(document: SampleDocument) -> None:
    with pymupdf.open(document.path) as pdf:
        outline = pdf.get_toc()
        assert outline[0] == [1, document.title, 1]
        assert all(squeezed(heading) in squeezed(pdf[page - 1].get_text()) for _, heading, page in outline)
        assert any(page.find_tables(use_layout=False).tables for page in pdf)


@pytest.mark.parametrize("document", of_suffix(".docx"), ids=lambda document: document.file)
def test_word_headings_lists_and_tables_have_real_styles(document: SampleDocument) -> None:
    word = docx.Document(str(document.path))
    styles = [paragraph.style.name for paragraph in word.paragraphs]
    assert word.paragraphs[0].style.name == "Title"
    assert word.paragraphs[0].text == document.title == word.core_properties.title
    assert styles.count("Heading 1") >= 4
    assert "List Number" in styles
    assert word.tables
    assert all(table.rows[0]._tr.trPr.xpath("w:tblHeader") for table in word.tables)


@pytest.mark.parametrize("document", of_suffix(".html"), ids=lambda document: document.file)
def test_html_has_one_title_headings_steps_and_spanning_or_plain_tables(document: SampleDocument) -> None:
    page = html.fromstring(document.path.read_text(encoding="utf-8"))
    assert [heading.text for heading in page.iter("h1")] == [document.title] == [page.findtext(".//title")]
    assert len(page.findall(".//h2")) >= 5
    assert page.findall(".//ol/li")
    assert page.findall(".//table//th")


def test_some_table_has_merged_cells() -> None:
    assert any("colspan" in document.path.read_text(encoding="utf-8") for document in of_suffix(".html"))


@pytest.mark.parametrize("document", of_suffix(".md"), ids=lambda document: document.file)
def test_markdown_opens_with_its_title(document: SampleDocument) -> None:
    assert document.path.read_text(encoding="utf-8").startswith(f"# {document.title}\n")
