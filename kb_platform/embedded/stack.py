"""What a running site is made of: the databases, the workers, the clock of periodic jobs, and the web server."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from kb_platform.embedded.output import Terminal
from kb_platform.embedded.postgres import STOP_STEPS as POSTGRES_STOP_STEPS
from kb_platform.embedded.postgres import Postgres
from kb_platform.embedded.processes import Child, dying_with_parent, open_log
from kb_platform.embedded.supervisor import Service
from kb_platform.embedded.valkey import STOP_STEPS as VALKEY_STOP_STEPS
from kb_platform.embedded.valkey import Valkey

DATABASE_TIER, QUEUE_TIER, WORKER_TIER, WEB_TIER = range(4)
WEB_GRACE_S = 10
WORKERS = 2
# SIGTERM lets a worker finish its task, SIGQUIT makes it give the task back. All tiers together: 24 s.
WORKER_STOP_STEPS = ((signal.SIGTERM, 5.0), (signal.SIGQUIT, 1.0))
WEB_STOP_STEPS = ((signal.SIGTERM, WEB_GRACE_S + 1.0),)
NO_ROOT_WARNING = "ignore:You're running the worker with superuser"  # messages are JSON, never pickles


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

    def celery(name: str, ending: signal.Signals, *arguments: str) -> Service:
        command = [
            sys.executable,
            "-W",
            NO_ROOT_WARNING,
            "-m",
            "celery",
            "--quiet",
            "-A",
            "kb_platform.celery",
        ]
        launch = _Launch(name, [*command, *arguments], terminal, ending)
        return Service(name=name, tier=WORKER_TIER, start=launch, stop_steps=WORKER_STOP_STEPS)

    def worker(name: str, queues: str, concurrency: int) -> Service:
        chatter = ("--without-gossip", "--without-mingle")
        # Threads share the tokenizer's 280 MB. Parsing has its own processes, embedding leaves the interpreter lock.
        limits = ("-Q", queues, "--pool", "threads", "--concurrency", str(concurrency), "-n", f"{name}@%h")
        return celery(name, signal.SIGQUIT, "worker", *limits, *chatter)

    schedule = str(settings.DATA_DIR / "celerybeat-schedule")
    return [
        worker("parse", "parse,light", 3),
        worker("embed", "embed", 1),
        celery("beat", signal.SIGTERM, "beat", "--schedule", schedule, "--pidfile="),
    ]


def web_service(terminal: Terminal) -> Service:
    command = [sys.executable, "-m", "uvicorn", "kb_platform.asgi:application"]
    command += [
        "--host",
        settings.HOST,
        "--port",
        str(settings.PORT),
        "--workers",
        str(settings.WEB_PROCESSES),
    ]
    command += ["--timeout-graceful-shutdown", str(WEB_GRACE_S), "--log-level", "warning"]
    command += ["--no-access-log", "--no-proxy-headers", "--no-server-header"]
    launch = _Launch("web", command, terminal, signal.SIGTERM)
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
