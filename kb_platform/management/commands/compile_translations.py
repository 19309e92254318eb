"""`manage.py compile_translations`: .mo files from the .po files, without GNU gettext."""

from typing import Any

from django.core.management.base import BaseCommand

from kb_platform.translations import catalogues, compile_catalogue


class Command(BaseCommand):
    help = "Compile the message catalogues that changed."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        for path in catalogues():
            if compile_catalogue(path) and options["verbosity"]:
                self.stdout.write(f"compiled {path.parents[1].name}")
