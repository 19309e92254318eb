"""Whatever is killed while files come in, are replaced, moved and deleted: nothing lost, doubled, half-indexed, left over."""

import os

import pytest

from ingestion.testing.faults import ADMIN, Storm
from kb_platform.testing.site import sites

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
