"""`manage.py web`: the web server alone, beside databases and workers that others keep running."""

import signal
import sys
from types import FrameType
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand

from kb_platform.embedded.stack import WEB_GRACE_S


class Command(BaseCommand):
    help = "Serve the pages and the API at KB_HOST and KB_PORT, until SIGTERM or Ctrl-C."
    requires_system_checks = ()  # `prepare` makes them

    def handle(self, *args: Any, **options: Any) -> None:
        # uvicorn, once it has stopped in order, sends itself the signal again.
        signal.signal(signal.SIGTERM, _end_well)
        uvicorn.run(
            "kb_platform.asgi:application",
            host=settings.HOST,
            port=settings.PORT,
            workers=settings.WEB_PROCESSES,
            timeout_graceful_shutdown=WEB_GRACE_S,
            log_level="warning",
            access_log=False,
            proxy_headers=bool(settings.TRUSTED_PROXIES),
            forwarded_allow_ips=settings.TRUSTED_PROXIES,
            server_header=False,
        )


def _end_well(number: int, frame: FrameType | None) -> None:
    sys.exit(0)
