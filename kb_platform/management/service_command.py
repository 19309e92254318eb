"""Base of the management commands that need the databases: finds the running ones, or starts them for its own life."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb_platform.embedded.processes import ServiceError
from kb_platform.embedded.session import ensure_services


class ServiceCommand(BaseCommand):
    """Subclasses implement `run`.

    needs_workers: whether queued tasks must be run meanwhile; an option `wait` that is off makes that unnecessary.
    """

    needs_workers = False

    def run(self, **options: Any) -> str | None:
        """The command, with its databases reachable and migrated; returns text to print, if any."""
        raise NotImplementedError

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            with ensure_services(
                workers=self.needs_workers
            ):  # around system checks too, which may ask the database
                return super().execute(*args, **options)
        except ServiceError as error:
            raise CommandError(str(error)) from error

    def handle(self, *args: Any, **options: Any) -> str | None:
        return self.run(**options)
