"""`evaluate_retrieval --corpus … --queries FILE.jsonl [--mode …] [--out FILE.json]`: how good the search is on a set."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from kb_platform.errors import KnowledgeBaseError
from kb_platform.management.service_command import ServiceCommand
from retrieval.evaluation.datasets import read_questions
from retrieval.evaluation.run import evaluate
from retrieval.values import Mode

COLUMNS = ("queries", "recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")


class Command(ServiceCommand):
    help = (
        "Indexes corpora in a temporary generation of its own, asks every question, prints how well it went."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--corpus", action="append", type=Path, required=True,
            help="a folder, or JSON lines {doc_id, title, text}; several make one mixed pool",
        )  # fmt: skip
        parser.add_argument(
            "--queries", type=Path, required=True, help="JSON lines {text, lang, kind, relevant}"
        )
        parser.add_argument("--mode", choices=[mode.value for mode in Mode], default=Mode.HYBRID.value)
        parser.add_argument("--out", type=Path, help="write the figures as JSON")

    def run(self, **options: Any) -> None:
        for path in options["corpus"]:
            if not path.exists():
                raise CommandError(f"{path} does not exist")
        try:
            report = evaluate(
                options["corpus"], read_questions(options["queries"]), Mode(options["mode"])
            ).as_json()
        except KnowledgeBaseError as error:
            raise CommandError(str(error)) from error
        self._print(report)
        if options["out"]:
            options["out"].write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")

    def _print(self, report: dict[str, Any]) -> None:
        rows = {"overall": report["overall"]} | report["by_kind"] | report["by_language"]
        self.stdout.write("".join([f"{'':<16}", *(f"{name:>11}" for name in COLUMNS)]))
        for name, figures in rows.items():
            cells = (f"{figures.get(column, ''):>11}" for column in COLUMNS)
            self.stdout.write("".join([f"{name:<16}", *cells]))
        self.stdout.write(
            f"{report['documents']} documents, {report['chunks']} chunks; {report['skipped']} questions about others "
            f"skipped; search p50 {report['latency_ms']['p50']} ms, p95 {report['latency_ms']['p95']} ms"
        )
        refused = report["refused"]
        self.stdout.write(
            f"refused: {refused['answerable']} of {report['queries']} answerable questions, "
            f"{refused['unanswerable']} of {refused['of_unanswerable']} without an answer"
        )
