import json

import pytest
from django.db import connection, connections

from accounts.models import AccessScope, User
from accounts.principals import principal_of
from ingestion.models import Collection, Document, IndexGeneration
from ingestion.trial import open_trial
from kb_platform.errors import Conflict
from retrieval.evaluation import run
from retrieval.evaluation.compared import METHODS
from retrieval.evaluation.datasets import Question
from retrieval.evaluation.run import evaluate
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.values import Mode, SearchRequest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    texts = {
        "leave": "Ten days of annual leave.",
        "badge": "Lost badges are replaced.",
        "press": "Press 7 takes oil HLP 46.",
    }
    path.write_text("\n".join(json.dumps({"doc_id": key, "text": text}) for key, text in texts.items()))
    return path


def question(text, *relevant, kind="exact"):
    return Question(text=text, language="en", kind=kind, relevant=relevant)


def everything():
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_class where relname ~ '^(dense|lexical)_g[0-9]+$'")
        tables = cursor.fetchone()[0]
    models = (AccessScope, Collection, Document, IndexGeneration, SearchTrace, User)
    return [tables, *(model.objects.count() for model in models)]


def test_questions_are_measured_and_nothing_is_left(library, corpus):
    before = everything()
    report = evaluate(
        [corpus],
        [
            question("annual leave days", "leave"),
            question("oil for press 7", "press", kind="semantic"),
            question("about another folder", "elsewhere"),
            question("Quillon zeppelin"),
        ],
        Mode.HYBRID,
    ).as_json()
    assert (report["queries"], report["skipped"], report["documents"], report["chunks"]) == (2, 1, 3, 3)
    assert report["overall"]["recall@1"] == 1
    assert set(report["by_kind"]) == {"exact", "semantic"}
    assert report["latency_ms"]["p50"] > 0
    assert report["refused"]["of_unanswerable"] == 1
    assert sum(report["verdicts"]["answerable"].values()) == 2
    assert everything() == before


def test_other_rankings_are_measured_on_the_same_finds(library, corpus):
    questions = [question("annual leave days", "leave"), question("oil for press 7", "press")]
    foreign = Question(text="Quillon zeppelin", language="en", kind="x", relevant=(), is_foreign=True)
    report = evaluate([corpus, corpus], [*questions, foreign], Mode.HYBRID, compare=tuple(METHODS)).as_json()
    assert report["documents"] == 3  # the same id in two corpora is one document
    assert report["verdicts"]["foreign"]["none"] == 1
    assert set(report["compared"]) == set(METHODS)
    for figures in report["compared"].values():
        assert figures["overall"]["recall@5"] == 1
        assert figures["difference"]["recall@5"] == (0, 0, 0)


def test_an_evaluation_and_the_site_do_not_meet(library, corpus, reader, monkeypatch):
    library.document(library.collection("Mine", reader), "Mine", "Annual leave of my own.")
    seen = []

    def look_then_search(request, **options):
        seen.append(search(SearchRequest(text="annual leave"), principal=reader).passages)
        return search(request, **options)

    monkeypatch.setattr(run, "search", look_then_search)
    report = evaluate([corpus], [question("annual leave", "leave")], Mode.LEXICAL)
    assert [[passage.title for passage in passages] for passages in seen] == [["Mine"], ["Mine"]]
    assert report.judged[0].ranking == ["leave"]


def test_a_failing_evaluation_cleans_up(library, corpus, monkeypatch):
    before = everything()
    monkeypatch.setattr(run, "search", lambda *args, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluate([corpus], [question("annual leave", "leave")], Mode.HYBRID)
    assert everything() == before


def test_what_a_killed_evaluation_left_is_removed_by_the_next(library, corpus, embedder):
    before = everything()
    killed = principal_of(User.objects.create_user(run.EVALUATOR))
    open_trial(killed, embedder)
    evaluate([corpus], [question("annual leave", "leave")], Mode.HYBRID)
    assert everything() == before


def test_two_evaluations_do_not_run_at_once(library, corpus):
    other = connections["default"].copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("select pg_advisory_lock(%s)", [run._LOCK])
        with pytest.raises(Conflict):
            evaluate([corpus], [], Mode.HYBRID)
    finally:
        other.close()
