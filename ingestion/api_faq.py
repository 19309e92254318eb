"""REST API of the questions and answers of a collection."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.permissions.visibility import require
from accounts.principals import principal_on
from accounts.values import Permission, Principal
from ingestion import bulk, selectors
from ingestion.api import READERS, checked
from ingestion.faq import importing, services
from ingestion.faq.selectors import STATES, Narrowing, get_pair, pairs_for, phrasings_of, with_states
from ingestion.faq.values import PairDraft
from ingestion.models import Document, FaqPair
from ingestion.serializers import OwnerOutput
from kb_platform.api import Pages
from kb_platform.policies import Access, policy

MOST_AT_ONCE = 1_000


class PairOutput(serializers.Serializer[FaqPair]):
    id = serializers.CharField(source="uid")
    question = serializers.CharField()
    answer = serializers.CharField()
    phrasings = serializers.SerializerMethodField(help_text="Other wordings of the question.")
    owner = OwnerOutput(source="document.owner", allow_null=True)
    valid = serializers.SerializerMethodField(help_text="What is not valid is kept, and found by nobody.")
    state = serializers.CharField(
        source="document.state", help_text="As of documents: `processing` until it is found."
    )
    collection = serializers.CharField(source="document.collection.uid")
    document = serializers.CharField(
        source="document.uid", help_text="The document that is searched and cited."
    )
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()

    def get_phrasings(self, pair: FaqPair) -> list[str]:
        return phrasings_of(pair)

    def get_valid(self, pair: FaqPair) -> bool:
        return pair.document.archived_at is None


class PairInput(serializers.Serializer[Any]):
    question = serializers.CharField()
    answer = serializers.CharField()
    phrasings = serializers.ListField(child=serializers.CharField(), required=False)
    owner = serializers.EmailField(required=False, help_text="E-mail address; whoever sends it if not given.")


class PairPatch(serializers.Serializer[Any]):
    question = serializers.CharField(required=False)
    answer = serializers.CharField(required=False)
    phrasings = serializers.ListField(child=serializers.CharField(), required=False)
    owner = serializers.EmailField(required=False)
    valid = serializers.BooleanField(required=False, help_text="For those who manage it.")


class PairIds(serializers.Serializer[Any]):
    ids = serializers.ListField(child=serializers.UUIDField(), max_length=MOST_AT_ONCE)


class DeletedOutput(serializers.Serializer[Any]):
    deleted = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="Missing, or not yours to delete.")


class ImportInput(serializers.Serializer[Any]):
    file = serializers.FileField()
    preview = serializers.BooleanField(default=False, help_text="Only say what each line would do.")


class LineOutput(serializers.Serializer[Any]):
    line = serializers.IntegerField(source="number")
    question = serializers.CharField()
    action = serializers.ChoiceField(("add", "change", "same", "refused"))
    reason = serializers.CharField(source="refusal", help_text="Why it cannot be taken; else empty.")


class ImportOutput(serializers.Serializer[Any]):
    encoding = serializers.CharField()
    preview = serializers.BooleanField(help_text="Whether nothing was written.")
    added = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    refused = serializers.IntegerField()
    lines = LineOutput(many=True)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionFaq(APIView):
    @extend_schema(
        parameters=[OpenApiParameter("q"), OpenApiParameter("state", enum=STATES)],
        responses=PairOutput(many=True),
    )
    def get(self, request: Request, uid: str) -> Response:
        """The questions of the collection, those changed last first."""
        principal = principal_on(request)
        collection = selectors.get_collection(principal, uid)
        query = request.query_params
        wanted = Narrowing(text=query.get("q", "")[:300], state=query.get("state", "")[:10])
        pages = Pages()
        found = pages.paginate_queryset(pairs_for(principal, collection, wanted), request, view=self)
        rows: Any = with_states(principal, found or ())
        return pages.get_paginated_response(PairOutput(rows, many=True).data)

    @extend_schema(request=PairInput, responses={201: PairOutput})
    def post(self, request: Request, uid: str) -> Response:
        """Add a question; for the collection's contributors. 409 where it is asked already."""
        principal = principal_on(request)
        collection = selectors.get_collection(principal, uid)
        data = checked(PairInput, request.data).validated_data
        pair = services.add_pair(actor=principal, collection=collection, draft=_draft(data))
        return Response(PairOutput(get_pair(principal, str(pair.uid))).data, status=201)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class FaqDetail(APIView):
    @extend_schema(responses=PairOutput)
    def get(self, request: Request, uid: str) -> Response:
        return Response(PairOutput(get_pair(principal_on(request), uid)).data)

    @extend_schema(request=PairPatch, responses=PairOutput)
    def patch(self, request: Request, uid: str) -> Response:
        """Change what is given. Old words are found by nobody from this moment on."""
        principal = principal_on(request)
        pair = get_pair(principal, uid)
        data = checked(PairPatch, request.data).validated_data
        with transaction.atomic():  # what is refused in one part changes nothing
            if set(data) - {"valid"}:
                stored = {"question": pair.question, "answer": pair.answer, "phrasings": phrasings_of(pair)}
                services.change_pair(actor=principal, pair=pair, draft=_draft(stored | data))
            if "valid" in data:
                require(principal, Permission.MANAGE, pair.document.scope_id)
                verb = bulk.restore_documents if data["valid"] else bulk.archive_documents
                verb(actor=principal, documents=_documents(principal, [pair]))
        return Response(PairOutput(get_pair(principal, uid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: str) -> Response:
        """Put it into the trash, for those who manage it."""
        principal = principal_on(request)
        pair = get_pair(principal, uid)
        require(principal, Permission.MANAGE, pair.document.scope_id)
        bulk.delete_documents(actor=principal, documents=_documents(principal, [pair]))
        return Response(status=204)


@policy(Access.OBJECT, scope="ingest")
class CollectionFaqDelete(APIView):
    @extend_schema(request=PairIds, responses=DeletedOutput)
    def post(self, request: Request, uid: str) -> Response:
        """Put several into the trash. Says how many were, and how many could not be."""
        principal = principal_on(request)
        collection = selectors.get_collection(principal, uid)
        wanted = set(checked(PairIds, request.data).validated_data["ids"])
        pairs = list(pairs_for(principal, collection).filter(uid__in=wanted))
        outcome = bulk.delete_documents(actor=principal, documents=_documents(principal, pairs))
        return Response({"deleted": outcome.changed, "refused": len(wanted) - outcome.changed})


@policy(Access.OBJECT, scope="ingest")
class CollectionFaqImport(APIView):
    @extend_schema(request={"multipart/form-data": ImportInput}, responses=ImportOutput)
    def post(self, request: Request, uid: str) -> Response:
        """Take over a CSV file: question, answer, owner, further wordings. Lines that cannot be taken are told."""
        principal = principal_on(request)
        collection = selectors.get_collection(principal, uid)
        data = checked(ImportInput, request.data).validated_data
        content = data["file"].read(importing.MAX_BYTES + 1)
        kept = importing.read_file(
            actor=principal, collection=collection, name=data["file"].name, data=content
        )
        lines = importing.lines_of(kept)
        if data["preview"]:
            outcome = importing.forecast(lines)
            kept.delete()
        else:
            outcome = importing.take_over(actor=principal, kept=kept)
        counts = {"added": outcome.added, "changed": outcome.changed, "refused": outcome.refused}
        answer = {"encoding": kept.encoding, "preview": data["preview"], "unchanged": outcome.same, **counts}
        return Response({**answer, "lines": LineOutput(lines, many=True).data})


def _draft(data: dict[str, Any]) -> PairDraft:
    return PairDraft(
        question=data["question"],
        answer=data["answer"],
        phrasings=tuple(data.get("phrasings", ())),
        owner_email=data.get("owner", ""),
    )


def _documents(principal: Principal, pairs: list[FaqPair]) -> QuerySet[Document]:
    return selectors.documents_for(principal).filter(pk__in=[pair.document_id for pair in pairs])
