"""Every row of a table is found by whatever one of its cells says, from the file itself to the search."""

import io

import pytest
from openpyxl import Workbook

from accounts.principals import principal_of
from ingestion import services
from ingestion.blobs import store
from ingestion.indexing.generations import ensure_first_generation
from ingestion.testing import use_hashing_embedder
from ingestion.tests.conftest import run_jobs
from ingestion.values import SourceFile
from retrieval.pipeline import search
from retrieval.values import SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)
HEAD = ["Account", "Holder", "城市", "Balance"]
FIRST = [[f"AC-{1000 + n}", f"Customer number {n}", "北京", 17 * n] for n in range(60)]
ACCOUNTS = [*FIRST, ["AC-7731", "Nordwind Trading", "乌鲁木齐", 4711.25], ["AC-7732", "李晓明", "上海", 88]]


def workbook() -> bytes:
    made, out = Workbook(), io.BytesIO()
    for row in (HEAD, *ACCOUNTS):
        made.active.append(row)
    made.save(out)
    return out.getvalue()


@pytest.fixture
def accounts(owner, settings, tmp_path):
    """accounts.xlsx in a collection of the owner, read and published as workers do it."""
    settings.BLOB_DIR = tmp_path / "blobs"
    with use_hashing_embedder() as embedder:
        ensure_first_generation(embedder)
        made = services.create_collection(actor=principal_of(owner), name="Books")
        blob = store([workbook()])
        services.upload_document(
            actor=principal_of(owner), collection=made, file=SourceFile(name="accounts.xlsx", blob=blob)
        )
        run_jobs(embedder)
        yield principal_of(owner)


def test_a_row_is_found_by_any_of_its_cells_and_comes_with_its_header(accounts):
    for words in ("AC-7731", "Nordwind", "乌鲁木齐", "4711.25", "李晓明", "AC-1042", "Customer number 58"):
        first = search(SearchRequest(text=words), principal=accounts).passages[0]
        assert words in first.text, words
        assert "Account | Holder | 城市 | Balance" in first.text, words
