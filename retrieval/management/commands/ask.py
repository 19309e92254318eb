"""`manage.py ask QUESTION [--as EMAIL] [--json]`: an answer with its sources, as the chat API gives it."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.acting import acting_principal
from kb_platform.errors import KnowledgeBaseError
from kb_platform.management.service_command import ServiceCommand
from retrieval.chat.service import answer
from retrieval.filters import parse_filters
from retrieval.serializers import answer_json


class Command(ServiceCommand):
    help = "Answers a question from the documents open to an account, and keeps it among that account's conversations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--as", dest="email", help="account that asks; default the first administrator")
        parser.add_argument("--collection", action="append", help="id of a collection to look in; repeatable")
        parser.add_argument("--json", action="store_true", help="print the answer of the chat API")

    def run(self, **options: Any) -> None:
        principal = acting_principal(options["email"])
        try:
            filters = parse_filters(None, collections=options["collection"])
            said = answer_json(answer(options["question"], principal=principal, filters=filters))
        except KnowledgeBaseError as error:
            raise CommandError("; ".join([str(error), *map(str, error.fields.values())])) from error
        if options["json"]:
            self.stdout.write(json.dumps(said, ensure_ascii=False, indent=1))
            return
        self.stdout.write(said["answer"])
        for citation in said["citations"]:
            page = f", p. {citation['page']}" if citation["page"] else ""
            self.stdout.write(f"[{citation['n']}] {citation['title']}{page}  {citation['url']}")
