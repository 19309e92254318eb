"""The audit log, whose rows are written in the transaction of the change and never edited; and changed settings."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models


class AuditEntry(models.Model):
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor_name = models.CharField(
        max_length=254, help_text="Kept when the account is gone; system work has a name too."
    )
    action = models.CharField(max_length=64, db_index=True)
    object_type = models.CharField(max_length=64, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    object_name = models.CharField(max_length=300, blank=True)
    detail = models.JSONField(default=dict, help_text="Before and after; never document text or secrets.")
    trace_id = models.CharField(max_length=32, blank=True)
    origin = models.CharField(max_length=64, blank=True, help_text="Address of the connection")

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["object_type", "object_id"], name="audit_object"),
            models.Index(fields=["actor", "-id"], name="audit_actor"),
            models.Index(fields=["action", "-id"], name="audit_action"),
            models.Index(fields=["trace_id"], name="audit_trace", condition=~models.Q(trace_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name} {self.action} {self.object_name}"


class ConfigValue(models.Model):
    """A setting that an administrator has changed: what it is, what it was, and who did it."""

    name = models.CharField(max_length=64, primary_key=True)
    value: Any = models.JSONField(null=True, help_text="Null is a value too: none")
    previous: Any = models.JSONField(null=True)
    changed_at = models.DateTimeField(auto_now=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    changed_by_name = models.CharField(max_length=254)

    def __str__(self) -> str:
        return self.name


class ConfigStamp(models.Model):
    """One row whose stamp every change of settings replaces, so that processes know when to read them again."""

    stamp = models.UUIDField()

    def __str__(self) -> str:
        return str(self.stamp)


class WorkerHeartbeat(models.Model):
    """When a worker process was last heard of, and which queues it serves."""

    name = models.CharField(max_length=200, primary_key=True)
    queues = ArrayField(models.CharField(max_length=50))
    slots = models.PositiveSmallIntegerField(default=1, help_text="How many tasks it carries out at once")
    memory_bytes = models.BigIntegerField(
        default=0, help_text="Its own, without the children that read files"
    )
    beat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
