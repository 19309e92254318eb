"""`check_parsing FOLDER --expected FILE.jsonl [--out FILE.json]`: how many expected facts the parsers yield.

Every file goes through the real sandbox, and so does every attachment in one, as a file of its own. Prints what is
missing, and the seconds and memory each file took. A file that takes more than a minute has failed whatever it holds;
counted in CPU time, which is what it takes on a free core, so that a busy machine fails nobody. Needs no database.
"""

import json
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ingestion.parsing.elements import ParsedDocument, Part, PartRole
from ingestion.parsing.errors import Rejected
from ingestion.parsing.expectations import Fact, check
from ingestion.parsing.sandbox import Usage, parse_file

MOST_SECONDS = 60.0
_DEEPEST = 3  # attachments of attachments


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What one file gave, and what that took."""

    outcome: ParsedDocument | Rejected
    attached: tuple[ParsedDocument, ...]
    seconds: float
    cpu_s: float
    peak_mb: int

    def __str__(self) -> str:
        outcome = self.outcome
        used = f"{self.seconds:.1f} s, {self.cpu_s:.1f} of CPU, {self.peak_mb} MB"
        if isinstance(outcome, Rejected):
            return f"rejected: {outcome}, {used}"
        quality = outcome.quality
        facts = [f"{len(outcome.elements)} elements"]
        facts += [f"{len(outcome.parts)} parts"] if outcome.parts else []
        facts += (
            [f"{quality.ocr_pages} pages by OCR at {quality.ocr_confidence}"] if quality.ocr_pages else []
        )
        return ", ".join([*facts, *quality.warnings, used])


class Command(BaseCommand):
    help = "Parse the files of a folder and compare them with expected facts (JSON lines)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--expected", type=Path, required=True)
        parser.add_argument("--only", default="*", metavar="PATTERN", help="file names, as in *.pdf")
        parser.add_argument(
            "--all", action="store_true", help="also read the files that nothing is expected of"
        )
        parser.add_argument("--out", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        folder, pattern = options["folder"], options["only"]
        records = [record for record in _records(options["expected"]) if fnmatch(record["file"], pattern)]
        reports = [self._judge(folder, record) for record in records]
        passed = sum(report["passed"] for report in reports)
        total = sum(report["total"] for report in reports)
        if options["all"]:
            known = {record["file"] for record in records}
            others = [p for p in sorted(folder.iterdir()) if p.name not in known and fnmatch(p.name, pattern)]
            for path in others:
                self.stdout.write(f"{path.name}: nothing expected ({_reading(path)})")
        share = 100 * passed / total if total else 100.0
        self.stdout.write(f"{passed} of {total} facts ({share:.1f} %), {len(reports)} files")
        if options["out"]:
            summary = {"passed": passed, "total": total, "files": len(reports), "reports": reports}
            options["out"].write_text(json.dumps(summary, ensure_ascii=False, indent=1), encoding="utf-8")

    def _judge(self, folder: Path, record: dict[str, Any]) -> dict[str, Any]:
        """Parse one file, print how it went, return its part of the report."""
        reading = _reading(folder / record["file"])
        facts = check(record, reading.outcome, reading.attached)
        if reading.cpu_s > MOST_SECONDS:
            facts = [replace(fact, holds=False) for fact in facts]
        missing = [fact for fact in facts if not fact.holds]
        self.stdout.write(f"{record['file']}: {len(facts) - len(missing)} of {len(facts)} ({reading})")
        if reading.cpu_s > MOST_SECONDS:
            self.stdout.write(f"  took more than {MOST_SECONDS:.0f} s")
        for fact in missing:
            self.stdout.write(f"  missing {fact.key}: {fact.expected}")
        return {
            "file": record["file"],
            "outcome": str(reading),
            "seconds": round(reading.seconds, 2),
            "cpu_s": round(reading.cpu_s, 2),
            "peak_mb": reading.peak_mb,
            "passed": len(facts) - len(missing),
            "total": len(facts),
            "missing": [_json(fact) for fact in missing],
        }


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from error


def _reading(path: Path, *, depth: int = 0) -> _Reading:
    if not path.is_file():
        raise CommandError(f"{path} does not exist")
    usage, started = Usage(), time.monotonic()
    outcome: ParsedDocument | Rejected
    try:
        outcome = parse_file(path, file_name=path.name, usage=usage)
    except Rejected as verdict:
        outcome = verdict
    seconds = time.monotonic() - started
    parts = outcome.parts if isinstance(outcome, ParsedDocument) and depth < _DEEPEST else ()
    return _Reading(
        outcome=outcome,
        attached=tuple(_attached(parts, depth + 1)),
        seconds=seconds,
        cpu_s=usage.cpu_s,
        peak_mb=usage.rss_kb // 1024,
    )


def _attached(parts: Sequence[Part], depth: int) -> list[ParsedDocument]:
    """What the attachments among the parts give, each read like an upload; one that is refused gives nothing."""
    found: list[ParsedDocument] = []
    for part in parts:
        if part.role is not PartRole.ATTACHMENT:
            continue
        with TemporaryDirectory(prefix="zhiku-check-") as folder:
            path = Path(folder) / (Path(part.name).name or "attachment")
            path.write_bytes(part.data)
            reading = _reading(path, depth=depth)
        found += [reading.outcome] if isinstance(reading.outcome, ParsedDocument) else []
        found += reading.attached
    return found


def _json(fact: Fact) -> dict[str, str]:
    return {"key": fact.key, "expected": fact.expected}
