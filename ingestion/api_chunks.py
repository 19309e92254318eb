"""REST API of chunks: how a collection cuts its documents, previews of that, and corrections by people."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.permissions.visibility import require
from accounts.principals import principal_on
from accounts.values import Permission
from ingestion import collection_chunking, corrections, rechunking, selectors
from ingestion.api import READERS, checked, paged
from ingestion.chunking.choices import SHAPE_NAMES, Chunking, chosen, from_key, usual
from ingestion.collection_chunking import Preview, Samples
from ingestion.embedding.registry import get_embedder
from ingestion.models import Collection, Correction, Document
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy

_LARGEST_NUMBER = 2**31 - 1


class ChunkingInput(serializers.Serializer[Any]):
    """Sizes in tokens of the embedding model in use; what is not given is the usual of the profile."""

    profile = serializers.ChoiceField(list(SHAPE_NAMES))
    target_tokens = serializers.IntegerField(required=False, max_value=_LARGEST_NUMBER)
    max_tokens = serializers.IntegerField(required=False, max_value=_LARGEST_NUMBER)
    overlap_tokens = serializers.IntegerField(required=False, max_value=_LARGEST_NUMBER)

    def choice(self) -> Chunking:
        data = self.validated_data
        try:
            return chosen(
                shape=data["profile"],
                target=data.get("target_tokens"),
                largest=data.get("max_tokens"),
                overlap=data.get("overlap_tokens"),
                most_tokens=get_embedder().max_tokens,
            )
        except InvalidInput as error:
            names = {
                "shape": "profile",
                "target": "target_tokens",
                "largest": "max_tokens",
                "overlap": "overlap_tokens",
            }
            raise InvalidInput(fields={names[name]: text for name, text in error.fields.items()}) from error


class PreviewInput(ChunkingInput):
    document = serializers.CharField(help_text="A document of the collection that has been read.")


class ChoiceOutput(serializers.Serializer[Chunking]):
    profile = serializers.CharField(source="shape")
    target_tokens = serializers.IntegerField(source="target")
    max_tokens = serializers.IntegerField(source="largest")
    overlap_tokens = serializers.IntegerField(source="overlap")


class ChunkingOutput(ChoiceOutput):
    """documents: those in force; waiting: not cut this way yet; failed: given up, still searchable as before."""

    documents = serializers.IntegerField()
    waiting = serializers.IntegerField()
    failed = serializers.IntegerField()
    largest_max_tokens = serializers.IntegerField()
    profiles = ChoiceOutput(many=True, help_text="Every profile with its usual sizes.")


class SampleOutput(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    kind = serializers.CharField()
    heading_path = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField()
    token_count = serializers.IntegerField()
    page = serializers.IntegerField(allow_null=True)
    first_element = serializers.IntegerField()
    last_element = serializers.IntegerField()


class SamplesOutput(serializers.Serializer[Samples]):
    """count and sizes are of all chunks that were looked at; chunks are the first of them."""

    count = serializers.IntegerField()
    smallest = serializers.IntegerField()
    median = serializers.IntegerField()
    largest = serializers.IntegerField()
    chunks = SampleOutput(many=True, source="shown")


class PreviewOutput(serializers.Serializer[Preview]):
    """Long documents are looked at from their beginning: `elements_seen` of `elements`."""

    now = SamplesOutput()
    then = SamplesOutput()
    elements_seen = serializers.IntegerField(source="seen")
    elements = serializers.IntegerField()
    is_partial = serializers.BooleanField()


class CorrectionInput(serializers.Serializer[Any]):
    """text: for `edit`. at: for `split`, how many characters of the chunk's own text the first part keeps."""

    action = serializers.ChoiceField(Correction.Action.choices)
    chunk = serializers.IntegerField(min_value=0, max_value=2**63 - 1)
    text = serializers.CharField(required=False, max_length=corrections.LONGEST_TEXT, trim_whitespace=False)
    at = serializers.IntegerField(required=False, min_value=1, max_value=_LARGEST_NUMBER)


class CorrectionOutput(serializers.Serializer[Correction]):
    """fits: whether the version in force holds the quote; null until its chunks have been made with it."""

    id = serializers.CharField(source="uid")
    action = serializers.CharField()
    version = serializers.IntegerField(source="version.number")
    first_element = serializers.IntegerField()
    last_element = serializers.IntegerField()
    quote = serializers.CharField()
    texts = serializers.ListField(child=serializers.CharField())
    fits = serializers.SerializerMethodField()
    made_by = serializers.CharField(allow_null=True)
    made_at = serializers.DateTimeField()
    undone_by = serializers.CharField(allow_null=True)
    undone_at = serializers.DateTimeField(allow_null=True)

    def get_fits(self, row: Correction) -> bool | None:
        fits: dict[int, bool] = self.context.get("fits", {})
        return fits.get(row.pk) if row.undone_at is None else None


def _managed(request: Request, uid: str) -> Collection:
    collection = selectors.get_collection(principal_on(request), uid)
    require(principal_on(request), Permission.MANAGE, collection.scope_id)
    return collection


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionChunking(APIView):
    @extend_schema(responses=ChunkingOutput)
    def get(self, request: Request, uid: str) -> Response:
        """How the collection's documents are cut, and how far they have followed; for its managers."""
        return Response(self._answer(request, _managed(request, uid)))

    @extend_schema(request=ChunkingInput, responses=ChunkingOutput)
    def put(self, request: Request, uid: str) -> Response:
        """Cut them another way. Each keeps its chunks until the new ones are ready; only changed texts are embedded."""
        collection = _managed(request, uid)
        choice = checked(ChunkingInput, request.data).choice()
        collection_chunking.change_chunking(actor=principal_on(request), collection=collection, choice=choice)
        return Response(self._answer(request, selectors.get_collection(principal_on(request), uid)))

    def _answer(self, request: Request, collection: Collection) -> dict[str, Any]:
        progress = rechunking.progress_of(principal_on(request), collection)
        return {
            **ChoiceOutput(from_key(collection.chunking)).data,
            "documents": progress.total,
            "waiting": progress.waiting,
            "failed": progress.failed,
            "largest_max_tokens": get_embedder().max_tokens,
            "profiles": [ChoiceOutput(usual(shape)).data for shape in SHAPE_NAMES],
        }


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionChunkingPreview(APIView):
    @extend_schema(request=PreviewInput, responses=PreviewOutput)
    def post(self, request: Request, uid: str) -> Response:
        """The chunks that a document has now, and those that it would have. Nothing is changed."""
        collection = _managed(request, uid)
        data = checked(PreviewInput, request.data)
        found = collection_chunking.preview(
            principal_on(request),
            collection,
            data.validated_data["document"],
            data.choice(),
            embedder=get_embedder(),
        )
        return Response(PreviewOutput(found).data)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class DocumentCorrections(APIView):
    @extend_schema(parameters=[OpenApiParameter("page", int)], responses=CorrectionOutput(many=True))
    def get(self, request: Request, uid: str) -> Response:
        """Corrections by people, newest first, the undone ones too; for those who contribute."""
        document = self._document(request, uid)
        fits = _fits(document)
        return paged(self, request, corrections.history_of(document), CorrectionOutput, fits=fits)

    @extend_schema(request=CorrectionInput, responses={201: CorrectionOutput})
    def post(self, request: Request, uid: str) -> Response:
        """Correct a chunk of `GET …/chunks`. It is carried out within moments; what is left out is gone at once."""
        document = self._document(request, uid)
        data = checked(CorrectionInput, request.data).validated_data
        made = _correct(request, document, data)
        return Response(CorrectionOutput(made).data, status=201)

    def _document(self, request: Request, uid: str) -> Document:
        document = selectors.get_document(principal_on(request), uid)
        require(principal_on(request), Permission.CONTRIBUTE, document.scope_id)
        return document


def _fits(document: Document) -> dict[int, bool]:
    version = document.active_version
    if version is None:
        return {}
    return dict(version.correction_outcomes.values_list("correction_id", "fits"))


def _correct(request: Request, document: Document, data: dict[str, Any]) -> Correction:
    subject: dict[str, Any] = {
        "actor": principal_on(request),
        "document": document,
        "chunk": data["chunk"],
    }
    match data["action"]:
        case Correction.Action.EDIT:
            text = data.get("text", "")
            return corrections.correct_text(**subject, text=text, counter=get_embedder())
        case Correction.Action.SPLIT:
            return corrections.split(**subject, at=data.get("at", 0))
        case Correction.Action.MERGE:
            return corrections.merge(**subject, counter=get_embedder())
        case _:
            return corrections.exclude(**subject)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CorrectionUndo(APIView):
    @extend_schema(request=None, responses=CorrectionOutput)
    def post(self, request: Request, uid: str, correction: str) -> Response:
        """Take a correction back; it stays in the history. Refused while a later one builds on it."""
        document = selectors.get_document(principal_on(request), uid)
        undone = corrections.undo(actor=principal_on(request), document=document, uid=correction)
        return Response(CorrectionOutput(undone, context={"fits": _fits(document)}).data)
