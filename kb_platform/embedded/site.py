"""A running site from nothing: check, start, prepare, serve, supervise; and all of it undone on Ctrl-C or SIGTERM."""

import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from types import FrameType

from django.conf import settings

from kb_platform.celery import app
from kb_platform.embedded import preparation
from kb_platform.embedded.address import public_address, site_address
from kb_platform.embedded.commands import WORKERS
from kb_platform.embedded.lock import FolderLock
from kb_platform.embedded.output import Terminal
from kb_platform.embedded.preflight import check_external_services, check_port
from kb_platform.embedded.processes import ServiceError
from kb_platform.embedded.stack import database_services, web_service, worker_services
from kb_platform.embedded.supervisor import Supervisor

TICK_S = 0.5
READY_TIMEOUT_S = 90.0
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Site:
    """One site on one data folder. `run` returns after an orderly stop and raises ServiceError if it cannot start."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self._terminal = terminal or Terminal()
        self._supervisor = Supervisor(self._terminal.say)
        self._lock = FolderLock(settings.DATA_DIR)
        self._is_stopping = threading.Event()

    def run(self) -> None:
        previous = {number: signal.signal(number, self._on_signal) for number in ENDINGS}
        try:
            self._start()
            while True:
                time.sleep(TICK_S)
                self._supervisor.tick()
        except KeyboardInterrupt:
            self._terminal.say("Stopping (once more to stop at once)")
        finally:
            self._is_stopping.set()
            self._supervisor.stop()
            self._lock.release()
            for number, handler in previous.items():
                signal.signal(number, handler)
        self._terminal.say("Stopped")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first asks for an orderly stop, wherever the start-up or the loop is; the next end what still runs."""
        if self._is_stopping.is_set():
            self._supervisor.kill()
        else:
            self._is_stopping.set()
            raise KeyboardInterrupt

    def _start(self) -> None:
        say = self._terminal.say
        settings.DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock.take(command="manage.py up", has_workers=True)
        check_port(settings.HOST, settings.PORT)
        for warning in check_external_services():
            say(f"Warning: {warning}")
        say(f"Starting with the data in {settings.DATA_DIR}")
        self._supervisor.start(database_services())
        printed = preparation.prepare(say)
        self._supervisor.start([web_service(self._terminal), *worker_services(self._terminal)])
        if not self._comes_true(_web_answers):
            raise ServiceError(
                f"The web server did not answer within {READY_TIMEOUT_S:.0f} s; its output is above"
            )
        if not self._comes_true(_workers_answer):
            say("Warning: the workers do not answer, so uploads will wait; their output is above")
        self._terminal.plain("\n".join(["", *filter(None, [printed]), f"Open {public_address()}", ""]))

    def _comes_true(self, is_true: Callable[[], bool]) -> bool:
        """Supervise until it is true, or READY_TIMEOUT_S have passed."""
        end = time.monotonic() + READY_TIMEOUT_S
        while not is_true():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
            self._supervisor.tick()
        return True


def _web_answers() -> bool:
    """Whether anything below a server error comes back: a host name that is not allowed answers too."""
    try:
        with urllib.request.urlopen(f"{site_address()}/healthz", timeout=2):  # noqa: S310 - our own address
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


def _workers_answer() -> bool:
    return len(app.control.ping(timeout=2, limit=len(WORKERS)) or ()) >= len(WORKERS)
