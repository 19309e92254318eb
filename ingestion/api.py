"""REST API of collections, documents and jobs. Each handler parses, calls one service or selector, and renders."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import FileResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from accounts.permissions.explanation import explain_access
from accounts.permissions.grants import grants_of, version_of
from accounts.permissions.visibility import require, require_sharing, visible_scopes
from accounts.principals import principal_on
from accounts.selectors import find_holders, find_user
from accounts.serializers import (
    AccessVerdictOutput,
    GrantsOutput,
    HoldersOutput,
    holders_as_json,
    parse_grants,
    parse_version,
    render_grants,
    verdict_as_json,
)
from accounts.values import GrantRequest, Permission, Principal
from ingestion import bulk, files, selectors, services
from ingestion import serializers as shapes
from ingestion.access import access_version, follows_collection, plan_collection, plan_document
from ingestion.blobs import store
from ingestion.conditions import conditions_in
from ingestion.facets import summary_of
from ingestion.intake import require_place
from ingestion.models import Collection, Document, DocumentVersion
from ingestion.values import SourceFile, clean_name
from kb_platform.api import Pages
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy

FILTERS = (
    "collection", "state", "verdict", "doc_type", "department", "security_level", "language", "owner", "view",
)  # fmt: skip
FILTER_PARAMETERS = [
    *(OpenApiParameter(name) for name in (*FILTERS, "q", "tag")),
    OpenApiParameter(
        "metadata.<key>",
        description="Equal to a value of an own field; `metadata.<key>.gte`, `.lte`, `.gt`, `.lt` and `.contains` compare.",
    ),
]
READERS = ("search", "ask", "ingest")  # token scopes that may look; what may be seen depends on grants


def paged(
    view: APIView, request: Request, rows: QuerySet[Any], shape: type[BaseSerializer[Any]], **context: Any
) -> Response:
    """One page of rows in the shape, as API.md pages lists."""
    pages = Pages()
    page = pages.paginate_queryset(rows, request, view=view)
    return pages.get_paginated_response(shape(page, many=True, context=context).data)


def checked(shape: type[BaseSerializer[Any]], data: Any, **options: Any) -> Any:
    """The input serializer, valid; otherwise a 400 that names the fields."""
    serializer = shape(data=data, **options)
    serializer.is_valid(raise_exception=True)
    return serializer


def _collection(request: Request, row: Collection) -> dict[str, Any]:
    managed = visible_scopes(principal_on(request), at_least=Permission.MANAGE)
    return shapes.CollectionOutput(row, context={"managed_scopes": managed}).data


@policy(Access.SIGNED_IN, scope=READERS, write_scope="ingest")
class CollectionList(APIView):
    @extend_schema(responses=shapes.CollectionOutput(many=True))
    def get(self, request: Request) -> Response:
        managed = visible_scopes(principal_on(request), at_least=Permission.MANAGE)
        rows = selectors.collections_for(principal_on(request)).select_related("scope")
        return paged(self, request, rows, shapes.CollectionOutput, managed_scopes=managed)

    @extend_schema(request=shapes.CollectionInput, responses={201: shapes.CollectionOutput})
    def post(self, request: Request) -> Response:
        data = checked(shapes.CollectionInput, request.data).validated_data
        made = services.create_collection(actor=principal_on(request), **data)
        row = selectors.get_collection(principal_on(request), str(made.uid))
        return Response(_collection(request, row), status=201)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionDetail(APIView):
    @extend_schema(responses=shapes.CollectionOutput)
    def get(self, request: Request, uid: str) -> Response:
        return Response(_collection(request, selectors.get_collection(principal_on(request), uid)))

    @extend_schema(request=shapes.CollectionInput, responses=shapes.CollectionOutput)
    def patch(self, request: Request, uid: str) -> Response:
        collection = selectors.get_collection(principal_on(request), uid)
        changes = checked(shapes.CollectionInput, request.data, partial=True).validated_data
        services.update_collection(actor=principal_on(request), collection=collection, **changes)
        return Response(_collection(request, selectors.get_collection(principal_on(request), uid)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: str) -> Response:
        collection = selectors.get_collection(principal_on(request), uid)
        services.delete_collection(actor=principal_on(request), collection=collection)
        return Response(status=204)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionGrants(APIView):
    @extend_schema(responses=GrantsOutput)
    def get(self, request: Request, uid: str) -> Response:
        return Response(self._answer(_managed_collection(request, uid)))

    @extend_schema(request=GrantsOutput, responses=GrantsOutput)
    def put(self, request: Request, uid: str) -> Response:
        """Replace the list. Your own entry stays; a list without a lasting manager is refused."""
        collection = selectors.get_collection(principal_on(request), uid)
        services.share_collection(
            actor=principal_on(request),
            collection=collection,
            grants=parse_grants(request.data),
            version=parse_version(request.data),
        )
        return Response(self._answer(collection))

    def _answer(self, collection: Collection) -> dict[str, Any]:
        version = version_of(grants_of(collection.scope))
        return {"grants": render_grants(collection.scope), "version": version}


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionGrantsPreview(APIView):
    @extend_schema(request=GrantsOutput, responses=shapes.AccessPlanOutput)
    def post(self, request: Request, uid: str) -> Response:
        """What replacing the list would change, without changing it: who gains and loses sight of how much."""
        collection = _managed_collection(request, uid)
        planned = plan_collection(principal_on(request), collection, parse_grants(request.data))
        return Response(shapes.plan_json(planned, version_of(grants_of(collection.scope))))


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionAccess(APIView):
    @extend_schema(parameters=[OpenApiParameter("user", str)], responses=AccessVerdictOutput)
    def get(self, request: Request, uid: str) -> Response:
        """Whether a person can see the collection, and why; for its managers."""
        collection = _managed_collection(request, uid)
        person = find_user(request.query_params.get("user", ""))
        return Response(verdict_as_json(explain_access(collection.scope, person)))


@policy(Access.SIGNED_IN, scope="ingest")
class HolderList(APIView):
    @extend_schema(parameters=[OpenApiParameter("q", str)], responses=HoldersOutput)
    def get(self, request: Request) -> Response:
        """At most eight people and groups whose name or address holds `q`, for those who share something."""
        require_sharing(principal_on(request))
        return Response(holders_as_json(find_holders(request.query_params.get("q", ""))))


def _managed_collection(request: Request, uid: str) -> Collection:
    collection = selectors.get_collection(principal_on(request), uid)
    require(principal_on(request), Permission.MANAGE, collection.scope_id)
    return collection


def _managed_document(request: Request, uid: str) -> Document:
    document = selectors.get_document(principal_on(request), uid)
    require(principal_on(request), Permission.MANAGE, document.scope_id)
    return document


def _filtered(request: Request) -> QuerySet[Document]:
    """The documents open to the caller that meet the conditions in the address."""
    wanted = request.query_params
    named: dict[str, Any] = {name: wanted.get(name, "") for name in FILTERS}
    own = [(name, value) for name, values in wanted.lists() for value in values]
    filters = selectors.DocumentFilters(
        **named,
        text=wanted.get("q", ""),
        tags=tuple(wanted.getlist("tag")),
        conditions=conditions_in(own),
        user_id=principal_on(request).user_id,
    )
    return selectors.filter_documents(selectors.documents_for(principal_on(request)), filters)


@policy(Access.SIGNED_IN, scope=READERS)
class DocumentSummary(APIView):
    @extend_schema(parameters=FILTER_PARAMETERS, responses=shapes.SummaryOutput)
    def get(self, request: Request) -> Response:
        """How many documents are in which state, how well they were read, and which values they have: in a few queries,
        however many there are. Filters as of the list; everything counts only what is open to the caller.
        """
        return Response(shapes.summary_json(summary_of(_filtered(request))))


@policy(Access.SIGNED_IN, scope=READERS, write_scope="ingest")
class DocumentList(APIView):
    @extend_schema(parameters=FILTER_PARAMETERS, responses=shapes.DocumentOutput(many=True))
    def get(self, request: Request) -> Response:
        return paged(self, request, _filtered(request), shapes.DocumentOutput)

    @extend_schema(request={"multipart/form-data": shapes.UploadInput}, responses={201: shapes.UploadOutput})
    def post(self, request: Request) -> Response:
        serializer = checked(shapes.UploadInput, request.data)
        data = serializer.validated_data
        collection = selectors.get_collection(principal_on(request), data["collection"])
        require(principal_on(request), Permission.CONTRIBUTE, collection.scope_id)
        require_place(principal_on(request))
        source = SourceFile(
            name=clean_name(data["file"].name),
            blob=store(data["file"].chunks()),
            source_uri=data.get("source_uri", ""),
            modified_at=data.get("modified_at"),
        )
        upload = services.upload_document(
            actor=principal_on(request),
            collection=collection,
            file=source,
            attributes=serializer.attributes(),
        )
        return Response(shapes.UploadOutput(upload).data, status=201)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentDetail(APIView):
    @extend_schema(responses=shapes.DocumentOutput)
    def get(self, request: Request, uid: str) -> Response:
        return Response(shapes.DocumentOutput(selectors.get_document(principal_on(request), uid)).data)

    @extend_schema(request=shapes.DocumentPatch, responses=shapes.DocumentOutput)
    def patch(self, request: Request, uid: str) -> Response:
        document = selectors.get_document(principal_on(request), uid)
        serializer = checked(shapes.DocumentPatch, request.data, partial=True)
        attributes = serializer.attributes()
        with transaction.atomic():  # what is refused in one part changes nothing
            if target := serializer.validated_data.get("collection"):
                collection = selectors.get_collection(principal_on(request), target)
                services.move_document(actor=principal_on(request), document=document, collection=collection)
            services.update_document(actor=principal_on(request), document=document, attributes=attributes)
        return Response(shapes.DocumentOutput(selectors.get_document(principal_on(request), uid)).data)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "permanent",
                bool,
                description="`true`: remove it for good at once, out of the trash too. There is no way back.",
            )
        ],
        responses={204: None},
    )
    def delete(self, request: Request, uid: str) -> Response:
        """Move the document to the trash: out of everybody's sight at once, restorable for 30 days."""
        actor = principal_on(request)
        if _is_permanent(request):
            _remove_for_good(actor, uid)
            return Response(status=204)
        document = selectors.get_document(actor, uid)
        require(actor, Permission.MANAGE, document.scope_id)
        bulk.delete_documents(actor=actor, documents=Document.objects.filter(pk=document.pk))
        return Response(status=204)


def _is_permanent(request: Request) -> bool:
    text = request.query_params.get("permanent", "false").lower()
    if text not in ("true", "false"):  # never guessed at: one of them has no way back
        raise InvalidInput(fields={"permanent": "Send true or false."})
    return text == "true"


def _remove_for_good(actor: Principal, uid: str) -> None:
    """A document in use, or one in the trash."""
    trashed = bulk.trash_of(actor).filter(uid=selectors.parse_uid(uid))
    if not bulk.purge_documents(actor=actor, documents=trashed).changed:
        services.delete_document(actor=actor, document=selectors.get_document(actor, uid))


@policy(Access.SIGNED_IN, scope=READERS)
class TrashList(APIView):
    @extend_schema(responses=shapes.TrashedOutput(many=True))
    def get(self, request: Request) -> Response:
        """Deleted documents of what the caller manages, whoever deleted them; each until its `removed_at`."""
        return paged(self, request, bulk.trash_of(principal_on(request)), shapes.TrashedOutput)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class TrashRestore(APIView):
    @extend_schema(request=None, responses=shapes.DocumentOutput)
    def post(self, request: Request, uid: str) -> Response:
        """Bring a document back from the trash, to those who could see it."""
        actor = principal_on(request)
        found = bulk.get_trashed(actor, uid)
        bulk.undelete_documents(actor=actor, documents=Document.objects.filter(pk=found.pk))
        return Response(shapes.DocumentOutput(selectors.get_document(actor, uid)).data)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentGrants(APIView):
    @extend_schema(responses=GrantsOutput)
    def get(self, request: Request, uid: str) -> Response:
        return Response(self._answer(_managed_document(request, uid)))

    @extend_schema(request=GrantsOutput, responses=GrantsOutput)
    def put(self, request: Request, uid: str) -> Response:
        """Replace the document's own list; `null` for `grants` lets it follow its collection again."""
        services.share_document(
            actor=principal_on(request),
            document=selectors.get_document(principal_on(request), uid),
            grants=_wanted_list(request),
            version=parse_version(request.data),
        )
        return Response(self._answer(selectors.get_document(principal_on(request), uid)))

    def _answer(self, document: Document) -> dict[str, Any]:
        own = None if follows_collection(document) else render_grants(document.scope)
        return {"grants": own, "version": access_version(document)}


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentGrantsPreview(APIView):
    @extend_schema(request=GrantsOutput, responses=shapes.AccessPlanOutput)
    def post(self, request: Request, uid: str) -> Response:
        """What another list, or `null` for that of the collection, would change, without changing it."""
        document = _managed_document(request, uid)
        planned = plan_document(principal_on(request), document, _wanted_list(request))
        return Response(shapes.plan_json(planned, access_version(document)))


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentAccess(APIView):
    @extend_schema(parameters=[OpenApiParameter("user", str)], responses=AccessVerdictOutput)
    def get(self, request: Request, uid: str) -> Response:
        """Whether a person can see the document, and why; for its managers."""
        document = _managed_document(request, uid)
        person = find_user(request.query_params.get("user", ""))
        return Response(verdict_as_json(explain_access(document.scope, person)))


def _wanted_list(request: Request) -> list[GrantRequest] | None:
    follow = isinstance(request.data, dict) and request.data.get("grants", ()) is None
    return None if follow else parse_grants(request.data)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentReparse(APIView):
    @extend_schema(request=None, responses={202: shapes.UploadOutput})
    def post(self, request: Request, uid: str) -> Response:
        document = selectors.get_document(principal_on(request), uid)
        upload = services.reparse_document(actor=principal_on(request), document=document)
        return Response(shapes.UploadOutput(upload).data, status=202)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentVersions(APIView):
    @extend_schema(responses=shapes.VersionOutput(many=True))
    def get(self, request: Request, uid: str) -> Response:
        document = selectors.get_document(principal_on(request), uid)
        versions = selectors.versions_of(principal_on(request), document)
        return paged(self, request, versions, shapes.VersionOutput)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentChunks(APIView):
    @extend_schema(responses=shapes.ChunkOutput(many=True))
    def get(self, request: Request, uid: str) -> Response:
        document = selectors.get_document(principal_on(request), uid)
        return paged(self, request, selectors.chunks_of(document), shapes.ChunkOutput)


@policy(Access.OBJECT, scope=READERS)
class DocumentFile(APIView):
    @extend_schema(responses={(200, "application/octet-stream"): bytes})
    def get(self, request: Request, uid: str) -> FileResponse:
        principal = principal_on(request)
        document = selectors.get_document(principal, uid)
        return files.attachment(selectors.get_original_version(principal, document))


@policy(Access.OBJECT, scope=READERS)
class DocumentPage(APIView):
    @extend_schema(responses={(200, "image/webp"): bytes})
    def get(self, request: Request, uid: str, page: int) -> HttpResponseBase:
        return files.page_image(request._request, _shown_version(request, uid), page)


@policy(Access.OBJECT, scope=READERS)
class DocumentPicture(APIView):
    @extend_schema(responses={(200, "image/webp"): bytes})
    def get(self, request: Request, uid: str, digest: str) -> HttpResponseBase:
        return files.picture(request._request, _shown_version(request, uid), digest)


@policy(Access.OBJECT, scope=READERS)
class DocumentRecording(APIView):
    @extend_schema(responses={(200, "application/octet-stream"): bytes})
    def get(self, request: Request, uid: str, digest: str) -> FileResponse:
        """The sound or video that subtitles came with."""
        return files.recording(_shown_version(request, uid), digest)


def _shown_version(request: Request, uid: str) -> DocumentVersion:
    """The version that the address names, else the one in force."""
    document = selectors.get_document(principal_on(request), uid)
    number = request.query_params.get("version", "")
    return selectors.get_published_version(
        document, int(number) if number.isdecimal() and len(number) < 10 else None
    )


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class JobDetail(APIView):
    @extend_schema(responses=shapes.JobOutput)
    def get(self, request: Request, uid: str) -> Response:
        return Response(shapes.JobOutput(selectors.get_job(principal_on(request), uid)).data)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class JobCancel(APIView):
    @extend_schema(request=None, responses=shapes.JobOutput)
    def post(self, request: Request, uid: str) -> Response:
        job = services.cancel_job(
            actor=principal_on(request), job=selectors.get_job(principal_on(request), uid)
        )
        return Response(shapes.JobOutput(job).data)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class JobRetry(APIView):
    @extend_schema(request=None, responses=shapes.JobOutput)
    def post(self, request: Request, uid: str) -> Response:
        job = services.retry_job(
            actor=principal_on(request), job=selectors.get_job(principal_on(request), uid)
        )
        return Response(shapes.JobOutput(job).data)
