"""`manage.py worker NAME`: one worker alone, beside databases that others keep running."""

import os
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from kb_platform.embedded.commands import WORKERS, worker_command


class Command(BaseCommand):
    help = "Run queued tasks until SIGTERM: `parse` reads files and does light tasks, `embed` makes vectors."
    requires_system_checks = ()  # `prepare` makes them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", choices=list(WORKERS))
        parser.add_argument("--concurrency", type=int, help="tasks at once")

    def handle(self, *args: Any, **options: Any) -> None:
        command = worker_command(options["name"], concurrency=options["concurrency"])
        os.chdir(settings.BASE_DIR)
        os.execv(command[0], command)  # noqa: S606 - a process less to stop
