import numpy as np
import pytest
from django.core.management import CommandError, call_command

from kb_platform.errors import Conflict
from retrieval import calibration
from retrieval.calibration import calibrate, foreign_questions, measured_spread, proposed_bound
from retrieval.search_settings import current

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_spread_is_the_usual_deviation_of_a_questions_cosines():
    passages = np.array([[0.1, 0.3], [-0.1, 0.3], [0.1, -0.3], [-0.1, -0.3]], dtype=np.float32)
    questions = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
    assert measured_spread(passages, questions) == pytest.approx(np.std(passages[:, 1], ddof=1))


def test_the_bound_lies_above_foreign_questions_unless_that_costs_answers():
    foreign = [0.1] * 90 + [0.3] * 10
    assert proposed_bound([0.5] * 100, foreign) == pytest.approx(0.1, abs=0.03)
    assert proposed_bound([0.05] * 100, foreign) == 0.05


def test_questions_about_something_else_come_in_both_languages_without_an_answer():
    questions = foreign_questions()
    assert {one.language for one in questions} == {"en", "zh"}
    assert all(one.is_foreign and not one.relevant for one in questions)


@pytest.fixture
def handbook(library, reader, monkeypatch):
    monkeypatch.setattr(calibration, "LEAST_CHUNKS", 10)
    collection = library.collection("Handbook", reader)
    for number in range(12):
        library.document(
            collection, f"Press valve {number}", f"The valve of press {number} takes oil HLP 46."
        )
    return library


def test_an_organisations_own_index_is_measured_and_what_was_found_is_set(handbook, embedder, capsys):
    found = calibrate(embedder, handbook.generation)
    assert (found.chunks, found.headings) == (12, 12)
    assert found.kept == 1
    assert found.refused > 0.8
    assert calibrate(embedder, handbook.generation) == found
    call_command("calibrate_retrieval", apply=True)
    assert (current().cosine_spread, current().evidence_cosine) == (found.spread, found.cosine)


def test_too_little_to_measure_is_said(library, embedder):
    with pytest.raises(Conflict, match="passages"):
        calibrate(embedder, library.generation)
    with pytest.raises(CommandError, match="corpus"):
        call_command("calibrate_retrieval", means="x.npz")
