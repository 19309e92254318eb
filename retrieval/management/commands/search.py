"""`manage.py search QUESTION [--as EMAIL] [--json]`: the passages that fit best, as the search API gives them."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.acting import acting_principal
from kb_platform.errors import KnowledgeBaseError
from kb_platform.management.service_command import ServiceCommand
from retrieval.filters import parse_filters
from retrieval.pipeline import search
from retrieval.serializers import search_json
from retrieval.values import Mode, SearchRequest

SHOWN = 160  # characters of a passage


class Command(ServiceCommand):
    help = "Searches the documents open to an account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")
        parser.add_argument(
            "--as", dest="email", help="account that searches; default the first administrator"
        )
        parser.add_argument("--collection", action="append", help="id of a collection to look in; repeatable")
        parser.add_argument("--top-k", type=int, default=10)
        parser.add_argument("--mode", choices=[mode.value for mode in Mode], default=Mode.HYBRID.value)
        parser.add_argument("--json", action="store_true", help="print the answer of the search API")

    def run(self, **options: Any) -> None:
        principal = acting_principal(options["email"])
        try:
            request = SearchRequest(
                text=options["question"],
                filters=parse_filters(None, collections=options["collection"]),
                mode=Mode(options["mode"]),
                top_k=options["top_k"],
            )
            result = search(request, principal=principal)
        except KnowledgeBaseError as error:
            raise CommandError("; ".join([str(error), *map(str, error.fields.values())])) from error
        if options["json"]:
            self.stdout.write(json.dumps(search_json(result, explain=True), ensure_ascii=False, indent=1))
            return
        for place, passage in enumerate(result.passages, start=1):
            path = " > ".join((passage.title, *passage.heading_path))
            self.stdout.write(f"{place:>2}. {passage.score:.4f}  {path}")
            self.stdout.write(f"    {' '.join(passage.text.split())[:SHOWN]}")
        for channel in result.degraded:
            self.stdout.write(f"the {channel} channel did not work")
