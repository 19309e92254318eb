"""REST API of people, groups, one's own tokens, and of who one is. Parse, call one service or selector, render."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from accounts import selectors, services
from accounts import serializers as shapes
from accounts.models import User
from accounts.principals import principal_on
from accounts.tokens import create_token, revoke_token
from accounts.values import TokenScope, UserChanges
from kb_platform.api import Pages
from kb_platform.policies import Access, policy

ANY_SCOPE = tuple(TokenScope)


def _page(view: APIView, request: Request, rows: QuerySet[Any], shape: type[BaseSerializer[Any]]) -> Response:
    pages = Pages()
    page = pages.paginate_queryset(rows, request, view=view)
    return pages.get_paginated_response(shape(page, many=True).data)


def _checked(shape: type[shapes.StrictSerializer], request: Request) -> dict[str, Any]:
    """The valid input; otherwise a 400 that names the fields."""
    serializer = shape(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


@policy(Access.ADMINISTRATOR, scope="admin")
class UserList(APIView):
    @extend_schema(responses=shapes.UserSerializer(many=True), operation_id="users_list")
    def get(self, request: Request) -> Response:
        return _page(self, request, selectors.people(), shapes.UserSerializer)

    @extend_schema(request=shapes.UserInput, responses={201: shapes.UserSerializer})
    def post(self, request: Request) -> Response:
        user = services.create_user(actor=principal_on(request), **_checked(shapes.UserInput, request))
        return Response(shapes.UserSerializer(user).data, status=201)


@policy(Access.ADMINISTRATOR, scope="admin")
class UserDetail(APIView):
    """DELETE deactivates: sessions and tokens end at once, what the person made stays."""

    @extend_schema(responses=shapes.UserSerializer)
    def get(self, request: Request, user: str) -> Response:
        return Response(shapes.UserSerializer(selectors.find_user(user)).data)

    @extend_schema(request=shapes.UserChangesInput, responses=shapes.UserSerializer)
    def patch(self, request: Request, user: str) -> Response:
        row = selectors.find_user(user)
        wanted = _checked(shapes.UserChangesInput, request)
        if "groups" in wanted:
            wanted["groups"] = frozenset(wanted["groups"])
        row = services.update_user(actor=principal_on(request), user=row, changes=UserChanges(**wanted))
        return Response(shapes.UserSerializer(row).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, user: str) -> Response:
        services.deactivate_user(actor=principal_on(request), user=selectors.find_user(user))
        return Response(status=204)


@policy(Access.ADMINISTRATOR, scope="admin")
class GroupList(APIView):
    @extend_schema(responses=shapes.GroupSerializer(many=True), operation_id="groups_list")
    def get(self, request: Request) -> Response:
        return _page(self, request, selectors.groups(), shapes.GroupSerializer)

    @extend_schema(request=shapes.GroupInput, responses={201: shapes.GroupDetailSerializer})
    def post(self, request: Request) -> Response:
        group = services.create_group(actor=principal_on(request), **_checked(shapes.GroupInput, request))
        return Response(_group(str(group.pk)), status=201)


@policy(Access.ADMINISTRATOR, scope="admin")
class GroupDetail(APIView):
    @extend_schema(responses=shapes.GroupDetailSerializer)
    def get(self, request: Request, group: str) -> Response:
        return Response(_group(group))

    @extend_schema(request=shapes.GroupChangesInput, responses=shapes.GroupDetailSerializer)
    def patch(self, request: Request, group: str) -> Response:
        row = selectors.find_group(group)
        wanted = _checked(shapes.GroupChangesInput, request)
        services.update_group(actor=principal_on(request), group=row, **wanted)
        return Response(_group(group))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, group: str) -> Response:
        services.delete_group(actor=principal_on(request), group=selectors.find_group(group))
        return Response(status=204)


def _group(key: str) -> dict[str, Any]:
    return dict(shapes.GroupDetailSerializer(selectors.find_group(key)).data)


@policy(Access.SIGNED_IN)
class TokenList(APIView):
    """One's own tokens, in a session only: no token makes or ends another."""

    @extend_schema(responses=shapes.TokenSerializer(many=True), operation_id="tokens_list")
    def get(self, request: Request) -> Response:
        return _page(self, request, selectors.tokens_of(principal_on(request)), shapes.TokenSerializer)

    @extend_schema(request=shapes.TokenInput, responses={201: shapes.NewTokenSerializer})
    def post(self, request: Request) -> Response:
        principal = principal_on(request)
        wanted = _checked(shapes.TokenInput, request)
        scopes = [TokenScope(scope) for scope in wanted.pop("scopes")]
        owner = User.objects.get(pk=principal.user_id)
        row, text = create_token(actor=principal, user=owner, scopes=scopes, **wanted)
        return Response({**shapes.TokenSerializer(row).data, "token": text}, status=201)


@policy(Access.OBJECT)
class TokenDetail(APIView):
    @extend_schema(responses=shapes.TokenSerializer)
    def get(self, request: Request, token: str) -> Response:
        return Response(shapes.TokenSerializer(selectors.find_own_token(principal_on(request), token)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token: str) -> Response:
        row = selectors.find_own_token(principal_on(request), token)
        revoke_token(actor=principal_on(request), token_id=row.pk)
        return Response(status=204)


@policy(Access.SIGNED_IN, scope=ANY_SCOPE)
class Me(APIView):
    @extend_schema(responses=shapes.MeSerializer)
    def get(self, request: Request) -> Response:
        principal = principal_on(request)
        user = User.objects.get(pk=principal.user_id)
        user.token_scopes = sorted(principal.token.scopes) if principal.token else None  # type: ignore[attr-defined]
        return Response(shapes.MeSerializer(user).data | {"is_administrator": principal.is_administrator})
