"""REST API of the metadata fields that a collection defines for its documents."""

from typing import Any

from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.principals import principal_on
from ingestion import fields, selectors
from ingestion.api import READERS, checked, paged
from ingestion.models import MetadataField
from kb_platform.errors import InvalidInput
from kb_platform.policies import Access, policy


class FieldOutput(serializers.Serializer[MetadataField]):
    key = serializers.CharField(help_text="Name in `metadata` and in filters; never changes.")
    label = serializers.CharField()  # type: ignore[assignment]
    kind = serializers.ChoiceField(MetadataField.Kind.choices)
    choices = serializers.ListField(child=serializers.CharField())
    removed = serializers.SerializerMethodField(help_text="Out of use; documents keep their values.")

    def get_removed(self, field: MetadataField) -> bool:
        return field.removed_at is not None


class FieldInput(serializers.Serializer[Any]):
    label = serializers.CharField(max_length=fields.MAX_LABEL)  # type: ignore[assignment]
    kind = serializers.ChoiceField(MetadataField.Kind.choices)
    choices = serializers.ListField(child=serializers.CharField(), required=False)


class FieldPatch(serializers.Serializer[Any]):
    label = serializers.CharField(max_length=fields.MAX_LABEL, required=False)  # type: ignore[assignment]
    choices = serializers.ListField(child=serializers.CharField(), required=False)
    removed = serializers.BooleanField(required=False, help_text="`false` brings a removed field back.")


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionFields(APIView):
    @extend_schema(responses=FieldOutput(many=True))
    def get(self, request: Request, uid: str) -> Response:
        """The fields of the collection, those out of use last."""
        collection = selectors.get_collection(principal_on(request), uid)
        rows = collection.fields.order_by(F("removed_at").asc(nulls_first=True), "id")
        return paged(self, request, rows, FieldOutput)

    @extend_schema(request=FieldInput, responses={201: FieldOutput})
    def post(self, request: Request, uid: str) -> Response:
        """Add a field; for the collection's managers."""
        collection = selectors.get_collection(principal_on(request), uid)
        data = checked(FieldInput, request.data).validated_data
        made = fields.define_field(actor=principal_on(request), collection=collection, **data)
        return Response(FieldOutput(made).data, status=201)


@policy(Access.OBJECT, scope=READERS, write_scope="ingest")
class CollectionField(APIView):
    @extend_schema(request=FieldPatch, responses=FieldOutput)
    def patch(self, request: Request, uid: str, key: str) -> Response:
        """Rename it, change its choices, or bring it back. Values of documents stay as they are."""
        actor = principal_on(request)
        field = fields.get_field(selectors.get_collection(actor, uid), key)
        data = checked(FieldPatch, request.data).validated_data
        removed = data.pop("removed", None)
        if removed:
            raise InvalidInput(fields={"removed": "Send DELETE to remove a field."})
        if data:
            field = fields.change_field(actor=actor, field=field, **data)
        if removed is False:
            fields.restore_field(actor=actor, field=field)
        return Response(FieldOutput(field).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: str, key: str) -> Response:
        """Take the field out of use. Documents keep their values."""
        field = fields.get_field(selectors.get_collection(principal_on(request), uid), key)
        fields.remove_field(actor=principal_on(request), field=field)
        return Response(status=204)
