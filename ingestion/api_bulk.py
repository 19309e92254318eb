"""REST API of what is done to many at once: bulk changes and their undo, upload batches and their state."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.permissions.visibility import visible_scopes
from accounts.principals import principal_on
from accounts.values import Permission, Principal
from ingestion import bulk, selectors, uploads
from ingestion.api import READERS, checked, paged
from ingestion.bulk import BulkOutcome
from ingestion.conditions import FieldCondition, parse_condition, refuse_too_many
from ingestion.models import Document, UploadBatch, UploadedFile, Verdict
from ingestion.reasons import outcome_text
from ingestion.serializers import JsonText, Tags
from ingestion.values import WORDS, MetadataChange
from kb_platform.errors import InvalidInput, NotFound
from kb_platform.policies import Access, policy

ACTIONS: dict[str, Callable[..., BulkOutcome]] = {
    "archive": bulk.archive_documents,
    "restore": bulk.restore_documents,
    "reread": bulk.reread_documents,
    "retry": bulk.retry_documents,
    "cancel": bulk.cancel_documents,
    "delete": bulk.delete_documents,
    "move": bulk.move_documents,
    "set_metadata": bulk.change_metadata,
}


class FiltersInput(serializers.Serializer[Any]):
    """As the parameters of the list of documents. An empty object matches everything that is visible."""

    collection = serializers.CharField(required=False)
    state = serializers.ChoiceField(selectors.DOCUMENT_STATES, required=False)
    verdict = serializers.ChoiceField(Verdict.choices, required=False)
    doc_type = serializers.CharField(required=False)
    department = serializers.CharField(required=False)
    security_level = serializers.CharField(required=False)
    language = serializers.CharField(required=False)
    owner = serializers.CharField(required=False)
    view = serializers.ChoiceField(selectors.DOCUMENT_VIEWS, required=False)
    q = serializers.CharField(required=False)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    metadata = serializers.DictField(
        required=False, help_text="By key: a value, a list of values, or `{gte, lte, gt, lt, contains}`."
    )

    def validate_metadata(self, given: dict[str, Any]) -> tuple[FieldCondition, ...]:
        try:
            refuse_too_many(given)
            return tuple(parse_condition(str(key), value) for key, value in given.items())
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class ChangeInput(serializers.Serializer[Any]):
    """What `set_metadata` sets. Words: what is left out stays, an empty text empties. metadata: null takes a value away;

    a document whose collection does not define a field is left without it.
    """

    doc_type = serializers.CharField(max_length=100, required=False, allow_blank=True)
    department = serializers.CharField(max_length=200, required=False, allow_blank=True)
    security_level = serializers.CharField(max_length=100, required=False, allow_blank=True)
    add_tags = Tags(required=False)
    remove_tags = Tags(required=False)
    clear_tags = serializers.BooleanField(required=False)
    metadata = JsonText(required=False)


def change_of(data: dict[str, Any]) -> MetadataChange:
    words = {name: data[name] for name in (*WORDS, "clear_tags") if name in data}
    return MetadataChange(
        **words,
        add_tags=tuple(data.get("add_tags", ())),
        remove_tags=tuple(data.get("remove_tags", ())),
        values=data.get("metadata", {}),
    )


class BulkInput(serializers.Serializer[Any]):
    action = serializers.ChoiceField(list(ACTIONS))
    ids = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        max_length=bulk.MOST,
        help_text="Either these …",
    )
    filters = FiltersInput(required=False, help_text="… or everything that matches.")
    collection = serializers.CharField(required=False, help_text="Where `move` puts them.")
    set = ChangeInput(required=False, help_text="What `set_metadata` sets.")
    preview = serializers.BooleanField(
        required=False, help_text="With `set_metadata`: count what would change, and change nothing."
    )


class ItemOutput(serializers.Serializer[Any]):
    id = serializers.CharField()
    outcome = serializers.ChoiceField(("changed", "refused", "skipped", "not_found"))


class BulkOutput(serializers.Serializer[BulkOutcome]):
    changed = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="Visible documents that the caller may not change.")
    skipped = serializers.IntegerField(help_text="Documents that needed no change, or whose place is taken.")
    change = serializers.SerializerMethodField(help_text="Id to undo it by; null when it cannot be undone.")
    results = ItemOutput(many=True, default=(), help_text="What became of each of the ids, in their order.")

    def get_change(self, outcome: BulkOutcome) -> str | None:
        return str(outcome.change.uid) if outcome.change else None


class BatchInput(serializers.Serializer[Any]):
    """Metadata is given to every document of the batch; tags are added to those it has."""

    collection = serializers.CharField()
    doc_type = serializers.CharField(max_length=100, required=False, allow_blank=True)
    department = serializers.CharField(max_length=200, required=False, allow_blank=True)
    security_level = serializers.CharField(max_length=100, required=False, allow_blank=True)
    tags = Tags(required=False)
    metadata = JsonText(required=False)

    def change(self) -> MetadataChange:
        data = dict(self.validated_data)
        return change_of({**data, "add_tags": data.get("tags", ())})


class BatchOutput(serializers.Serializer[Any]):
    id = serializers.CharField(source="batch.uid")
    collection = serializers.CharField(source="batch.collection.uid")
    created_at = serializers.DateTimeField(source="batch.created_at")
    total = serializers.IntegerField(source="counts.total")
    unfinished = serializers.IntegerField(source="counts.unfinished")
    live = serializers.IntegerField(source="counts.live")
    partly_live = serializers.IntegerField(source="counts.partly")
    duplicates = serializers.IntegerField(source="counts.duplicates")
    failed = serializers.IntegerField(source="counts.failed")
    refused = serializers.IntegerField(source="counts.refused")
    chunks = serializers.IntegerField(source="counts.chunks")


class UploadedFileInput(serializers.Serializer[Any]):
    file = serializers.FileField(allow_empty_file=True, max_length=None)
    path = serializers.CharField(
        required=False, allow_blank=True, help_text="Where the file stands in a folder that is sent."
    )


class UploadedFileOutput(serializers.Serializer[UploadedFile]):
    name = serializers.CharField()
    size_bytes = serializers.IntegerField()
    outcome = serializers.ChoiceField(UploadedFile.Outcome.choices)
    text = serializers.SerializerMethodField()
    document = serializers.SerializerMethodField()
    version = serializers.IntegerField(source="version.number", default=None)
    state = serializers.CharField(source="version.state", default=None)
    job = serializers.SerializerMethodField()

    def get_text(self, entry: UploadedFile) -> str:
        return outcome_text(entry, self.context["visible"])

    def get_document(self, entry: UploadedFile) -> str | None:
        return str(entry.version.document.uid) if entry.version else None

    def get_job(self, entry: UploadedFile) -> str | None:
        job = getattr(entry.version, "job", None)
        return str(job.uid) if job else None


@policy(Access.SIGNED_IN, scope=READERS, write_scope="ingest")
class DocumentBulk(APIView):
    @extend_schema(request=BulkInput, responses=BulkOutput)
    def post(self, request: Request) -> Response:
        """Archive, restore, read again, retry what failed, cancel, move, set metadata or delete (into the trash, for 30 days) by ids or
        by filters. An id that cannot be dealt with stops none of the others.
        """
        data = checked(BulkInput, request.data).validated_data
        principal = principal_on(request)
        options = _options(principal, data)
        documents = _chosen(principal, data)
        found = dict(documents.values_list("uid", "pk")) if "ids" in data else {}
        open_to_actor = _changeable(principal, data["action"], found)
        outcome = ACTIONS[data["action"]](actor=principal, documents=documents, **options)
        items = [
            {"id": text, "outcome": _item(text, found, open_to_actor, outcome)}
            for text in data.get("ids", ())
        ]
        return Response({**BulkOutput(outcome).data, "results": items})


CONTRIBUTORS_MAY = {"reread", "retry", "cancel", "set_metadata"}


def _changeable(principal: Principal, action: str, found: Mapping[UUID, int]) -> set[int]:
    """The documents whose rights let the principal do this."""
    level = Permission.CONTRIBUTE if action in CONTRIBUTORS_MAY else Permission.MANAGE
    scopes = visible_scopes(principal, at_least=level)
    return set(
        Document.objects.filter(pk__in=found.values(), scope_id__in=scopes).values_list("pk", flat=True)
    )


def _item(text: str, found: Mapping[UUID, int], open_to_actor: set[int], outcome: BulkOutcome) -> str:
    key = found.get(_uid(text) or UUID(int=0))
    if key is None:
        return "not_found"
    if key in outcome.changed_keys:
        return "changed"
    return "skipped" if key in open_to_actor else "refused"


def _uid(text: str) -> UUID | None:
    try:
        return selectors.parse_uid(text)
    except NotFound:
        return None


def _options(principal: Principal, data: dict[str, Any]) -> dict[str, Any]:
    """What an action needs besides the documents."""
    if data["action"] == "move":
        return {"collection": selectors.get_collection(principal, data.get("collection", ""))}
    if data["action"] == "set_metadata":
        change = change_of(data.get("set", {}))
        if not change:
            raise InvalidInput(fields={"set": "Say what to set."})
        return {"change": change, "is_trial": data.get("preview", False)}
    return {}


def _chosen(principal: Principal, data: dict[str, Any]) -> QuerySet[Document]:
    if ("ids" in data) == ("filters" in data):
        raise InvalidInput(fields={"ids": "Send either ids or filters."})
    visible = selectors.documents_for(principal)
    if "ids" in data:
        return visible.filter(uid__in=[uid for text in data["ids"] if (uid := _uid(text))])
    wanted = dict(data["filters"])
    filters = selectors.DocumentFilters(
        text=wanted.pop("q", ""),
        tags=tuple(wanted.pop("tags", ())),
        conditions=wanted.pop("metadata", ()),
        user_id=principal.user_id,
        **wanted,
    )
    return selectors.filter_documents(visible, filters)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class ChangeUndo(APIView):
    @extend_schema(request=None, responses=BulkOutput)
    def post(self, request: Request, uid: str) -> Response:
        """Take a bulk change of one's own back; deletions for 30 days."""
        principal = principal_on(request)
        outcome = bulk.undo(actor=principal, change=bulk.get_change(principal, uid))
        return Response(BulkOutput(outcome).data)


def _batch(principal: Principal, batch: UploadBatch) -> dict[str, Any]:
    counts = uploads.count_files(uploads.files_of(principal, batch), batch)
    return BatchOutput({"batch": batch, "counts": counts}).data


@policy(Access.SIGNED_IN, scope=READERS, write_scope="ingest")
class UploadList(APIView):
    @extend_schema(request=BatchInput, responses={201: BatchOutput})
    def post(self, request: Request) -> Response:
        """Open a batch that files are then sent into one by one."""
        principal = principal_on(request)
        wanted = checked(BatchInput, request.data)
        collection = selectors.get_collection(principal, wanted.validated_data["collection"])
        batch = uploads.open_batch(actor=principal, collection=collection, change=wanted.change())
        return Response(_batch(principal, batch), status=201)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class UploadDetail(APIView):
    @extend_schema(responses=BatchOutput)
    def get(self, request: Request, uid: str) -> Response:
        principal = principal_on(request)
        return Response(_batch(principal, uploads.get_batch(principal, uid)))


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class UploadFiles(APIView):
    @extend_schema(responses=UploadedFileOutput(many=True))
    def get(self, request: Request, uid: str) -> Response:
        principal = principal_on(request)
        files = uploads.files_of(principal, uploads.get_batch(principal, uid))
        return paged(self, request, files, UploadedFileOutput, visible=visible_scopes(principal))

    @extend_schema(
        request={"multipart/form-data": UploadedFileInput},
        responses={201: UploadedFileOutput, 422: UploadedFileOutput},
    )
    def post(self, request: Request, uid: str) -> Response:
        """Send one file. 422 says why it was refused; its neighbours are not affected."""
        principal = principal_on(request)
        batch = uploads.get_batch(principal, uid)
        data = checked(UploadedFileInput, request.data).validated_data
        entry = uploads.add_file(
            actor=principal, batch=batch, file=data["file"], path=data.get("path", "").replace("\x00", "")
        )
        refused = entry.outcome == UploadedFile.Outcome.REFUSED
        context = {"visible": visible_scopes(principal)}
        return Response(UploadedFileOutput(entry, context=context).data, status=422 if refused else 201)
