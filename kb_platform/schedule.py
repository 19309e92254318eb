"""All periodic jobs, in one table."""

from typing import Any

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
    "forget old search traces": {
        "task": "retrieval.tasks.forget_old_traces",
        "schedule": 3600.0,
        "options": {"queue": "light", "expires": 3600},
    },
}
