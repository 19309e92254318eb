"""What a running site is made of: the databases, the workers, the clock of periodic jobs, and the web server."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from kb_platform.embedded.commands import WORKERS, beat_command, web_command, worker_command
from kb_platform.embedded.output import Terminal
from kb_platform.embedded.postgres import STOP_STEPS as POSTGRES_STOP_STEPS
from kb_platform.embedded.postgres import Postgres
from kb_platform.embedded.processes import Child, dying_with_parent, open_log
from kb_platform.embedded.supervisor import Service
from kb_platform.embedded.valkey import STOP_STEPS as VALKEY_STOP_STEPS
from kb_platform.embedded.valkey import Valkey

DATABASE_TIER, QUEUE_TIER, WORKER_TIER, WEB_TIER = range(4)
WEB_GRACE_S = 10
# SIGTERM lets a worker finish its task, SIGQUIT makes it give the task back. All tiers together: 24 s.
WORKER_STOP_STEPS = ((signal.SIGTERM, 5.0), (signal.SIGQUIT, 1.0))
WEB_STOP_STEPS = ((signal.SIGTERM, WEB_GRACE_S + 1.0),)


def database_services() -> list[Service]:
    """PostgreSQL and Valkey of the data folder, unless DATABASE_URL and REDIS_URL name others."""
    services = []
    if settings.EMBEDDED_POSTGRES:
        postgres = Postgres(settings.DATA_DIR)
        services.append(
            Service(
                name="postgres",
                tier=DATABASE_TIER,
                start=postgres.start_provisioned,
                stop_steps=POSTGRES_STOP_STEPS,
            )
        )
    if settings.EMBEDDED_VALKEY:
        valkey = Valkey(settings.DATA_DIR)
        services.append(
            Service(name="valkey", tier=QUEUE_TIER, start=valkey.start, stop_steps=VALKEY_STOP_STEPS)
        )
    return services


def worker_services(terminal: Terminal | None) -> list[Service]:
    """One worker for parsing and light tasks, one for embedding, and beat. terminal: None writes to a log file."""

    def service(name: str, command: Sequence[str], ending: signal.Signals) -> Service:
        launch = _Launch(name, command, terminal, ending)
        return Service(name=name, tier=WORKER_TIER, start=launch, stop_steps=WORKER_STOP_STEPS)

    workers = [service(name, worker_command(name), signal.SIGQUIT) for name in WORKERS]
    return [*workers, service("beat", beat_command(), signal.SIGTERM)]


def web_service(terminal: Terminal) -> Service:
    launch = _Launch("web", web_command(), terminal, signal.SIGTERM)
    return Service(name="web", tier=WEB_TIER, start=launch, stop_steps=WEB_STOP_STEPS)


class _Launch:
    """Starts one command of this project in a session of its own, its output relayed or logged."""

    def __init__(
        self, name: str, command: Sequence[str], terminal: Terminal | None, ending: signal.Signals
    ) -> None:
        """ending: what the child gets if this process is killed."""
        self._name, self._terminal = name, terminal
        self._command = [*dying_with_parent(ending), *command]

    def __call__(self) -> Child:
        if self._terminal is None:
            with open_log(settings.DATA_DIR / "logs" / f"{self._name}.log") as log:
                return self._popen(log.fileno())
        child = self._popen(subprocess.PIPE)
        assert child.stdout  # noqa: S101 - by PIPE
        self._terminal.relay(self._name, child.stdout)
        return child

    def _popen(self, output: int) -> Child:
        return subprocess.Popen(
            self._command,
            cwd=Path(settings.BASE_DIR),
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
