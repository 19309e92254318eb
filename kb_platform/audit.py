"""Write the audit log. Call inside the transaction of the change, so that neither exists without the other."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from django.db import models, transaction
from django.db.models import Q, QuerySet

from kb_platform.models import AuditEntry
from kb_platform.trace import origin, trace_id


class Actor(Protocol):
    """Whoever acts: a person's principal, or a named system process (`user_id` is None)."""

    @property
    def user_id(self) -> int | None: ...

    @property
    def name(self) -> str: ...


def record(actor: Actor, action: str, subject: models.Model | None = None, **detail: Any) -> AuditEntry:
    """Add one row. `action` is `object.verb_in_past`; `detail` holds JSON values, e.g. before and after."""
    _require_transaction()
    entry = _entry(actor, action, subject, detail)
    entry.save(force_insert=True)
    return entry


def record_each(
    actor: Actor, action: str, subjects: Iterable[tuple[models.Model, dict[str, Any]]], **detail: Any
) -> None:
    """Add one row for each subject, in few statements; a subject's own detail is added to `detail`."""
    _require_transaction()
    AuditEntry.objects.bulk_create(
        [_entry(actor, action, subject, {**detail, **own}) for subject, own in subjects], batch_size=1000
    )


def _require_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("an audit row belongs to the transaction of its change")


def _entry(actor: Actor, action: str, subject: models.Model | None, detail: dict[str, Any]) -> AuditEntry:
    return AuditEntry(
        actor_id=actor.user_id,
        actor_name=actor.name[:254],
        action=action,
        object_type=subject._meta.model_name or "" if subject else "",
        object_id=str(getattr(subject, "uid", None) or subject.pk) if subject else "",
        object_name=str(subject)[:300] if subject else "",
        detail=detail,
        trace_id=trace_id(),
        origin=origin(),
    )


def entries_about(objects: Mapping[str, Collection[str]]) -> QuerySet[AuditEntry]:
    """What was done to the named objects, latest first: public ids by object type. The caller chose them as somebody."""
    wanted = Q(pk__in=())
    for object_type, ids in objects.items():
        wanted |= Q(object_type=object_type, object_id__in=ids)
    return AuditEntry.objects.filter(wanted).order_by("-id")
