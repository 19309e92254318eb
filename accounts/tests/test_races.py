"""What must hold when two things happen at once: real commits, real threads."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import RequestFactory

from accounts.models import SignInFailure
from accounts.permissions import grants
from accounts.permissions.grants import scopes_without_manager
from accounts.principals import principal_of
from accounts.selectors import administrators
from accounts.services import create_scope, create_user, deactivate_user, replace_grants
from accounts.sign_in import SignInRefused, check_password, per_pair
from accounts.values import GrantRequest, Holder, Permission, SystemActor
from kb_platform.errors import KnowledgeBaseError

pytestmark = pytest.mark.django_db(transaction=True)
SYSTEM = SystemActor(name="tests")


def together(*actions):
    """Run the actions at the same moment; their outcomes, or the expected errors they raised."""
    barrier = Barrier(len(actions))

    def run(action):
        try:
            barrier.wait()
            return action()
        except KnowledgeBaseError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def test_parallel_guesses_all_count(reader):
    def guess():
        request = RequestFactory().post("/login", REMOTE_ADDR="10.0.0.1")
        check_password(request, email=reader.email, password="wrong")

    outcomes = together(*[guess] * 12)
    assert all(isinstance(outcome, SignInRefused) for outcome in outcomes)
    assert SignInFailure.objects.count() == per_pair().free


def test_two_managers_who_remove_each_other_leave_one(owner, reader):
    manage = GrantRequest(holder=Holder.user(reader.pk), permission=Permission.MANAGE)
    scope = create_scope(actor=principal_of(owner), grants=[manage])
    together(
        lambda: replace_grants(actor=principal_of(owner), scope=scope, grants=[]),
        lambda: replace_grants(actor=principal_of(reader), scope=scope, grants=[]),
    )
    assert not scopes_without_manager([scope.pk])


def test_two_administrators_who_are_deactivated_at_once_leave_one(administrator):
    second = create_user(actor=SYSTEM, email="second@example.com", groups=[administrators().pk])
    outcomes = together(
        lambda: deactivate_user(actor=SYSTEM, user=administrator),
        lambda: deactivate_user(actor=SYSTEM, user=second),
    )
    assert sum(isinstance(outcome, KnowledgeBaseError) for outcome in outcomes) == 1


def test_a_manager_deactivated_while_the_list_is_cut_down_to_them_leaves_no_scope_behind(reader, monkeypatch):
    manage = GrantRequest(holder=Holder.user(reader.pk), permission=Permission.MANAGE)
    scope = create_scope(actor=SYSTEM, grants=[manage])
    real = grants.scopes_without_manager

    def slow(scope_ids):
        found = real(scope_ids)
        time.sleep(0.3)  # the other change would slip in here
        return found

    monkeypatch.setattr(grants, "scopes_without_manager", slow)
    together(
        lambda: deactivate_user(actor=SYSTEM, user=reader),
        lambda: replace_grants(actor=SYSTEM, scope=scope, grants=[manage]),
    )
    assert not real([scope.pk])
