import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from accounts.models import User
from accounts.principals import principal_of
from accounts.selectors import administrators, all_staff
from accounts.services import (
    change_password,
    create_group,
    create_user,
    deactivate_user,
    delete_group,
    rename_group,
    set_members,
    update_profile,
    update_user,
)
from accounts.tokens import create_token, principal_from_token
from accounts.values import SystemActor, TokenScope, UserChanges
from kb_platform.errors import Conflict, InvalidInput, NotAllowed, NotAuthenticated
from kb_platform.models import AuditEntry

SYSTEM = SystemActor(name="tests")


def test_every_new_account_belongs_to_all_staff(reader, administrator):
    assert set(all_staff().user_set.all()) == {reader, administrator}


def test_an_account_of_the_administrators_group_administers(administrator, reader):
    assert (administrator.is_superuser, reader.is_superuser) == (True, False)


def test_all_staff_cannot_be_left(reader):
    update_user(actor=SYSTEM, user=reader, changes=UserChanges(groups=frozenset()))
    assert list(reader.groups.all()) == [all_staff()]


def test_leaving_the_administrators_ends_administering(administrator, reader):
    update_user(actor=SYSTEM, user=reader, changes=UserChanges(groups=frozenset({administrators().pk})))
    set_members(actor=SYSTEM, group=administrators(), members=[reader.pk])
    administrator.refresh_from_db()
    reader.refresh_from_db()
    assert (administrator.is_superuser, reader.is_superuser) == (False, True)


@pytest.mark.parametrize(
    "write",
    [
        lambda user: deactivate_user(actor=SYSTEM, user=user),
        lambda user: update_user(actor=SYSTEM, user=user, changes=UserChanges(groups=frozenset())),
        lambda user: set_members(actor=SYSTEM, group=administrators(), members=[]),
    ],
)
def test_the_last_administrator_stays(administrator, reader, write):
    with pytest.raises(Conflict):
        write(administrator)
    administrator.refresh_from_db()
    assert administrator.is_superuser
    assert administrator.is_active


def test_addresses_differ_by_more_than_their_case(reader):
    with pytest.raises(InvalidInput) as refused:
        create_user(actor=SYSTEM, email=" READER@example.com ")
    assert set(refused.value.fields) == {"email"}


@pytest.mark.parametrize("email", ["", "x", "a@b", "a\x00@example.com", "x" * 300 + "@example.com"])
def test_what_is_no_address_is_refused(db, email):
    with pytest.raises(InvalidInput) as refused:
        create_user(actor=SYSTEM, email=email)
    assert set(refused.value.fields) == {"email"}


@pytest.mark.parametrize("password", ["", "short", "password1234", "reader@example.com"])
def test_a_weak_password_is_refused(db, password):
    with pytest.raises(InvalidInput) as refused:
        create_user(actor=SYSTEM, email="reader@example.com", password=password)
    assert set(refused.value.fields) == {"password"}
    assert not User.objects.exists()


def test_an_unknown_group_is_refused_and_nothing_is_made(db):
    with pytest.raises(InvalidInput) as refused:
        create_user(actor=SYSTEM, email="new@example.com", groups=[10**9])
    assert set(refused.value.fields) == {"groups"}
    assert not User.objects.exists()


def test_deactivating_ends_sessions_and_tokens_at_once_and_for_good(reader, outsider):
    browser, neighbour = Client(), Client()
    browser.force_login(reader)
    neighbour.force_login(outsider)
    _row, text = create_token(actor=SYSTEM, user=reader, name="t", scopes=[TokenScope.SEARCH])
    deactivate_user(actor=SYSTEM, user=reader)
    with pytest.raises(NotAuthenticated):
        principal_from_token(text)
    assert Session.objects.count() == 1
    update_user(actor=SYSTEM, user=reader, changes=UserChanges(is_active=True))
    with pytest.raises(NotAuthenticated):
        principal_from_token(text)


@pytest.mark.parametrize(
    "write",
    [
        lambda actor, user: create_user(actor=actor, email="new@example.com"),
        lambda actor, user: update_user(actor=actor, user=user, changes=UserChanges(name="x")),
        lambda actor, user: create_group(actor=actor, name="x"),
        lambda actor, user: rename_group(actor=actor, group=all_staff(), name="x"),
        lambda actor, user: delete_group(actor=actor, group=all_staff()),
        lambda actor, user: set_members(actor=actor, group=administrators(), members=[user.pk]),
    ],
)
def test_only_administrators_write_people_and_groups(reader, write):
    with pytest.raises(NotAllowed):
        write(principal_of(reader), reader)


def test_builtin_groups_are_neither_renamed_nor_deleted_nor_is_all_staff_edited(administrator):
    actor = principal_of(administrator)
    for group in (all_staff(), administrators()):
        with pytest.raises(Conflict):
            rename_group(actor=actor, group=group, name="Other")
        with pytest.raises(Conflict):
            delete_group(actor=actor, group=group)
    with pytest.raises(Conflict):
        set_members(actor=actor, group=all_staff(), members=[])


def test_group_names_differ_by_more_than_case_and_space(db):
    create_group(actor=SYSTEM, name="Sales  East")
    for name in ("sales east", " Sales East ", "ALL STAFF", "", "  "):
        with pytest.raises(InvalidInput) as refused:
            create_group(actor=SYSTEM, name=name)
        assert set(refused.value.fields) == {"name"}


def test_unknown_members_are_refused(db):
    with pytest.raises(InvalidInput) as refused:
        create_group(actor=SYSTEM, name="Sales", members=[10**9])
    assert set(refused.value.fields) == {"members"}


def test_a_person_changes_the_own_name_and_language_and_nothing_else(reader):
    wish = UserChanges(
        name="New", language="zh-hans", groups=frozenset({administrators().pk}), email="x@y.zz"
    )
    update_profile(actor=principal_of(reader), changes=wish)
    reader.refresh_from_db()
    assert (reader.name, reader.language, reader.email, reader.is_superuser) == (
        "New",
        "zh-hans",
        "reader@example.com",
        False,
    )


def test_a_language_that_is_not_offered_is_refused(reader):
    with pytest.raises(InvalidInput) as refused:
        update_profile(actor=principal_of(reader), changes=UserChanges(language="xx"))
    assert set(refused.value.fields) == {"language"}


def test_the_own_password_changes_with_the_present_one_only(reader, password):
    actor = principal_of(reader)
    with pytest.raises(InvalidInput) as refused:
        change_password(actor=actor, current="guess", chosen="another long phrase")
    assert set(refused.value.fields) == {"current"}
    change_password(actor=actor, current=password, chosen="another long phrase")
    reader.refresh_from_db()
    assert reader.check_password("another long phrase")


def test_every_write_leaves_an_audit_row_without_secrets(administrator, reader):
    actor = principal_of(administrator)
    group = create_group(actor=actor, name="Sales")
    update_user(
        actor=actor,
        user=reader,
        changes=UserChanges(groups=frozenset({group.pk}), password="another long phrase"),
    )
    rename_group(actor=actor, group=group, name="Sales East")
    delete_group(actor=actor, group=group)
    rows = AuditEntry.objects.filter(actor=administrator).order_by("id")
    assert [row.action for row in rows] == ["group.created", "user.updated", "group.renamed", "group.deleted"]
    assert rows[1].detail["after"]["groups"] == ["All staff", "Sales"]
    assert "another long phrase" not in str([row.detail for row in rows])
