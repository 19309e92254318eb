"""One evaluation: index corpora in a temporary generation, ask every question through the real search, measure."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection

from accounts.models import User
from accounts.principals import principal_of
from accounts.values import Principal
from ingestion.embedding.protocol import Embedder
from ingestion.embedding.registry import get_embedder
from ingestion.models import Chunk, Document
from ingestion.trial import (
    Trial,
    TrialDocument,
    add_documents,
    build_indexes,
    close_trial,
    open_trial,
    trials_of,
)
from kb_platform.errors import Conflict
from retrieval.evaluation.compared import METHODS
from retrieval.evaluation.datasets import Question, find_relevant, read_corpus
from retrieval.evaluation.metrics import (
    Judged,
    differences,
    mean_of_sets,
    measures,
    measures_by,
    percentile,
)
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.recall import recall
from retrieval.search_settings import SearchSettings, current
from retrieval.values import MAX_TOP_K, EvidenceLevel, Mode, SearchRequest, SearchResult

EVALUATOR = "evaluation@internal.invalid"  # no grants but on its own trial, no password
PAGE = 10
ANSWERABLE, UNANSWERABLE, FOREIGN = "answerable", "unanswerable", "foreign"
_LOCK = 0x6B62_6576  # one evaluation at a time: a later one would take the earlier's index for a leftover


@dataclass(slots=True)
class Report:
    """What an evaluation found. `skipped`: questions whose documents are not in the corpora.

    levels: how many questions got which verdict, by whether they are answerable, unanswerable or foreign.
    compared: the same questions, in the order of `judged`, ranked by other methods.
    """

    documents: int = 0
    chunks: int = 0
    skipped: int = 0
    judged: list[Judged] = field(default_factory=list)
    compared: dict[str, list[Judged]] = field(default_factory=dict)
    levels: dict[str, Counter[EvidenceLevel]] = field(
        default_factory=lambda: {name: Counter() for name in (ANSWERABLE, UNANSWERABLE, FOREIGN)}
    )
    latencies_ms: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        latency = {
            name: round(percentile(self.latencies_ms, share), 1) if self.latencies_ms else None
            for name, share in (("p50", 0.5), ("p95", 0.95))
        }
        return {
            "queries": len(self.judged),
            "skipped": self.skipped,
            "documents": self.documents,
            "chunks": self.chunks,
            **_figures(self.judged),
            "latency_ms": latency,
            "refused": {
                ANSWERABLE: self.levels[ANSWERABLE][EvidenceLevel.NONE],
                UNANSWERABLE: self.levels[UNANSWERABLE][EvidenceLevel.NONE],
                f"of_{UNANSWERABLE}": self.levels[UNANSWERABLE].total(),
            },
            "verdicts": {
                asked: {level.value: counts[level] for level in EvidenceLevel}
                for asked, counts in self.levels.items()
            },
            "compared": {
                method: {**_figures(theirs), "difference": differences(self.judged, theirs)}
                for method, theirs in self.compared.items()
            },
        }


def _figures(judged: Sequence[Judged]) -> dict[str, Any]:
    return {
        "overall": measures(judged),
        "mean_of_sets": mean_of_sets(judged),
        "by_kind": dict(measures_by("kind", judged)),
        "by_language": dict(measures_by("language", judged)),
        "by_set": dict(measures_by("dataset", judged)),
    }


def evaluate(
    corpora: Sequence[Path], questions: Sequence[Question], mode: Mode, *, compare: Sequence[str] = ()
) -> Report:
    """Index the corpora as one pool and search it for each question. Everything it made is removed again.

    A document that several corpora hold under one id is indexed once. compare: names of METHODS.
    """
    embedder = get_embedder()
    report = Report(compared={method: [] for method in compare})
    with _evaluator() as principal, _trial(principal, embedder) as trial:
        report.chunks = add_documents(trial, _once(corpora), embedder)
        build_indexes(trial)
        settings = current().changed(cache_seconds=0, fold=False, threshold=None)  # all that is found, anew
        asker = _Asker(trial=trial, principal=principal, mode=mode, settings=settings, keys=_keys(trial))
        report.documents = len(asker.keys)
        for question in questions:
            asker.ask(question, report)
    return report


def _once(corpora: Sequence[Path]) -> Iterator[TrialDocument]:
    seen: set[str] = set()
    for corpus in corpora:
        for document in read_corpus(corpus):
            if document.key not in seen:
                seen.add(document.key)
                yield document


def _keys(trial: Trial) -> dict[int, str]:
    return dict(Document.objects.filter(collection=trial.collection).values_list("pk", "source_key"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asker:
    """keys: the name of each document of the trial, by its number."""

    trial: Trial
    principal: Principal
    mode: Mode
    settings: SearchSettings
    keys: dict[int, str]

    def ask(self, question: Question, report: Report) -> None:
        relevant = find_relevant(question.relevant, list(self.keys.values()))
        if question.relevant and not relevant:
            report.skipped += 1
            return
        begun = time.perf_counter()
        first = self._search(question.text, offset=0, top_k=PAGE)
        report.latencies_ms.append((time.perf_counter() - begun) * 1000)
        report.levels[_asked(question)][first.evidence.level] += 1
        if not question.relevant:
            return
        rest = self._search(question.text, offset=PAGE, top_k=MAX_TOP_K)
        found = [passage.document_id for passage in (*first.passages, *rest.passages)]
        report.judged.append(self._judged(question, relevant, found))
        if report.compared:
            self._compare(question, relevant, report)

    def _compare(self, question: Question, relevant: frozenset[str], report: Report) -> None:
        """All methods rank what one recall found."""
        found = recall(
            SearchRequest(text=question.text),
            principal=self.principal,
            settings=self.settings,
            generation=self.trial.generation,
        )
        rankings = {
            method: [candidate.chunk_id for candidate in METHODS[method](found)] for method in report.compared
        }
        chunk_ids = {chunk_id for ranking in rankings.values() for chunk_id in ranking}
        documents = dict(Chunk.objects.filter(pk__in=chunk_ids).values_list("pk", "document_id"))
        for method, ranking in rankings.items():
            in_order = [documents[chunk_id] for chunk_id in ranking if chunk_id in documents]
            report.compared[method].append(self._judged(question, relevant, in_order))

    def _judged(self, question: Question, relevant: frozenset[str], found: Sequence[int]) -> Judged:
        return Judged(
            kind=question.kind,
            language=question.language,
            dataset=question.dataset,
            ranking=[self.keys[document_id] for document_id in dict.fromkeys(found)],
            relevant=relevant,
        )

    def _search(self, text: str, *, offset: int, top_k: int) -> SearchResult:
        request = SearchRequest(text=text, mode=self.mode, offset=offset, top_k=top_k, settings=self.settings)
        return search(request, principal=self.principal, generation=self.trial.generation)


def _asked(question: Question) -> str:
    if question.is_foreign:
        return FOREIGN
    return ANSWERABLE if question.relevant else UNANSWERABLE


@contextmanager
def _evaluator() -> Iterator[Principal]:
    """An account that exists for this evaluation alone. Raises Conflict while another one runs."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            raise Conflict("another evaluation is running on this database")
    user = User.objects.filter(email=EVALUATOR).first() or User.objects.create_user(
        EVALUATOR, name="Evaluation"
    )
    principal = principal_of(user)
    try:
        for leftover in trials_of(principal):
            close_trial(leftover)
        yield principal
    finally:
        SearchTrace.objects.filter(user=user).delete()
        user.delete()
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_unlock(%s)", [_LOCK])


@contextmanager
def _trial(principal: Principal, embedder: Embedder) -> Iterator[Trial]:
    trial = open_trial(principal, embedder)
    try:
        yield trial
    finally:
        close_trial(trial)
