from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.permissions.openings import opened_counts, openings_of, openings_of_group
from accounts.permissions.visibility import visible_scopes
from accounts.principals import principal_of
from accounts.services import create_group, create_scope, deactivate_user
from accounts.values import GrantRequest, Holder, Permission, SystemActor

pytestmark = pytest.mark.django_db
SYSTEM = SystemActor(name="tests")


def opened(*grants):
    return create_scope(actor=SYSTEM, grants=grants)


def grant(holder, permission=Permission.VIEW, days=None):
    ends = timezone.now() + timedelta(days=days) if days else None
    return GrantRequest(holder=holder, permission=permission, expires_at=ends)


@pytest.fixture
def manager(owner):
    return grant(Holder.user(owner.pk), Permission.MANAGE)


def test_every_reason_is_told_and_the_highest_level_counts(reader, manager):
    group = create_group(actor=SYSTEM, name="Sales", members=[reader.pk])
    scope = opened(
        manager, grant(Holder.user(reader.pk)), grant(Holder.group(group.pk), Permission.CONTRIBUTE)
    )
    (opening,) = openings_of(reader)
    assert (opening.scope_id, opening.level) == (scope.pk, Permission.CONTRIBUTE)
    assert {reason.group for reason in opening.reasons} == {"", "Sales"}
    assert [one.scope_id for one in openings_of_group(group)] == [scope.pk]


def test_an_end_is_told_only_when_every_reason_ends(reader, manager):
    opened(manager, grant(Holder.user(reader.pk), days=3))
    (opening,) = openings_of(reader)
    assert opening.until is not None
    group = create_group(actor=SYSTEM, name="Sales", members=[reader.pk])
    opened(manager, grant(Holder.user(reader.pk), days=3), grant(Holder.group(group.pk)))
    assert sum(one.until is None for one in openings_of(reader)) == 1


def test_it_tells_exactly_what_the_read_filter_opens(owner, reader, outsider, manager):
    opened(manager, grant(Holder.user(reader.pk)))
    opened(manager)
    for person in (owner, reader, outsider):
        assert tuple(sorted(one.scope_id for one in openings_of(person))) == visible_scopes(
            principal_of(person)
        )


def test_whoever_is_deactivated_sees_nothing(reader, manager):
    opened(manager, grant(Holder.user(reader.pk)))
    deactivate_user(actor=SYSTEM, user=reader)
    reader.refresh_from_db()
    assert openings_of(reader) == []


def test_groups_count_collections_only(reader, manager):
    group = create_group(actor=SYSTEM, name="Sales", members=[reader.pk])
    opened(manager, grant(Holder.group(group.pk)))
    assert opened_counts([group]) == {}
