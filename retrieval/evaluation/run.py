"""One evaluation: index corpora in a temporary generation, ask every question through the real search, measure."""

import time
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
from ingestion.models import Document
from ingestion.trial import Trial, add_documents, build_indexes, close_trial, open_trial, trials_of
from kb_platform.errors import Conflict
from retrieval.evaluation.datasets import Question, find_relevant, read_corpus
from retrieval.evaluation.metrics import Judged, measures, measures_by, percentile
from retrieval.models import SearchTrace
from retrieval.pipeline import search
from retrieval.values import MAX_TOP_K, EvidenceLevel, Mode, SearchRequest

EVALUATOR = "evaluation@internal.invalid"  # no grants but on its own trial, no password
PAGE = 10
_LOCK = 0x6B62_6576  # one evaluation at a time: a later one would take the earlier's index for a leftover


@dataclass(slots=True)
class Report:
    """What an evaluation found. `skipped`: questions whose documents are not in the corpora."""

    documents: int = 0
    chunks: int = 0
    skipped: int = 0
    unanswerable: int = 0
    refused_unanswerable: int = 0
    refused_answerable: int = 0
    judged: list[Judged] = field(default_factory=list)
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
            "overall": measures(self.judged),
            "by_kind": dict(measures_by("kind", self.judged)),
            "by_language": dict(measures_by("language", self.judged)),
            "latency_ms": latency,
            "refused": {
                "answerable": self.refused_answerable,
                "unanswerable": self.refused_unanswerable,
                "of_unanswerable": self.unanswerable,
            },
        }


def evaluate(corpora: Sequence[Path], questions: Sequence[Question], mode: Mode) -> Report:
    """Index the corpora as one pool and search it for each question. Everything it made is removed again."""
    embedder = get_embedder()
    report = Report()
    with _evaluator() as principal, _trial(principal, embedder) as trial:
        for corpus in corpora:
            for document in read_corpus(corpus):
                report.chunks += add_documents(trial, [document], embedder)
                report.documents += 1
        build_indexes(trial)
        keys = dict(Document.objects.filter(collection=trial.collection).values_list("uid", "source_key"))
        asker = _Asker(
            trial=trial, principal=principal, mode=mode, keys={str(uid): key for uid, key in keys.items()}
        )
        for question in questions:
            asker.ask(question, report)
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asker:
    trial: Trial
    principal: Principal
    mode: Mode
    keys: dict[str, str]

    def ask(self, question: Question, report: Report) -> None:
        relevant = find_relevant(question.relevant, list(self.keys.values()))
        if question.relevant and not relevant:
            report.skipped += 1
            return
        begun = time.perf_counter()
        first = self._search(question.text, offset=0, top_k=PAGE)
        report.latencies_ms.append((time.perf_counter() - begun) * 1000)
        is_refused = first.evidence.level is EvidenceLevel.NONE
        if not question.relevant:
            report.unanswerable += 1
            report.refused_unanswerable += is_refused
            return
        report.refused_answerable += is_refused
        rest = self._search(question.text, offset=PAGE, top_k=MAX_TOP_K)
        passages = (*first.passages, *rest.passages)
        shown = (one for passage in passages for one in (passage, *passage.also_in))
        ranking = list(dict.fromkeys(self.keys[one.document_uid] for one in shown))
        report.judged.append(
            Judged(kind=question.kind, language=question.language, ranking=ranking, relevant=relevant)
        )

    def _search(self, text: str, *, offset: int, top_k: int) -> Any:
        request = SearchRequest(text=text, mode=self.mode, offset=offset, top_k=top_k)
        return search(request, principal=self.principal, generation=self.trial.generation)


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
