"""From an uploaded workbook to an answer with its rows, by the real way: parsed, published, found, computed, cited."""

import io

import pytest
from openpyxl import Workbook

from accounts.principals import principal_of
from ingestion import services
from ingestion.blobs import store
from ingestion.indexing.generations import ensure_first_generation
from ingestion.models import Correction
from ingestion.testing import use_hashing_embedder
from ingestion.tests.conftest import run_jobs
from ingestion.values import SourceFile
from retrieval.chat import service as chat
from retrieval.pipeline import search
from retrieval.search_settings import current
from retrieval.tables.answering import answer_from_tables
from retrieval.values import SearchRequest

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.integration]
REGIONS = ["华东", "华北", "华南", "西部"]
SALES = [[f"合同-{1000 + n}", REGIONS[n % 4], f"2023-{1 + n % 12:02}-05", 100 + 7 * n] for n in range(50)]
STOCK = "品名,仓库,库存量\n螺丝,东仓,120\n螺母,东仓,80\n垫片,西仓,40\n"
STAFF = [["Ada Byron", "Research", "$5,200"], ["Tom 'Bobby' Tables", "Sales", "$4,100"], ["=cmd|' /C calc'!A0", "Sales", "$3,000"]]  # fmt: skip


def workbook() -> bytes:
    made, out = Workbook(), io.BytesIO()
    made.active.title = "销售台账"
    for row in (
        ["合同编号", "地区", "签订日期", "销售额（万元）"],
        *SALES,
        ["合计", "", "", sum(row[3] for row in SALES)],
    ):
        made.active.append(row)
    sheet = made.create_sheet("Staff")
    for row in (["Name", "Department", "Salary"], *STAFF):
        sheet.append(row)
    made.save(out)
    return out.getvalue()


@pytest.fixture
def reader_of_books(owner, settings, tmp_path):
    settings.BLOB_DIR = tmp_path / "blobs"
    with use_hashing_embedder() as embedder:
        ensure_first_generation(embedder)
        made = services.create_collection(actor=principal_of(owner), name="Books")
        for name, content in (("台账.xlsx", workbook()), ("库存.csv", STOCK.encode())):
            file = SourceFile(name=name, blob=store([content]))
            services.upload_document(actor=principal_of(owner), collection=made, file=file)
        run_jobs(embedder)
        yield principal_of(owner)


def test_an_uploaded_sheet_is_computed_over_and_cited_for_those_who_may_read_it(reader_of_books, outsider):
    question = "华东的销售额总和是多少？"
    found = search(SearchRequest(text=question), principal=reader_of_books)
    answer = found.direct
    east = [row[3] for row in SALES if row[1] == "华东"]
    assert answer is not None
    assert answer.text.startswith(f"销售额的总和（地区 = 华东）：{sum(east)}万元 [1]")
    assert answer.detail["rows_used"] == len(east)
    assert all("华东" in passage.text and "华北" not in passage.text for passage in answer.passages)
    assert answer_from_tables(question, found.passages, principal=outsider) is None
    assert (
        search(
            SearchRequest(text=question, settings=current().changed(tables=False)), principal=reader_of_books
        ).direct
        is None
    )

    question = (
        "Who has the lowest salary in sales?"  # and cells that look like commands are cells like others
    )
    answer = search(SearchRequest(text=question), principal=reader_of_books).direct
    assert answer is not None
    assert answer.text.startswith("The lowest Salary (Department = Sales): =cmd|' /C calc'!A0, $3,000 [1]")

    asked = chat.answer("谁的 Salary 最高？", principal=reader_of_books)
    assert not asked.refused
    assert "Ada Byron" in asked.answer
    assert [citation.n for citation in asked.citations] == [1]

    asked_of_a_file_without_a_name_of_its_table = search(
        SearchRequest(text="东仓的库存量总和是多少？"), principal=reader_of_books
    ).direct
    assert asked_of_a_file_without_a_name_of_its_table is not None
    assert "“库存.csv”3行中的2行" in asked_of_a_file_without_a_name_of_its_table.text

    question = "华东的销售额总和是多少？"  # another passage of the table is left out of search: it is not computed over
    stands = found.passages[0]
    Correction.objects.create(
        document_id=stands.document_id,
        version_id=stands.version_id,
        action=Correction.Action.EXCLUDE,
        first_element=0,
        last_element=stands.last_element,
        quote="合同-1048",
    )
    assert search(SearchRequest(text=question), principal=reader_of_books).direct is None
