"""All periodic jobs, in one table."""

from typing import Any

from celery.schedules import crontab

PERIODIC: dict[str, dict[str, Any]] = {
    "reconcile the job ledger": {
        "task": "ingestion.tasks.reconcile",
        "schedule": 10.0,
        "options": {"queue": "light", "expires": 10},
    },
    "remove unreferenced blobs": {
        "task": "ingestion.tasks.collect_garbage",
        "schedule": 6 * 3600.0,
        "options": {"queue": "light", "expires": 3600},
    },
    "empty the trash": {
        "task": "ingestion.tasks.purge_deleted",
        "schedule": 1800.0,
        "options": {"queue": "light", "expires": 1800},
    },
    **{
        what: {
            "task": task,
            "schedule": crontab(hour=2, minute=minute),
            "options": {"queue": "light", "expires": 6 * 3600},
        }
        for what, task, minute in (
            ("forget old sign-in failures", "accounts.tasks.forget_old_failures", 0),
            ("forget old search traces", "retrieval.tasks.forget_old_traces", 5),
            ("forget old conversations", "retrieval.tasks.forget_old_conversations", 10),
            ("forget old audit entries", "kb_platform.tasks.forget_old_entries", 15),
        )
    },
}
