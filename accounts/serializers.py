"""What the API takes and gives for people, groups, tokens and grants. Ids are strings; unknown fields are refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _
from rest_framework import serializers

from accounts.models import AccessScope, ApiToken, User
from accounts.permissions.explanation import AccessVerdict
from accounts.permissions.grants import grants_of
from accounts.permissions.plans import Terms
from accounts.selectors import FoundHolder, group_name
from accounts.tokens import DEFAULT_DAYS
from accounts.values import GrantRequest, Holder, HolderKind, Permission, StoredGrant, TokenScope
from kb_platform.api import field_texts
from kb_platform.errors import InvalidInput
from kb_platform.runtime_config.declarations import TOKEN_DAYS

MAX_GRANTS = 1000


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields it does not know, so that a caller never believes to have set one (`is_superuser`, `owner`)."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        if unknown := set(map(str, data)) - set(self.fields):
            raise serializers.ValidationError(
                {name[:100]: [_("There is no such field.")] for name in unknown}
            )
        return value


class IdField(serializers.CharField):
    """An id as the API writes it, a string of digits; the number inside. Whether it names anything is asked later."""

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else 0

    def to_representation(self, value: Any) -> str:
        return str(value)


class TextField(serializers.CharField):
    """Text and nothing that merely turns into it: numbers and booleans are refused."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class BooleanField(serializers.BooleanField):
    """true or false, not "true", 1 or "on"."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


# --- what is given ----------------------------------------------------------------------------------------


class UserSerializer(serializers.Serializer[User]):
    id = IdField(source="pk")
    email = serializers.EmailField()
    name = serializers.CharField()
    is_active = serializers.BooleanField()
    is_administrator = serializers.BooleanField(source="is_superuser")
    groups = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    last_login = serializers.DateTimeField()

    def get_groups(self, user: User) -> list[str]:
        return sorted(str(group.pk) for group in user.groups.all())


class GroupSerializer(serializers.Serializer[Group]):
    """`builtin`: all_staff or administrators for the groups that the product keeps, else null."""

    id = IdField(source="pk")
    name = serializers.SerializerMethodField()
    builtin = serializers.SerializerMethodField()
    member_count = serializers.IntegerField()

    def get_name(self, group: Group) -> str:
        return group_name(group)

    def get_builtin(self, group: Group) -> str | None:
        return getattr(getattr(group, "builtin", None), "role", None)


class GroupDetailSerializer(GroupSerializer):
    members = serializers.SerializerMethodField()

    def get_members(self, group: Group) -> list[str]:
        ids = User.objects.filter(groups=group).order_by("pk").values_list("pk", flat=True)
        return [str(pk) for pk in ids]


class TokenSerializer(serializers.Serializer[ApiToken]):
    id = IdField(source="pk")
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField()


class NewTokenSerializer(TokenSerializer):
    """`token`: the whole text, given this once."""

    token = serializers.CharField()


class MeSerializer(UserSerializer):
    """`token_scopes`: what the token of this request may be used for; null in a session."""

    language = serializers.CharField()
    token_scopes = serializers.ListField(child=serializers.CharField(), allow_null=True)


# --- what is taken ----------------------------------------------------------------------------------------


class UserInput(StrictSerializer):
    email = TextField(max_length=254)
    name = TextField(max_length=150, allow_blank=True, required=False)
    password = TextField(
        max_length=1000, trim_whitespace=False, allow_null=True, required=False, write_only=True
    )
    groups = serializers.ListField(child=IdField(), required=False, max_length=1000)


class UserChangesInput(UserInput):
    email = TextField(max_length=254, required=False)
    is_active = BooleanField(required=False)


class GroupInput(StrictSerializer):
    name = TextField(max_length=150)
    members = serializers.ListField(child=IdField(), required=False, max_length=100_000)


class GroupChangesInput(GroupInput):
    name = TextField(max_length=150, required=False)


class TokenInput(StrictSerializer):
    name = TextField(max_length=100)
    scopes = serializers.ListField(child=serializers.ChoiceField(list(TokenScope)), allow_empty=False)
    days = serializers.IntegerField(min_value=1, max_value=TOKEN_DAYS.high, default=DEFAULT_DAYS)


# --- grants -----------------------------------------------------------------------------------------------


class GrantSerializer(StrictSerializer):
    """One grant as the API takes and gives it: either `user` or `group`. The rest is only given."""

    user = IdField(required=False)
    group = IdField(required=False)
    permission = serializers.ChoiceField(list(Permission))
    expires_at = serializers.DateTimeField(required=False, allow_null=True)
    name = serializers.CharField(read_only=True)
    email = serializers.CharField(read_only=True)
    granted_by = serializers.CharField(read_only=True)
    granted_at = serializers.DateTimeField(read_only=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("user" in attrs) == ("group" in attrs):
            raise serializers.ValidationError({"user": [_("Name either a user or a group.")]})
        return attrs


class GrantsOutput(StrictSerializer):
    """The whole list of a scope, as it is taken and given."""

    grants = serializers.ListField(child=GrantSerializer(), max_length=MAX_GRANTS)
    version = serializers.CharField(
        required=False,
        max_length=100,
        help_text="Changes with the list. Sent back, it makes the call fail with 409 when somebody has changed the list.",
    )


class TermsOutput(serializers.Serializer[Any]):
    permission = serializers.CharField()
    expires_at = serializers.DateTimeField(allow_null=True)


class GrantChangeOutput(serializers.Serializer[Any]):
    """One entry of a list that would be new (`before` is null), go (`after` is null) or change."""

    user = serializers.CharField(required=False)
    group = serializers.CharField(required=False)
    name = serializers.CharField()
    before = TermsOutput(allow_null=True)
    after = TermsOutput(allow_null=True)


class HolderOutput(serializers.Serializer[Any]):
    """A person or a group that can be put on a list: either `user` or `group`."""

    user = serializers.CharField(required=False)
    group = serializers.CharField(required=False)
    name = serializers.CharField()
    email = serializers.CharField()
    member_count = serializers.IntegerField()


class HoldersOutput(serializers.Serializer[Any]):
    results = HolderOutput(many=True)


class AccessVerdictOutput(serializers.Serializer[Any]):
    """Whether a person has access, at which level (null: none), and through which entries."""

    user = serializers.CharField()
    name = serializers.CharField()
    is_active = serializers.BooleanField()
    permission = serializers.CharField(allow_null=True)
    paths = serializers.ListField(child=GrantSerializer())


def parse_grants(data: Any) -> list[GrantRequest]:
    """The body `{"grants": [{user|group, permission, expires_at?}]}` as requests, in its order.

    Raises InvalidInput with fields such as `grants.0.permission`. Whether the holders exist is the service's question.
    """
    return [_request(row) for row in _checked_list(data)["grants"]]


def parse_version(data: Any) -> str:
    """The version of the list that the caller has read, empty when it names none."""
    version = data.get("version", "") if isinstance(data, dict) else ""
    return version if isinstance(version, str) else ""


def _checked_list(data: Any) -> dict[str, Any]:
    body = GrantsOutput(data=data)
    if not body.is_valid():
        raise InvalidInput(fields=field_texts(body.errors))
    checked: dict[str, Any] = body.validated_data
    return checked


def _request(row: Mapping[str, Any]) -> GrantRequest:
    kind = HolderKind.USER if "user" in row else HolderKind.GROUP
    return GrantRequest(
        holder=Holder(kind=kind, id=row[kind.value]),
        permission=Permission(row["permission"]),
        expires_at=row.get("expires_at"),
    )


def render_grants(scope: AccessScope) -> list[dict[str, Any]]:
    """The grants of a scope in the shape that `parse_grants` takes, with their names and origin."""
    return grants_as_json(grants_of(scope))


def grants_as_json(grants: Sequence[StoredGrant]) -> list[dict[str, Any]]:
    return [
        {
            grant.holder.kind.value: str(grant.holder.id),
            "name": grant.name,
            "permission": grant.permission.value,
            "expires_at": grant.expires_at,
            "granted_by": grant.granted_by,
            "granted_at": grant.granted_at,
        }
        for grant in grants
    ]


def verdict_as_json(verdict: AccessVerdict) -> dict[str, Any]:
    return {
        "user": str(verdict.user_id),
        "name": verdict.name,
        "is_active": verdict.is_active,
        "permission": verdict.level,
        "paths": grants_as_json(verdict.paths),
    }


def holders_as_json(found: Sequence[FoundHolder]) -> dict[str, Any]:
    return {
        "results": [
            {
                holder.holder.kind.value: str(holder.holder.id),
                "name": holder.name,
                "email": holder.email,
                "member_count": holder.member_count,
            }
            for holder in found
        ]
    }


def terms_as_json(terms: Terms | None) -> dict[str, Any] | None:
    return {"permission": terms[0].value, "expires_at": terms[1]} if terms else None
