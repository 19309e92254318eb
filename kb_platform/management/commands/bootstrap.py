"""`manage.py bootstrap`: what every start sees to, such as the first administrator. Safe to repeat.

The steps are functions without arguments, named in `settings.BOOTSTRAP_STEPS`, that return lines for the operator.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from kb_platform.errors import KnowledgeBaseError


class Command(BaseCommand):
    help = "Prepare what a site needs before it serves: the first administrator, the index, the samples."
    requires_system_checks = ()  # `up` and the other commands have made them

    def handle(self, *args: Any, **options: Any) -> None:
        for name in settings.BOOTSTRAP_STEPS:
            try:
                lines = import_string(name)()
            except (ImproperlyConfigured, KnowledgeBaseError) as error:
                raise CommandError(str(error)) from error
            for line in lines or ():
                self.stdout.write(line)
