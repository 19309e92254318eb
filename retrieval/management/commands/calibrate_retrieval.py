"""`calibrate_retrieval [--apply] [--means FILE.npz --corpus …]`: the numbers of the ranking, measured on one's own documents."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.values import SystemActor
from ingestion.embedding.means import measure_means
from ingestion.embedding.registry import get_embedder, uncentred_embedder
from ingestion.indexing.generations import active_generation
from kb_platform.errors import KnowledgeBaseError
from kb_platform.management.service_command import ServiceCommand
from kb_platform.runtime_config import services
from kb_platform.runtime_config.declarations import COSINE_SPREAD, EVIDENCE_COSINE
from retrieval.calibration import calibrate
from retrieval.evaluation.datasets import read_corpus


class Command(ServiceCommand):
    help = "Measures the unit of nearness and the bound of refusing on the active index; --apply sets them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--apply", action="store_true", help="set what was measured, for all searches")
        parser.add_argument(
            "--means",
            type=Path,
            help="write means of the languages, measured on --corpus, for KB_LANGUAGE_MEANS",
        )
        parser.add_argument(
            "--corpus", action="append", type=Path, default=[],
            help="a folder, or JSON lines {doc_id, title, text}; several in each language are better than one",
        )  # fmt: skip

    def run(self, **options: Any) -> None:
        try:
            if options["means"]:
                self._write_means(options["means"], options["corpus"])
            else:
                self._calibrate(is_applied=options["apply"])
        except KnowledgeBaseError as error:
            raise CommandError(str(error)) from error

    def _calibrate(self, *, is_applied: bool) -> None:
        found = calibrate(get_embedder(), active_generation())
        self.stdout.write(
            f"{found.chunks} passages, {found.headings} headings as questions\n"
            f"{COSINE_SPREAD.name} = {found.spread}\n"
            f"{EVIDENCE_COSINE.name} = {found.cosine} (answers {found.kept:.1%} of the headings, "
            f"refuses {found.refused:.1%} of the questions about something else)"
        )
        if is_applied:
            values = {COSINE_SPREAD.name: found.spread, EVIDENCE_COSINE.name: found.cosine}
            services.change(actor=SystemActor(name="calibrate_retrieval"), values=values)
            self.stdout.write("set")

    def _write_means(self, path: Path, corpora: list[Path]) -> None:
        if not corpora:
            raise CommandError("--means needs at least one --corpus")
        centring = measure_means(uncentred_embedder(), [read_corpus(corpus) for corpus in corpora])
        centring.write(path)
        self.stdout.write(f"{path}: means {centring.digest}; they need a new index")
