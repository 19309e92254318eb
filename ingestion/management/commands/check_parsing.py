"""`check_parsing FOLDER --expected FILE.jsonl [--out FILE.json]`: how many expected facts the parsers yield.

Every file goes through the real sandbox. Needs no database.
"""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ingestion.parsing.elements import ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.parsing.expectations import Fact, check
from ingestion.parsing.sandbox import parse_file


class Command(BaseCommand):
    help = "Parse the files of a folder and compare them with expected facts (JSON lines)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--expected", type=Path, required=True)
        parser.add_argument("--out", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        records = _records(options["expected"])
        reports = [self._judge(options["folder"], record) for record in records]
        passed = sum(report["passed"] for report in reports)
        total = sum(report["total"] for report in reports)
        self.stdout.write(f"{passed} of {total} facts, {len(reports)} files")
        if options["out"]:
            summary = {"passed": passed, "total": total, "files": len(reports), "reports": reports}
            options["out"].write_text(json.dumps(summary, ensure_ascii=False, indent=1), encoding="utf-8")

    def _judge(self, folder: Path, record: dict[str, Any]) -> dict[str, Any]:
        """Parse one file, print what is missing, return its part of the report."""
        outcome = _outcome(folder / record["file"])
        facts = check(record, outcome)
        missing = [fact for fact in facts if not fact.holds]
        if missing:
            self.stdout.write(
                f"{record['file']}: {len(facts) - len(missing)} of {len(facts)} ({_said(outcome)})"
            )
            for fact in missing:
                self.stdout.write(f"  missing {fact.key}: {fact.expected}")
        return {
            "file": record["file"],
            "outcome": _said(outcome),
            "passed": len(facts) - len(missing),
            "total": len(facts),
            "missing": [_json(fact) for fact in missing],
        }


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from error


def _outcome(path: Path) -> ParsedDocument | Rejected:
    if not path.is_file():
        raise CommandError(f"{path} does not exist")
    try:
        return parse_file(path, file_name=path.name)
    except Rejected as verdict:
        return verdict


def _said(outcome: ParsedDocument | Rejected) -> str:
    if isinstance(outcome, Rejected):
        return f"rejected: {outcome}"
    warnings = f", {', '.join(outcome.quality.warnings)}" if outcome.quality.warnings else ""
    return f"{len(outcome.elements)} elements{warnings}"


def _json(fact: Fact) -> dict[str, str]:
    return {"key": fact.key, "expected": fact.expected}
