"""The audit log: who did what to which object. Rows are written in the transaction of the change, never edited."""

from django.conf import settings
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

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["object_type", "object_id"], name="audit_object")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor_name} {self.action} {self.object_name}"
