"""`evaluate_retrieval --corpus … --queries FILE.jsonl [--mode …] [--compare …] [--out FILE.json]`: how good the search is.

Several files of questions count alike in `mean_of_sets`. `--compare rrf,dense,lexical` ranks what was found by other
methods too and tells by how much the search differs from them, with the 95 % interval of a paired bootstrap.
"""

import json
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from kb_platform.errors import KnowledgeBaseError
from kb_platform.management.service_command import ServiceCommand
from retrieval.evaluation.compared import METHODS
from retrieval.evaluation.datasets import Question, read_questions
from retrieval.evaluation.run import evaluate
from retrieval.values import Mode

COLUMNS = ("queries", "recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
TOLD = ("recall@5", "recall@10", "mrr@10")


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
            "--queries", action="append", type=Path, required=True,
            help="JSON lines {text, lang, kind, relevant}; each file is a set, and counts alike in the mean of the sets",
        )  # fmt: skip
        parser.add_argument(
            "--foreign", action="append", type=Path, default=[],
            help="questions about what the corpora do not speak of, to be refused",
        )  # fmt: skip
        parser.add_argument("--sample", type=int, default=0, help="at most so many questions of each file")
        parser.add_argument(
            "--compare", type=_methods, default=(), help=f"other rankings beside it: {', '.join(METHODS)}"
        )
        parser.add_argument("--mode", choices=[mode.value for mode in Mode], default=Mode.HYBRID.value)
        parser.add_argument("--out", type=Path, help="write the figures as JSON")

    def run(self, **options: Any) -> None:
        for path in options["corpus"]:
            if not path.exists():
                raise CommandError(f"{path} does not exist")
        try:
            questions = _read(options["queries"], options["foreign"], options["sample"])
            mode, compare = Mode(options["mode"]), options["compare"]
            report = evaluate(options["corpus"], questions, mode, compare=compare).as_json()
        except KnowledgeBaseError as error:
            raise CommandError(str(error)) from error
        self._print(report)
        if options["out"]:
            options["out"].write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")

    def _print(self, report: dict[str, Any]) -> None:
        self.stdout.write("".join([f"{'':<28}", *(f"{name:>11}" for name in COLUMNS)]))
        for name, figures in _rows(report).items():
            cells = (f"{figures.get(column, ''):>11}" for column in COLUMNS)
            self.stdout.write("".join([f"{name:<28}", *cells]))
        self.stdout.write(
            f"{report['documents']} documents, {report['chunks']} chunks; {report['skipped']} questions about others "
            f"skipped; search p50 {report['latency_ms']['p50']} ms, p95 {report['latency_ms']['p95']} ms"
        )
        for asked, levels in report["verdicts"].items():
            if total := sum(levels.values()):
                self.stdout.write(f"{asked}: {levels['none']} of {total} refused, {levels['weak']} weak")
        for method, figures in report["compared"].items():
            told = ", ".join(
                f"{name} {mean:+.3f} [{low:+.3f}, {high:+.3f}]"
                for name, (mean, low, high) in figures["difference"].items()
                if name in TOLD
            )
            self.stdout.write(f"against {method}: {told}")


def _rows(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = (
        {"overall": report["overall"]} | report["by_kind"] | report["by_language"]
    )
    if len(report["by_set"]) > 1:
        rows |= {"mean of sets": report["mean_of_sets"]} | report["by_set"]
    for method, figures in report["compared"].items():
        rows[f"{method}, mean of sets"] = figures["mean_of_sets"]
    return rows


def _read(asked: list[Path], foreign: list[Path], sample: int) -> list[Question]:
    return [
        question
        for paths, is_foreign in ((asked, False), (foreign, True))
        for path in paths
        for question in read_questions(path, sample=sample, is_foreign=is_foreign)
    ]


def _methods(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if unknown := [name for name in names if name not in METHODS]:
        raise ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(METHODS)}")
    return names
