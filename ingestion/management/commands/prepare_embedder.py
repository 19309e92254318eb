"""Make the embedding model ready to load: converts the bundled one if that has not been done. Needs no database."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from ingestion.embedding.conversion import ensure_converted
from ingestion.embedding.errors import EmbedderUnavailable
from ingestion.embedding.registry import configured_folder


class Command(BaseCommand):
    help = "Converts the bundled embedding model once, or checks that the configured folder exists."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        try:
            folder = configured_folder() or ensure_converted(settings.MODEL_DIR)
        except EmbedderUnavailable as error:
            raise CommandError(str(error)) from error
        seconds = time.monotonic() - started
        self.stdout.write(
            _("Embedding model ready after %(seconds).1f s: %(folder)s")
            % {"seconds": seconds, "folder": folder}
        )
