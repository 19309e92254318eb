from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import UserScopeGrant
from accounts.permissions.visibility import may, require, visible_scopes
from accounts.principals import principal_of
from accounts.selectors import administrators, all_staff
from accounts.services import create_group, create_scope, deactivate_user, replace_grants, set_members
from accounts.values import GrantRequest, Holder, Permission, Principal, SystemActor, TokenLimits
from kb_platform.errors import NotAllowed, NotFound

SYSTEM = SystemActor(name="tests")


@pytest.fixture
def scope(owner):
    return create_scope(actor=principal_of(owner))


def share(scope, owner, holder, permission=Permission.VIEW, **more):
    request = GrantRequest(holder=holder, permission=permission, **more)
    return replace_grants(actor=principal_of(owner), scope=scope, grants=[request])


def test_nobody_sees_a_scope_without_a_grant(scope, outsider):
    assert visible_scopes(principal_of(outsider)) == ()


def test_a_superuser_sees_nothing_extra(scope, administrator):
    assert visible_scopes(principal_of(administrator)) == ()


@pytest.mark.parametrize("permission", Permission)
def test_each_level_holds_those_before_it(scope, owner, reader, permission):
    share(scope, owner, Holder.user(reader.pk), permission)
    levels = [level for level in Permission if may(principal_of(reader), level, scope.pk)]
    assert levels == list(Permission)[: list(Permission).index(permission) + 1]


def test_a_group_opens_the_scope_to_its_members_and_to_nobody_else(scope, owner, reader, outsider):
    group = create_group(actor=SYSTEM, name="Readers", members=[reader.pk])
    share(scope, owner, Holder.group(group.pk))
    assert visible_scopes(principal_of(reader)) == (scope.pk,)
    assert visible_scopes(principal_of(outsider)) == ()


def test_leaving_the_group_closes_it_on_the_next_query(scope, owner, reader):
    group = create_group(actor=SYSTEM, name="Readers", members=[reader.pk])
    share(scope, owner, Holder.group(group.pk))
    set_members(actor=SYSTEM, group=group, members=[])
    assert visible_scopes(principal_of(reader)) == ()


def test_all_staff_is_everybody(scope, owner, reader, administrator):
    share(scope, owner, Holder.group(all_staff().pk))
    assert visible_scopes(principal_of(reader)) == (scope.pk,)
    assert visible_scopes(principal_of(administrator)) == (scope.pk,)


def test_an_ended_grant_opens_nothing(scope, owner, reader):
    share(scope, owner, Holder.user(reader.pk), expires_at=timezone.now() + timedelta(hours=1))
    assert visible_scopes(principal_of(reader)) == (scope.pk,)
    UserScopeGrant.objects.filter(user=reader).update(expires_at=timezone.now())
    assert visible_scopes(principal_of(reader)) == ()


def test_an_inactive_account_sees_nothing_through_any_grant(scope, owner, reader):
    share(scope, owner, Holder.user(reader.pk))
    before = principal_of(reader)
    deactivate_user(actor=SYSTEM, user=reader)
    assert visible_scopes(before) == ()


def test_an_inactive_account_sees_nothing_through_a_group(scope, owner, reader):
    share(scope, owner, Holder.group(all_staff().pk))
    before = principal_of(reader)
    deactivate_user(actor=SYSTEM, user=reader)
    assert visible_scopes(before) == ()


def test_a_token_limited_to_other_scopes_sees_less_than_its_owner(scope, owner):
    limited = TokenLimits(token_id=1, scopes=frozenset(), collections=frozenset({scope.pk + 1}))
    assert visible_scopes(principal_of(owner, token=limited)) == ()


def test_a_token_limit_opens_nothing_its_owner_lacks(scope, outsider):
    limited = TokenLimits(token_id=1, scopes=frozenset(), collections=frozenset({scope.pk}))
    assert visible_scopes(principal_of(outsider, token=limited)) == ()


def test_an_account_that_never_existed_sees_nothing(scope):
    assert visible_scopes(Principal(user_id=0, name="nobody")) == ()


def test_it_is_one_query(scope, owner):
    principal = principal_of(owner)
    with CaptureQueriesContext(connection) as queries:
        visible_scopes(principal)
    assert len(queries) == 1


def test_what_is_hidden_is_not_found_and_what_is_visible_is_refused(scope, owner, reader, outsider):
    share(scope, owner, Holder.user(reader.pk))
    with pytest.raises(NotFound):
        require(principal_of(outsider), Permission.VIEW, scope.pk)
    with pytest.raises(NotAllowed):
        require(principal_of(reader), Permission.MANAGE, scope.pk)
    require(principal_of(owner), Permission.MANAGE, scope.pk)


def test_the_builtin_groups_come_back_after_all_tables_were_emptied(db):
    from accounts.models import BuiltinGroup
    from accounts.selectors import restore_builtin_groups

    BuiltinGroup.objects.all().delete()
    Group.objects.all().delete()
    restore_builtin_groups()
    assert (all_staff().name, administrators().name) == ("All staff", "Administrators")
