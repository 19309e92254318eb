"""`manage.py doctor`: is everything well, and if not, what to do. Exit status 1 on a problem."""

from typing import Any

from django.core.management.base import CommandError

from kb_platform.diagnosis import Level, examine
from kb_platform.management.service_command import ServiceCommand


class Command(ServiceCommand):
    help = "Looks at every part of the site and says what is wrong and what to do about it."

    def run(self, **options: Any) -> None:
        problems = 0
        for finding in examine():
            problems += finding.level is Level.PROBLEM
            self.stdout.write(f"{finding.level:<5} {finding.subject:<9} {finding.text}")
        if problems:
            raise CommandError(f"{problems} problem{'s' if problems > 1 else ''} found")
