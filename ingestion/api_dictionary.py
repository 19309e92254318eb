"""REST API of the dictionary: terms, synonyms and stop words of the places that the caller manages, and their previews.

A place is `everywhere`, for administrators with a token for administering, or the id of a collection.
"""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.principals import principal_on
from ingestion.api import checked, paged
from ingestion.dictionary import recutting, selectors, services
from ingestion.dictionary.entries import (
    DEFAULT_WEIGHT,
    Entry,
    Group,
    Kind,
    clean_group,
    clean_stop_word,
    clean_term,
)
from ingestion.dictionary.preview import preview_group, preview_stop_word, preview_term
from ingestion.models import Collection
from kb_platform.policies import Access, policy

SCOPES = ("ingest", "admin")


class EntryOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="uid")
    place = serializers.SerializerMethodField(help_text="`everywhere`, or the id of a collection.")
    text = serializers.CharField(required=False, help_text="Of a term or stop word.")
    phrases = serializers.ListField(child=serializers.CharField(), required=False, help_text="Of synonyms.")
    one_way = serializers.BooleanField(required=False)
    weight = serializers.FloatField(required=False)
    in_force = serializers.BooleanField(
        required=False, help_text="Of a term: whether passages and questions are cut with it."
    )

    def get_place(self, row: Any) -> str:
        return str(row.collection.uid) if row.collection else selectors.EVERYWHERE


class EntryInput(serializers.Serializer[Any]):
    place = serializers.CharField(max_length=40, default=selectors.EVERYWHERE)
    text = serializers.CharField(required=False, allow_blank=True, default="")
    phrases = serializers.ListField(child=serializers.CharField(), required=False, default=list)
    one_way = serializers.BooleanField(required=False, default=False)
    weight = serializers.FloatField(required=False, default=DEFAULT_WEIGHT)
    sample = serializers.CharField(
        required=False, allow_blank=True, default="", help_text="Of a preview: a text or question to try."
    )


def _entry(kind: Kind, data: dict[str, Any]) -> Entry:
    if kind is Kind.SYNONYMS:
        return clean_group(data["phrases"], one_way=data["one_way"], weight=data["weight"])
    clean = clean_term if kind is Kind.TERMS else clean_stop_word
    return clean(data["text"])


def _place(request: Request, text: str) -> Collection | None:
    return selectors.find_place(selectors.places_of(principal_on(request)), text)


@policy(Access.SIGNED_IN, scope=SCOPES, write_scope=SCOPES)
class Entries(APIView):
    @extend_schema(operation_id="dictionary_list", responses=EntryOutput(many=True))
    def get(self, request: Request, kind: str) -> Response:
        """Entries, newest first; `place` and `q` narrow them."""
        places = selectors.places_of(principal_on(request))
        ids = places.ids
        if asked := request.query_params.get("place", ""):
            collection = selectors.find_place(places, asked)
            ids = [collection.pk if collection else None]
        rows = selectors.entries_in(Kind(kind), ids, request.query_params.get("q", "")[:200])
        return paged(self, request, rows, EntryOutput)

    @extend_schema(operation_id="dictionary_add", request=EntryInput, responses={201: EntryOutput})
    def post(self, request: Request, kind: str) -> Response:
        """Add an entry. Synonyms and stop words hold from the next question on, terms once passages are cut anew."""
        data = checked(EntryInput, request.data).validated_data
        row = services.add_entry(
            actor=principal_on(request),
            kind=Kind(kind),
            collection=_place(request, data["place"]),
            entry=_entry(Kind(kind), data),
        )
        return Response(EntryOutput(row).data, status=201)


@policy(Access.OBJECT, scope=SCOPES, write_scope=SCOPES)
class OneEntry(APIView):
    @extend_schema(operation_id="dictionary_get", responses=EntryOutput)
    def get(self, request: Request, kind: str, uid: str) -> Response:
        return Response(EntryOutput(selectors.get_entry(principal_on(request), Kind(kind), uid)).data)

    @extend_schema(operation_id="dictionary_change", request=EntryInput, responses=EntryOutput)
    def put(self, request: Request, kind: str, uid: str) -> Response:
        """Another entry in its place; where it applies stays as it is."""
        row = selectors.get_entry(principal_on(request), Kind(kind), uid)
        data = checked(EntryInput, request.data).validated_data
        changed = services.change_entry(
            actor=principal_on(request), kind=Kind(kind), row=row, entry=_entry(Kind(kind), data)
        )
        return Response(EntryOutput(changed).data)

    @extend_schema(operation_id="dictionary_remove", responses={204: None})
    def delete(self, request: Request, kind: str, uid: str) -> Response:
        row = selectors.get_entry(principal_on(request), Kind(kind), uid)
        services.remove_entry(actor=principal_on(request), kind=Kind(kind), row=row)
        return Response(status=204)


@policy(Access.SIGNED_IN, scope=SCOPES, write_scope=SCOPES)
class Preview(APIView):
    @extend_schema(operation_id="dictionary_preview", request=EntryInput, responses=serializers.DictField())
    def post(self, request: Request, kind: str) -> Response:
        """What an entry would do; nothing is saved. Counted are passages that the caller may read."""
        data = checked(EntryInput, request.data).validated_data
        entry, collection = _entry(Kind(kind), data), _place(request, data["place"])
        who, sample = principal_on(request), data["sample"]
        shown: Any
        if isinstance(entry, Group):
            shown = preview_group(who, collection=collection, group=entry, question=sample)
        elif Kind(kind) is Kind.STOP_WORDS:
            shown = preview_stop_word(who, collection=collection, phrase=entry, question=sample)
        else:
            shown = preview_term(who, collection=collection, phrase=entry, text=sample)
        return Response(asdict(shown))


@policy(Access.SIGNED_IN, scope=SCOPES, write_scope=SCOPES)
class Progress(APIView):
    @extend_schema(operation_id="dictionary_progress", responses=serializers.DictField())
    def get(self, request: Request) -> Response:
        """How far changed terms are from being in force; `null` when all are."""
        progress = recutting.progress(selectors.places_of(principal_on(request)).ids)
        return Response({"progress": asdict(progress) if progress else None})
