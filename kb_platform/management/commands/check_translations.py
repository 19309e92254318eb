"""`manage.py check_translations`: fails while a string of the product is not translated."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kb_platform.translations import can_extract, catalogues, drift, gaps

MOST_SHOWN = 40


class Command(BaseCommand):
    help = "Look for untranslated, fuzzy, unused and missing entries in the message catalogues."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        complete = can_extract()
        problems: list[str] = []
        for path in catalogues():
            found = [*gaps(path), *(drift(path) if complete else ())]
            problems += [f"{path.parents[1].name}: {problem}" for problem in found]
        for problem in problems[:MOST_SHOWN]:
            self.stderr.write(problem)
        if problems:
            raise CommandError(
                f"{len(problems)} problems. Run `manage.py makemessages -l zh_Hans --no-location` and translate."
            )
        if not complete:
            self.stdout.write(
                "GNU gettext is not installed: the catalogues were not compared with the sources."
            )
        self.stdout.write("Translations are complete.")
