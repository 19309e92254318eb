from datetime import UTC, datetime

import pytest

from accounts.principals import principal_of
from accounts.selectors import all_staff
from accounts.serializers import parse_grants, render_grants
from accounts.services import create_scope, replace_grants
from accounts.values import GrantRequest, Holder, Permission
from kb_platform.errors import InvalidInput


def test_grants_are_read_in_their_order():
    body = {
        "grants": [
            {"group": "7", "permission": "view"},
            {"user": "3", "permission": "manage", "expires_at": "2031-01-02T03:04:05Z"},
        ]
    }
    assert parse_grants(body) == [
        GrantRequest(holder=Holder.group(7), permission=Permission.VIEW),
        GrantRequest(
            holder=Holder.user(3),
            permission=Permission.MANAGE,
            expires_at=datetime(2031, 1, 2, 3, 4, 5, tzinfo=UTC),
        ),
    ]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, {"grants"}),
        ({"grants": None}, {"grants"}),
        ({"grants": "view"}, {"grants"}),
        ({"grants": [5]}, {"grants.0.non_field_errors"}),
        ({"grants": [{"user": "1"}]}, {"grants.0.permission"}),
        ({"grants": [{"user": "1", "permission": "own"}]}, {"grants.0.permission"}),
        ({"grants": [{"permission": "view"}]}, {"grants.0.user"}),
        ({"grants": [{"user": "1", "group": "2", "permission": "view"}]}, {"grants.0.user"}),
        ({"grants": [{"user": "1", "permission": "view", "expires_at": "soon"}]}, {"grants.0.expires_at"}),
        ({"grants": [{"user": "1", "permission": "view", "owner": "x"}]}, {"grants.0.owner"}),
        ({"grants": [], "scope": 4}, {"scope"}),
    ],
)
def test_a_bad_list_names_the_place(body, named):
    with pytest.raises(InvalidInput) as refused:
        parse_grants(body)
    assert set(refused.value.fields) == named


@pytest.mark.parametrize("body", [[], None, "x", 5])
def test_a_body_that_is_no_object_is_refused(body):
    with pytest.raises(InvalidInput):
        parse_grants(body)


def test_what_is_given_can_be_sent_back(owner, reader):
    scope = create_scope(actor=principal_of(owner))
    grants = [
        GrantRequest(holder=Holder.user(reader.pk), permission=Permission.CONTRIBUTE),
        GrantRequest(holder=Holder.group(all_staff().pk), permission=Permission.VIEW),
    ]
    replace_grants(actor=principal_of(owner), scope=scope, grants=grants)
    given = render_grants(scope)
    assert [(row.get("user") or row.get("group"), row["permission"]) for row in given] == [
        (str(all_staff().pk), "view"),
        (str(owner.pk), "manage"),
        (str(reader.pk), "contribute"),
    ]
    assert given[0]["name"] == "All staff"
    assert given[1]["granted_by"] == "Owner"
    replace_grants(actor=principal_of(owner), scope=scope, grants=parse_grants({"grants": given}))
    assert render_grants(scope) == given
