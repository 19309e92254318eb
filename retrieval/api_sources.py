"""REST API of external sources, for administrators. Secrets go in and never come out."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.principals import principal_on
from ingestion.api import checked
from kb_platform.errors import InvalidInput
from kb_platform.net.safe_http import open_door
from kb_platform.policies import Access, policy
from retrieval.channels.external.asking import ask_source
from retrieval.channels.external.values import SourceKind
from retrieval.sources import selectors, services
from retrieval.sources.models import ExternalSource
from retrieval.sources.services import NUMBERS, SourceInput
from retrieval.values import clean_question

TRIED = 5


class AccessEntry(serializers.Serializer[Any]):
    group = serializers.IntegerField()
    values = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, default=list,
        help_text="Of the filter field, to which members of the group are limited; none for everything.",
    )  # fmt: skip


class SourceBody(serializers.Serializer[Any]):
    """PATCH leaves out what stays. `options` and `access` are replaced as a whole."""

    name = serializers.CharField(max_length=100, required=False)
    kind = serializers.ChoiceField(choices=[kind.value for kind in SourceKind], required=False)
    options = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    secret = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, write_only=True,
        help_text="Key or password. It is stored sealed and never given back; an empty one removes it.",
    )  # fmt: skip
    filter_field = serializers.CharField(max_length=100, required=False, allow_blank=True)
    access = AccessEntry(many=True, required=False)
    active = serializers.BooleanField(required=False)
    try_ms = serializers.IntegerField(required=False)
    total_ms = serializers.IntegerField(required=False)
    tries = serializers.IntegerField(required=False)
    concurrency = serializers.IntegerField(required=False)


class TryBody(serializers.Serializer[Any]):
    question = serializers.CharField(max_length=2000)
    group = serializers.IntegerField(required=False, help_text="As a member of this group would be answered.")


@policy(Access.ADMINISTRATOR, scope="admin")
class SourcesView(APIView):
    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="sources_list")
    def get(self, request: Request) -> Response:
        """All sources, by name."""
        return Response({"results": [source_json(source) for source in selectors.all_sources()]})

    @extend_schema(request=SourceBody, responses={201: OpenApiTypes.OBJECT}, operation_id="sources_create")
    def post(self, request: Request) -> Response:
        data = checked(SourceBody, request.data).validated_data
        if missing := [name for name in ("name", "kind") if name not in data]:
            raise InvalidInput(fields=dict.fromkeys(missing, "This field is required."))
        source = services.create_source(actor=principal_on(request), wanted=_wanted(data, None))
        return Response(_switched(request, source, data), status=201)


@policy(Access.ADMINISTRATOR, scope="admin")
class SourceView(APIView):
    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="sources_retrieve")
    def get(self, request: Request, uid: str) -> Response:
        return Response(source_json(selectors.find_source(uid)))

    @extend_schema(request=SourceBody, responses=OpenApiTypes.OBJECT, operation_id="sources_update")
    def patch(self, request: Request, uid: str) -> Response:
        """Change it; its kind stays as it is."""
        source = selectors.find_source(uid)
        data = checked(SourceBody, request.data).validated_data
        if data.get("kind", source.kind) != source.kind:
            raise InvalidInput(fields={"kind": "A source keeps its kind."})
        if data.keys() - {"active", "kind"}:
            services.update_source(actor=principal_on(request), source=source, wanted=_wanted(data, source))
        return Response(_switched(request, source, data))

    @extend_schema(responses={204: None}, operation_id="sources_delete")
    def delete(self, request: Request, uid: str) -> Response:
        services.delete_source(actor=principal_on(request), source=selectors.find_source(uid))
        return Response(status=204)


@policy(Access.ADMINISTRATOR, scope="admin")
class SourceTryView(APIView):
    @extend_schema(request=TryBody, responses=OpenApiTypes.OBJECT, operation_id="sources_try")
    def post(self, request: Request, uid: str) -> Response:
        """Ask it now. Answers 503 with the reason when it gives nothing."""
        source = selectors.find_source(uid)
        data = checked(TryBody, request.data).validated_data
        allowed = selectors.values_of_group(source, str(data.get("group", "")))
        hits = ask_source(
            selectors.config_of(source, allowed=allowed), clean_question(data["question"]), limit=TRIED, door=open_door()
        )  # fmt: skip
        results = [
            {"title": h.record.title, "text": h.record.text, "url": h.record.url or None, "score": h.score}
            for h in hits
        ]
        return Response({"results": results})


def _wanted(data: dict[str, Any], source: ExternalSource | None) -> SourceInput:
    """What the body says, and where it is silent what is stored."""
    if source is None:
        stored: dict[str, Any] = {}
    else:
        access = {row.group_id: tuple(row.values) for row in source.access.all()}
        numbers = {name: getattr(source, name) for name in NUMBERS}
        stored = {
            "name": source.name, "options": source.options, "filter_field": source.filter_field, "access": access, **numbers,
        }  # fmt: skip
    given = {name: data[name] for name in ("name", "options", "filter_field", *NUMBERS) if name in data}
    if "access" in data:
        given["access"] = {one["group"]: tuple(one["values"]) for one in data["access"]}
    kind = SourceKind(source.kind if source else data["kind"])
    return SourceInput(**{"options": {}, **stored, **given}, kind=kind, secret=data.get("secret"))


def _switched(request: Request, source: ExternalSource, data: dict[str, Any]) -> dict[str, Any]:
    if "active" in data:
        services.switch_source(actor=principal_on(request), source=source, is_active=data["active"])
    return source_json(selectors.find_source(str(source.uid)))


def source_json(source: ExternalSource) -> dict[str, Any]:
    """The source without its secret."""
    shown = selectors.shown(source)
    return {
        "id": str(source.uid),
        "name": source.name,
        "kind": source.kind,
        "options": dict(source.options),
        "has_secret": bool(source.secret),
        "filter_field": source.filter_field,
        "access": [{"group": row.group_id, "values": list(row.values)} for row in source.access.all()],
        "active": source.is_active,
        **{name: getattr(source, name) for name in NUMBERS},
        "circuit": {
            "state": shown.circuit.state.value,
            "failures": shown.circuit.failures,
            "retry_in_s": round(shown.circuit.retry_in_s, 1),
            "reason": shown.circuit.reason or None,
        },
    }
