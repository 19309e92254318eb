"""The Celery application. Run by `celery -A kb_platform.celery`."""

import os
from typing import Any

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.production")

from kb_platform.schedule import PERIODIC

app = Celery("kb_platform")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = PERIODIC
app.conf.task_default_queue = "light"
app.autodiscover_tasks(["kb_platform", "accounts", "ingestion", "retrieval"])


@signals.task_prerun.connect
def _adopt_trace_id(task: Any = None, **_: Any) -> None:
    from kb_platform.trace import set_trace_id

    set_trace_id(
        (getattr(task.request, "headers", None) or {}).get("trace_id")
        or getattr(task.request, "trace_id", None)
    )


@signals.setup_logging.connect
def _keep_django_logging(**_: Any) -> None:
    import logging.config

    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@signals.worker_ready.connect
def _begin_heartbeat(sender: Any = None, **_: Any) -> None:
    from kb_platform.heartbeats import keep_beating, worker_name

    slots = getattr(getattr(sender, "controller", None), "concurrency", 0) or 1
    keep_beating(worker_name(sender.hostname), list(sender.app.amqp.queues.consume_from), slots)


@signals.worker_shutdown.connect
def _end_heartbeat(sender: Any = None, **_: Any) -> None:
    from kb_platform.heartbeats import forget, worker_name

    forget(worker_name(getattr(sender, "hostname", "")))
