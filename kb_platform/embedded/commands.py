"""The command lines of the parts of a site, alike for `manage.py up` and for parts that are started one by one."""

import sys
from dataclasses import dataclass

from django.conf import settings

NO_ROOT_WARNING = "ignore:You're running the worker with superuser"  # messages are JSON, never pickles
CELERY = ("-W", NO_ROOT_WARNING, "-m", "celery", "--quiet", "-A", "kb_platform.celery")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A kind of worker: the queues it serves, and how many tasks at once."""

    queues: str
    concurrency: int


# Threads share the tokenizer's 280 MB. Parsing has its own processes, embedding leaves the interpreter lock.
WORKERS = {
    "parse": Worker(queues="parse,light", concurrency=3),
    "embed": Worker(queues="embed", concurrency=1),
}


def web_command() -> list[str]:
    return [sys.executable, "manage.py", "web"]


def worker_command(name: str, *, concurrency: int | None = None) -> list[str]:
    """name: a key of WORKERS; concurrency: instead of the usual one."""
    worker = WORKERS[name]
    limits = ("-Q", worker.queues, "--pool", "threads", "-c", str(concurrency or worker.concurrency))
    chatter = ("--without-gossip", "--without-mingle")
    return [sys.executable, *CELERY, "worker", *limits, "-n", f"{name}@%h", *chatter]


def beat_command() -> list[str]:
    schedule = str(settings.DATA_DIR / "celerybeat-schedule")
    return [sys.executable, *CELERY, "beat", "--schedule", schedule, "--pidfile="]
