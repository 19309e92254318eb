"""Whatever is killed while files come in, are replaced, moved and deleted: nothing lost, doubled, half-indexed, left over."""

import os
import shutil
import signal
from pathlib import Path

import psycopg
import pytest
import redis

from ingestion.testing.faults import ADMIN, FAULTS, Storm
from kb_platform.embedded import paths
from kb_platform.testing.site import RunningSite, becomes, sites

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
SEED = int(os.environ.get("KB_TEST_SEED", "5"))
KILLS = ("child", "child", "backend", "backend", "parse", "embed", "valkey", "flush")


def test_a_storm_leaves_every_file_in_its_true_state() -> None:
    with sites(**ADMIN) as start:
        report = Storm(start(), seed=SEED, files=60, kills=KILLS).run()
    print(report.as_json())
    assert report.faults == {}, report
    assert len(report.kills) == len(KILLS)
    assert report.extra_parses <= report.in_hand, report


def ask(site: RunningSite, query: str) -> dict[str, int]:
    where = paths.run_dir(Path(site.environment["KB_DATA_DIR"]))
    with psycopg.connect(host=str(where), user=paths.ROLE, dbname=paths.DATABASE) as session:
        return dict(session.execute(query).fetchall())


def test_a_restart_with_two_hundred_files_waiting_loses_none(tmp_path: Path) -> None:
    """Stopped, the queue emptied, started again: all end, and those that cannot be read call no further work."""
    for number in range(190):
        (tmp_path / f"{number}.md").write_text(f"# Note {number}\n\nPump {number} has a valve.")
    for number in range(10):
        (tmp_path / f"broken-{number}.pdf").write_bytes(b"%PDF-1.7 " + bytes(number))
    states = "select state, count(*) from ingestion_documentversion group by 1"
    with sites(**ADMIN) as start:
        site = start()
        os.kill(site.pid_of("parse"), signal.SIGSTOP)
        assert site.command("ingest_folder", str(tmp_path), "--collection", "Notes").wait(120) == 0
        assert ask(site, states) == {"queued": 200}
        site.stop()
        data_dir = Path(site.environment["KB_DATA_DIR"])
        shutil.rmtree(data_dir / "valkey")
        site = start()
        ended = {"live": 190, "rejected": 10}
        assert becomes(lambda: ask(site, states) == ended, timeout_s=240), (ask(site, states), site.output)
        parsed = "select kind, count(*) from ingestion_processingevent where kind = 'handed_on' group by 1"
        assert ask(site, parsed) == {"handed_on": 190}
        assert {name: n for name, n in ask(site, _all(FAULTS)).items() if n} == {}
        broker = redis.Redis(unix_socket_path=str(paths.valkey_socket(data_dir)))
        assert becomes(lambda: sum(map(broker.llen, ("parse", "embed", "light"))) < 10)


def _all(queries: dict[str, str]) -> str:
    return " union all ".join(f"select '{name}', ({query})" for name, query in queries.items())
