"""`manage.py beat`: the clock of periodic jobs alone. A site has exactly one."""

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from kb_platform.embedded.commands import beat_command


class Command(BaseCommand):
    help = "Ring the periodic jobs until SIGTERM. Start one for the whole site."
    requires_system_checks = ()  # `prepare` makes them

    def handle(self, *args: Any, **options: Any) -> None:
        command = beat_command()
        os.chdir(settings.BASE_DIR)
        os.execv(command[0], command)  # noqa: S606 - a process less to stop
