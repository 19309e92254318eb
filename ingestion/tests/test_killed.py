"""A worker, PostgreSQL and Valkey killed in the middle of a folder leave every file live, once."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from kb_platform.embedded import paths
from kb_platform.testing.site import RunningSite, becomes, sites

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
FILES = 24
WORDS = [
    "pump",
    "valve",
    "pressure",
    "shift",
    "report",
    "week",
    "gauge",
    "filter",
    "seal",
    "motor",
    "check",
    "note",
    "gate",
    "panel",
    "crew",
]
LIVE = "select count(*) from ingestion_documentversion where state = 'live'"
CHECKS = {
    "documents": "select count(*) from ingestion_document where active_version_id is not null",
    "versions": "select count(*) from ingestion_documentversion",
    "jobs that succeeded": "select count(*) from ingestion_ingestjob where state = 'succeeded'",
    "documents in the dense index": "select count(distinct document_id) from dense_g1",
    "documents in the lexical index": "select count(distinct document_id) from lexical_g1",
}
UNINDEXED = (
    "select count(*) from ingestion_chunk c full join lexical_g1 l on l.chunk_id = c.id "
    "full join dense_g1 d on d.chunk_id = c.id where c.id is null or l.chunk_id is null or d.chunk_id is null"
)
DRIFT = (
    "select count(*) from (select scope_id, lexeme, count(*) n from lexical_g1, unnest(terms) group by 1, 2) i "
    "full join (select scope_id, term, chunk_count n from ingestion_termstatistic where chunk_count <> 0) s "
    "on i.scope_id = s.scope_id and i.lexeme = s.term where i.n is distinct from s.n"
)


@pytest.fixture
def running() -> Iterator[RunningSite]:
    account = {"KB_ADMIN_EMAIL": "root@example.com", "KB_ADMIN_PASSWORD": "a long phrase for tests"}
    with sites(**account) as start:
        yield start()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    chance = random.Random(5)
    for number in range(FILES):
        paragraphs = (" ".join(chance.choices(WORDS, k=120)) + "." for _ in range(12))
        (tmp_path / f"manual-{number}.md").write_text(f"# Manual {number}\n\n" + "\n\n".join(paragraphs))
    return tmp_path


def count(running: RunningSite, query: str) -> int:
    where = paths.run_dir(Path(running.environment["KB_DATA_DIR"]))
    with psycopg.connect(host=str(where), user=paths.ROLE, dbname=paths.DATABASE) as session:
        return int(session.execute(query).fetchone()[0])


def answers(running: RunningSite, query: str) -> int:
    """The count, or -1 while the database is away."""
    try:
        return count(running, query)
    except psycopg.OperationalError:
        return -1


def test_every_file_is_live_once_whatever_is_killed_meanwhile(running: RunningSite, folder: Path) -> None:
    command = running.command(
        "ingest_folder",
        str(folder),
        "--collection",
        "Manuals",
        "--wait",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    for progress, victim in ((1, "embed"), (6, "postgres"), (10, "valkey"), (14, "parse")):
        assert becomes(lambda: answers(running, LIVE) >= progress, timeout_s=180), running.output  # noqa: B023
        running.kill(victim)
    said = command.communicate(timeout=300)[0]
    assert command.returncode == 0, said + running.output
    assert f"{FILES} of {FILES} files live" in said
    assert {name: count(running, query) for name, query in CHECKS.items()} == dict.fromkeys(CHECKS, FILES)
    assert count(running, UNINDEXED) == 0
    assert count(running, DRIFT) == 0
