"""`manage.py prepare`: all that must be done once before the parts of a site of this version are started one by one."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb_platform.embedded import preparation
from kb_platform.embedded.preflight import check_external_services
from kb_platform.embedded.processes import ServiceError
from kb_platform.embedded.session import ensure_services


class Command(BaseCommand):
    help = "Migrate, collect static files, prepare the embedding model, and print the first administrator's link."
    requires_system_checks = ()  # they may ask the database, which is looked at first

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--built", action="store_true", help="static files and translations are part of the image"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            for warning in check_external_services():
                self.stderr.write(f"Warning: {warning}")
            with ensure_services():
                self.check()
                printed = preparation.prepare(self.stdout.write, is_built=options["built"])
        except ServiceError as error:
            raise CommandError(str(error)) from error
        self.stdout.write("\n".join(filter(None, [printed, "Ready to be started"])))
