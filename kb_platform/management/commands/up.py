"""`manage.py up`: everything to a working site, until Ctrl-C."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb_platform.embedded.processes import ServiceError
from kb_platform.embedded.site import Site


class Command(BaseCommand):
    help = "Start PostgreSQL, Valkey, the web server and the workers, and keep them running until Ctrl-C."
    requires_system_checks = ()  # they may ask the database, which this command is about to start

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            Site().run()
        except ServiceError as error:
            raise CommandError(str(error)) from error
