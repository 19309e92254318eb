"""The JSON of collections, documents, versions, chunks and jobs, as API.md gives it."""

import json
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.serializers import GrantChangeOutput, GrantSerializer, render_grants, terms_as_json
from ingestion.access import AccessPlan
from ingestion.conditions import PREFIX
from ingestion.facets import Summary
from ingestion.models import Chunk, Collection, Document, DocumentVersion, IngestJob, Verdict
from ingestion.quality import reasons_of, verdict_text
from ingestion.reasons import reason_text
from ingestion.selectors import DOCUMENT_STATES
from ingestion.values import Attributes
from kb_platform.json_values import is_usable


class JsonText(serializers.JSONField):
    """An object given as JSON, or in a form as its text."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, str):
            try:
                data = json.loads(data or "{}")
            except (ValueError, RecursionError):
                raise serializers.ValidationError(_("Must be valid JSON.")) from None
        if not isinstance(data, dict):
            raise serializers.ValidationError(_("Must be an object of names and values."))
        if not is_usable(data, storable_texts=True):
            raise serializers.ValidationError(_("Must be valid JSON."))
        return data


class Tags(serializers.ListField):
    """A list of words; in a form also one comma-separated text."""

    child = serializers.CharField(max_length=100)

    def to_internal_value(self, data: Any) -> list[str]:
        if isinstance(data, str):
            data = [data]
        if isinstance(data, list) and len(data) == 1 and isinstance(data[0], str):
            data = [part.strip() for part in data[0].split(",") if part.strip()]
        return super().to_internal_value(data)  # type: ignore[no-any-return]


class CollectionInput(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=200)
    description = serializers.CharField(max_length=5000, required=False, allow_blank=True)
    language = serializers.ChoiceField(["", "zh", "en"], required=False)


class ScopeOutput(serializers.Serializer[Any]):
    grants = serializers.ListField(child=serializers.DictField())


class CollectionOutput(serializers.Serializer[Collection]):
    id = serializers.CharField(source="uid")
    name = serializers.CharField()
    description = serializers.CharField()
    language = serializers.CharField()
    document_count = serializers.IntegerField()
    chunk_count = serializers.IntegerField()
    scope = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    @extend_schema_field(ScopeOutput)
    def get_scope(self, collection: Collection) -> dict[str, Any]:
        """Who else may see it is told to those who manage it."""
        manages = collection.scope_id in self.context.get("managed_scopes", ())
        return {"grants": render_grants(collection.scope)} if manages else {}


class AccessPlanOutput(serializers.Serializer[Any]):
    """What saving a list would change. gaining, losing: how many people; documents: searchable ones it decides about;

    untouched_documents: those of a collection with lists of their own.
    """

    grants = serializers.ListField(child=GrantSerializer())
    version = serializers.CharField()
    changes = GrantChangeOutput(many=True)
    gaining = serializers.IntegerField()
    losing = serializers.IntegerField()
    documents = serializers.IntegerField()
    untouched_documents = serializers.IntegerField()


def plan_json(planned: AccessPlan, version: str) -> dict[str, Any]:
    """version: of the list as it is now."""
    return {
        "grants": [
            {
                holder.kind.value: str(holder.id),
                "name": planned.names.get(holder, ""),
                **(terms_as_json(terms) or {}),
            }
            for holder, terms in planned.after.items()
        ],
        "version": version,
        "changes": [
            {
                change.holder.kind.value: str(change.holder.id),
                "name": change.name,
                "before": terms_as_json(change.before),
                "after": terms_as_json(change.after),
            }
            for change in planned.plan.changes
        ],
        "gaining": len(planned.plan.gaining),
        "losing": len(planned.plan.losing),
        "documents": planned.document_count,
        "untouched_documents": planned.untouched_count,
    }


class AttributesInput(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=500, required=False)
    doc_type = serializers.CharField(max_length=100, required=False, allow_blank=True)
    department = serializers.CharField(max_length=200, required=False, allow_blank=True)
    security_level = serializers.CharField(max_length=100, required=False, allow_blank=True)
    tags = Tags(required=False)
    metadata = JsonText(required=False)

    def attributes(self) -> Attributes:
        data = self.validated_data
        names = ("title", "doc_type", "department", "security_level", "metadata")
        tags = tuple(data["tags"]) if "tags" in data else None
        return Attributes(tags=tags, **{name: data[name] for name in names if name in data})


class UploadInput(AttributesInput):
    file = serializers.FileField(allow_empty_file=True, max_length=None)
    collection = serializers.CharField()
    source_uri = serializers.CharField(max_length=2000, required=False, allow_blank=True)
    modified_at = serializers.DateTimeField(required=False)


class DocumentPatch(AttributesInput):
    collection = serializers.CharField(required=False, help_text=_("Moves the document."))


class VersionInForce(serializers.Serializer[DocumentVersion]):
    number = serializers.IntegerField()
    state = serializers.CharField()
    file_name = serializers.CharField()
    size_bytes = serializers.IntegerField()
    media_type = serializers.CharField()
    quality = serializers.DictField()
    verdict = serializers.ChoiceField(Verdict.choices, help_text="How well it was read; empty until then.")
    verdict_text = serializers.SerializerMethodField(help_text="The verdict in words, with the first reason.")
    notes = serializers.SerializerMethodField(help_text="What was not read well, a sentence each.")
    read_share = serializers.FloatField(help_text="0..1, how much of the file was read well.")
    author = serializers.CharField(help_text="As the file names it.")
    file_title = serializers.CharField(help_text="As the file names itself.")
    file_created_at = serializers.DateTimeField(help_text="As the file says.")
    file_modified_at = serializers.DateTimeField(help_text="As the file says.")
    encoding = serializers.CharField()
    pages = serializers.IntegerField(source="page_count")
    chunks = serializers.IntegerField(source="chunk_count")
    language = serializers.CharField()
    created_at = serializers.DateTimeField()
    published_at = serializers.DateTimeField()

    def get_verdict_text(self, version: DocumentVersion) -> str:
        return verdict_text(version)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_notes(self, version: DocumentVersion) -> list[str]:
        return reasons_of(version)


class VersionOutput(VersionInForce):
    reason = serializers.SerializerMethodField()
    job = serializers.SerializerMethodField()

    def get_reason(self, version: DocumentVersion) -> str:
        return reason_text(version)

    def get_job(self, version: DocumentVersion) -> str | None:
        job = getattr(version, "job", None)
        return str(job.uid) if job else None


class LatestVersion(serializers.Serializer[DocumentVersion]):
    number = serializers.IntegerField()
    state = serializers.CharField()
    verdict = serializers.ChoiceField(Verdict.choices)
    reason = serializers.SerializerMethodField()
    job = serializers.SerializerMethodField()

    get_reason = VersionOutput.get_reason
    get_job = VersionOutput.get_job


class OwnerOutput(serializers.Serializer[Any]):
    id = serializers.CharField(source="pk")
    name = serializers.CharField(source="__str__")


class DocumentOutput(serializers.Serializer[Document]):
    id = serializers.CharField(source="uid")
    title = serializers.CharField()
    collection = serializers.SerializerMethodField()
    part_of = serializers.CharField(
        source="parent.uid", default=None, allow_null=True, help_text="The document in whose file it came"
    )
    state = serializers.CharField()
    owner = OwnerOutput(allow_null=True)
    doc_type = serializers.CharField()
    department = serializers.CharField()
    security_level = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    metadata = serializers.DictField()
    language = serializers.CharField()
    source_uri = serializers.CharField()
    modified_at = serializers.DateTimeField(source="source_modified_at")
    version = VersionInForce(source="active_version", allow_null=True)
    latest_version = LatestVersion(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_collection(self, document: Document) -> str:
        return str(document.collection.uid)


class CountOutput(serializers.Serializer[Any]):
    value = serializers.CharField()
    count = serializers.IntegerField()


class SummaryOutput(serializers.Serializer[Any]):
    """facets: by name (`doc_type`, `department`, `security_level`, `language`, `tags`, `metadata.<key>` of texts and truth
    values), the values of most documents first, at most 50 each.
    """

    documents = serializers.IntegerField()
    passages = serializers.IntegerField(help_text="That readers can find.")
    pages = serializers.IntegerField()
    size_bytes = serializers.IntegerField(help_text="Of the files in force.")
    states = serializers.DictField(child=serializers.IntegerField())
    verdicts = serializers.DictField(child=serializers.IntegerField())
    facets = serializers.DictField(child=CountOutput(many=True))


FACET_NAMES = {
    "type": "doc_type",
    "department": "department",
    "level": "security_level",
    "language": "language",
    "tag": "tags",
}


def summary_json(summary: Summary) -> dict[str, Any]:
    counts = summary.counts
    zeros = dict.fromkeys(DOCUMENT_STATES, 0), dict.fromkeys(Verdict.values, 0)
    facets = {FACET_NAMES[name]: rows for name, rows in counts.items() if name in FACET_NAMES}
    facets |= {name: rows for name, rows in counts.items() if name.startswith(PREFIX)}
    return {
        **summary.totals,
        "states": zeros[0] | {row.value: row.count for row in counts["state"]},
        "verdicts": zeros[1] | {row.value: row.count for row in counts["quality"]},
        "facets": {name: CountOutput(rows, many=True).data for name, rows in facets.items()},
    }


class TrashedOutput(serializers.Serializer[Document]):
    id = serializers.CharField(source="uid")
    title = serializers.CharField()
    collection = serializers.CharField(source="collection.uid")
    source_uri = serializers.CharField()
    deleted_at = serializers.DateTimeField(source="scope.bulk_change.created_at")
    deleted_by = OwnerOutput(source="scope.bulk_change.actor", allow_null=True)
    removed_at = serializers.DateTimeField(
        source="scope.bulk_change.purge_after", help_text="When it is removed for good."
    )


class UploadOutput(serializers.Serializer[Any]):
    id = serializers.CharField(source="document.uid")
    version = serializers.IntegerField(source="version.number")
    job = serializers.CharField(source="job.uid")
    state = serializers.CharField(source="version.state")


class ChunkOutput(serializers.Serializer[Chunk]):
    id = serializers.CharField(source="pk")
    order = serializers.IntegerField()
    kind = serializers.CharField()
    text = serializers.CharField()
    heading_path = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField()
    boxes = serializers.ListField(child=serializers.DictField())
    token_count = serializers.IntegerField()
    language = serializers.CharField()
    first_element = serializers.IntegerField()
    last_element = serializers.IntegerField()
    own_from = serializers.IntegerField(
        help_text="Characters at the beginning that are said before it too: header rows, lead-in, overlap."
    )
    correction = serializers.CharField(
        source="correction.uid", default=None, help_text="The correction that its text comes from, or null."
    )


class ProgressOutput(serializers.Serializer[Any]):
    done = serializers.IntegerField(source="progress_done")
    total = serializers.IntegerField(source="progress_total")
    unit = serializers.CharField(source="progress_unit")


class JobOutput(serializers.Serializer[IngestJob]):
    id = serializers.CharField(source="uid")
    document = serializers.CharField(source="version.document.uid")
    version = serializers.IntegerField(source="version.number")
    state = serializers.CharField()
    stage = serializers.CharField(source="version.state")
    progress = ProgressOutput(source="*")
    attempt = serializers.SerializerMethodField()
    reason = serializers.SerializerMethodField()
    deadline = serializers.DateTimeField()

    def get_attempt(self, job: IngestJob) -> int:
        return job.failures + 1

    def get_reason(self, job: IngestJob) -> str:
        return reason_text(job.version)
