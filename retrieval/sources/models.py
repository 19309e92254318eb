"""A source of passages outside of the index, and the groups whose members may use it."""

from typing import Any

from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import new_uid


class ExternalSource(models.Model):
    class Kind(models.TextChoices):
        DIFY = "dify", _("Dify external knowledge API")
        HTTP = "http", _("HTTP API with JSON")
        ELASTICSEARCH = "elasticsearch", "Elasticsearch / OpenSearch"
        SQL = "sql", _("PostgreSQL view")
        LANGCHAIN = "langchain", _("LangChain retriever")

    uid = models.UUIDField(default=new_uid, unique=True, editable=False)
    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    options: Any = models.JSONField(default=dict, help_text="Texts by name, see retrieval.sources.options")
    secret = models.TextField(blank=True, help_text="Sealed")
    filter_field = models.CharField(
        max_length=100, blank=True, help_text="Of a record; groups may be limited to values"
    )
    is_active = models.BooleanField(default=True)
    try_ms = models.PositiveIntegerField()
    total_ms = models.PositiveIntegerField()
    tries = models.PositiveSmallIntegerField()
    concurrency = models.PositiveSmallIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class SourceAccess(models.Model):
    """Members of the group may use the source. values: of the filter field, to which they are limited; none: no limit."""

    source = models.ForeignKey(ExternalSource, on_delete=models.CASCADE, related_name="access")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="+")
    values: Any = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "group"], name="source_group_once")]

    def __str__(self) -> str:
        return f"{self.source}: {self.group}"
