"""`manage.py create_token --user EMAIL`: prints one API token, and nothing else, on standard output."""

import argparse
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.models import User
from accounts.tokens import DEFAULT_DAYS, allowed_scopes, create_token
from accounts.values import SystemActor, TokenScope
from kb_platform.errors import InvalidInput
from kb_platform.management.service_command import ServiceCommand


def _scopes(text: str) -> frozenset[TokenScope]:
    try:
        return frozenset(TokenScope(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        known = ", ".join(TokenScope)
        raise argparse.ArgumentTypeError(f"{error}; scopes are {known}") from error


class Command(ServiceCommand):
    help = "Print one API token for an account. Without --scopes it may do all that its owner may."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, metavar="EMAIL")
        parser.add_argument("--scopes", type=_scopes, metavar="search,ask,ingest,admin")
        parser.add_argument("--days", type=int, default=DEFAULT_DAYS)
        parser.add_argument("--name", default="create_token")

    def run(self, **options: Any) -> str:
        user = User.objects.filter(email=options["user"].strip().lower(), is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active account {options['user']}")
        try:
            _row, text = create_token(
                actor=SystemActor(name="create_token"),
                user=user,
                name=options["name"],
                scopes=options["scopes"] or allowed_scopes(user),
                days=options["days"],
            )
        except InvalidInput as error:
            raise CommandError(" ".join(map(str, error.fields.values()))) from error
        return text
