from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import GroupScopeGrant, UserScopeGrant
from accounts.permissions.visibility import visible_scopes
from accounts.principals import principal_of
from accounts.selectors import administrators
from accounts.services import (
    create_group,
    create_scope,
    deactivate_user,
    delete_group,
    grants_of,
    replace_grants,
    set_members,
)
from accounts.values import GrantRequest, Holder, Permission, SystemActor
from kb_platform.errors import InvalidInput, NotAllowed, NotFound
from kb_platform.models import AuditEntry

SYSTEM = SystemActor(name="tests")


@pytest.fixture
def scope(owner):
    return create_scope(actor=principal_of(owner))


def to(user, permission=Permission.VIEW, expires_at=None):
    return GrantRequest(holder=Holder.user(user.pk), permission=permission, expires_at=expires_at)


def to_group(group, permission=Permission.VIEW, expires_at=None):
    return GrantRequest(holder=Holder.group(group.pk), permission=permission, expires_at=expires_at)


def summary(scope):
    return [(grant.name, grant.permission.value) for grant in grants_of(scope)]


def test_whoever_makes_a_scope_gets_an_ordinary_visible_manage_grant(scope, owner):
    (grant,) = grants_of(scope)
    assert (grant.holder, grant.permission, grant.granted_by) == (
        Holder.user(owner.pk),
        Permission.MANAGE,
        "Owner",
    )


def test_a_scope_made_by_the_system_is_managed_by_the_administrators(db):
    (grant,) = grants_of(create_scope(actor=SYSTEM))
    assert (grant.holder, grant.permission) == (Holder.group(administrators().pk), Permission.MANAGE)


def test_a_new_scope_may_be_open_to_others_from_the_start(owner, reader):
    scope = create_scope(actor=principal_of(owner), grants=[to(reader)])
    assert summary(scope) == [("Owner", "manage"), ("Reader", "view")]


def test_the_list_replaces_the_others_and_keeps_the_callers_own(scope, owner, reader, outsider):
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to(reader)])
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to(outsider, Permission.CONTRIBUTE)])
    assert summary(scope) == [("Outsider", "contribute"), ("Owner", "manage")]
    assert visible_scopes(principal_of(reader)) == ()


def test_the_caller_cannot_take_or_change_the_own_grant(scope, owner):
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to(owner, Permission.VIEW)])
    assert summary(scope) == [("Owner", "manage")]


def test_the_stored_list_sent_back_changes_nothing_and_keeps_its_origin(scope, owner, reader):
    end = timezone.now() + timedelta(days=3)
    first = replace_grants(actor=principal_of(owner), scope=scope, grants=[to(reader, expires_at=end)])
    entries = AuditEntry.objects.count()
    again = [
        GrantRequest(holder=grant.holder, permission=grant.permission, expires_at=grant.expires_at)
        for grant in first
    ]
    assert replace_grants(actor=principal_of(owner), scope=scope, grants=again) == first
    assert AuditEntry.objects.count() == entries


def test_raising_a_grant_leaves_one_row(scope, owner, reader):
    for permission in (Permission.VIEW, Permission.MANAGE, Permission.CONTRIBUTE):
        replace_grants(actor=principal_of(owner), scope=scope, grants=[to(reader, permission)])
    assert UserScopeGrant.objects.filter(user=reader).count() == 1


def test_a_manager_through_a_group_may_not_leave_the_scope_without_a_manager(owner):
    group = create_group(actor=SYSTEM, name="Keepers", members=[owner.pk])
    scope = create_scope(actor=SYSTEM, grants=[to_group(group, Permission.MANAGE)])
    with pytest.raises(InvalidInput) as refused:
        replace_grants(actor=principal_of(owner), scope=scope, grants=[to_group(group)])
    assert "grants" in refused.value.fields
    assert visible_scopes(principal_of(owner), at_least=Permission.MANAGE) == (scope.pk,)


def test_a_manager_with_an_end_date_is_not_enough(owner, reader):
    group = create_group(actor=SYSTEM, name="Keepers", members=[owner.pk])
    scope = create_scope(actor=SYSTEM, grants=[to_group(group, Permission.MANAGE)])
    end = timezone.now() + timedelta(days=1)
    with pytest.raises(InvalidInput):
        replace_grants(
            actor=principal_of(owner), scope=scope, grants=[to(reader, Permission.MANAGE, expires_at=end)]
        )


def test_an_empty_group_is_not_enough(owner):
    keepers = create_group(actor=SYSTEM, name="Keepers", members=[owner.pk])
    empty = create_group(actor=SYSTEM, name="Empty")
    scope = create_scope(actor=SYSTEM, grants=[to_group(keepers, Permission.MANAGE)])
    with pytest.raises(InvalidInput):
        replace_grants(actor=principal_of(owner), scope=scope, grants=[to_group(empty, Permission.MANAGE)])


def test_an_end_in_the_past_is_refused_at_its_place(scope, owner, reader, outsider):
    past = timezone.now() - timedelta(seconds=1)
    with pytest.raises(InvalidInput) as refused:
        replace_grants(
            actor=principal_of(owner), scope=scope, grants=[to(outsider), to(reader, expires_at=past)]
        )
    assert set(refused.value.fields) == {"grants.1.expires_at"}
    assert summary(scope) == [("Owner", "manage")]


def test_unknown_and_inactive_people_are_refused_with_the_same_words(scope, owner, reader):
    deactivate_user(actor=SYSTEM, user=reader)
    texts = []
    for holder in (Holder.user(reader.pk), Holder.user(10**9)):
        with pytest.raises(InvalidInput) as refused:
            replace_grants(
                actor=principal_of(owner),
                scope=scope,
                grants=[GrantRequest(holder=holder, permission=Permission.VIEW)],
            )
        texts.append(refused.value.fields)
    assert texts[0] == texts[1]
    assert set(texts[0]) == {"grants.0.user"}


def test_a_holder_named_twice_is_refused(scope, owner, reader):
    with pytest.raises(InvalidInput) as refused:
        replace_grants(
            actor=principal_of(owner), scope=scope, grants=[to(reader), to(reader, Permission.MANAGE)]
        )
    assert set(refused.value.fields) == {"grants.1.user"}


def test_an_outsider_finds_no_scope_and_a_reader_may_not_share_it(scope, owner, reader, outsider):
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to(reader, Permission.CONTRIBUTE)])
    with pytest.raises(NotFound):
        replace_grants(actor=principal_of(outsider), scope=scope, grants=[to(outsider)])
    with pytest.raises(NotAllowed):
        replace_grants(actor=principal_of(reader), scope=scope, grants=[to(reader, Permission.MANAGE)])


def test_an_administrator_cannot_open_a_scope_to_themselves(scope, administrator):
    with pytest.raises(NotFound):
        replace_grants(actor=principal_of(administrator), scope=scope, grants=[to(administrator)])


def test_a_change_is_audited_with_before_and_after(scope, owner, reader):
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to(reader)])
    entry = AuditEntry.objects.filter(action="grants.replaced").latest("id")
    assert entry.actor == owner
    assert [row["name"] for row in entry.detail["before"]] == ["Owner"]
    assert [row["name"] for row in entry.detail["after"]] == ["Owner", "Reader"]


def test_when_the_last_manager_is_deactivated_the_administrators_take_over(scope, owner):
    deactivate_user(actor=SYSTEM, user=owner)
    assert ("Administrators", "manage") in summary(scope)


def test_when_another_manager_is_left_nobody_takes_over(scope, owner, reader):
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to(reader, Permission.MANAGE)])
    deactivate_user(actor=SYSTEM, user=owner)
    assert GroupScopeGrant.objects.count() == 0


@pytest.mark.parametrize("end", ["delete", "empty"])
def test_when_the_last_managing_group_goes_the_administrators_take_over(owner, reader, end):
    group = create_group(actor=SYSTEM, name="Keepers", members=[owner.pk])
    scope = create_scope(actor=SYSTEM, grants=[to_group(group, Permission.MANAGE)])
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to_group(group, Permission.MANAGE)])
    assert summary(scope) == [("Keepers", "manage")]
    if end == "delete":
        delete_group(actor=SYSTEM, group=group)
    else:
        set_members(actor=SYSTEM, group=group, members=[])
    assert ("Administrators", "manage") in summary(scope)


def test_when_the_account_of_the_holder_goes_its_grants_go(scope, owner, reader):
    replace_grants(actor=principal_of(owner), scope=scope, grants=[to(reader)])
    reader.delete()
    assert summary(scope) == [("Owner", "manage")]
