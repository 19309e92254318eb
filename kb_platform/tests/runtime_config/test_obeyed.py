"""Changing a setting changes what the product does: one test for each."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.models import SignInFailure, User
from accounts.principals import principal_of
from accounts.services import create_user
from accounts.sign_in import TooManyAttempts, per_pair
from accounts.tasks import forget_old_failures
from accounts.tokens import create_token
from accounts.values import SystemActor, TokenScope
from ingestion.models import Document
from ingestion.parsing.formats import FORMATS
from ingestion.services import create_collection
from kb_platform.audit import record
from kb_platform.errors import InvalidInput
from kb_platform.models import AuditEntry
from kb_platform.runtime_config import declarations as declared
from kb_platform.tasks import forget_old_entries
from retrieval.models import Conversation, SearchTrace
from retrieval.tasks import forget_old_conversations, forget_old_traces

pytestmark = pytest.mark.django_db
SYSTEM = SystemActor(name="tests")


def days_ago(days):
    return timezone.now() - timedelta(days=days)


def sign_in_page(**headers):
    return Client(headers=headers).get("/login").content.decode()


def test_the_site_name_notice_and_contact_are_on_the_sign_in_page(configure):
    configure(declared.SITE_NAME, "Yuanchuan Wiki")
    configure(declared.SIGN_IN_NOTICE, "Closed on Sunday.")
    configure(declared.HELP_CONTACT, "help@example.com")
    page = sign_in_page()
    assert all(text in page for text in ("Yuanchuan Wiki", "Closed on Sunday.", "help@example.com"))
    assert "help@example.com" in Client().get("/nowhere").content.decode()


def test_the_default_language_speaks_to_who_has_chosen_none(configure, reader, browser):
    configure(declared.DEFAULT_LANGUAGE, "zh-hans")
    assert 'lang="zh-Hans"' in sign_in_page(Accept_Language="en")
    assert 'lang="zh-Hans"' in browser(reader).get("/account").content.decode()
    User.objects.update(language="en")
    assert 'lang="en"' in browser(reader).get("/account").content.decode()


def test_new_accounts_begin_with_the_default_appearance(configure, reader):
    configure(declared.DEFAULT_THEME, "dark")
    assert create_user(actor=SYSTEM, email="new@example.com").theme == "dark"
    assert 'data-theme="dark"' in sign_in_page()
    reader.refresh_from_db()
    assert reader.theme == "auto"


def test_fewer_free_attempts_wait_sooner(configure, reader):
    configure(declared.FREE_ATTEMPTS, 3)
    assert per_pair().free == 3
    client = Client()
    statuses = [
        client.post("/login", {"email": reader.email, "password": "x"}).status_code for _try in range(4)
    ]
    assert statuses == [400, 400, 400, 429]
    assert TooManyAttempts.code == "too_many_attempts"


def test_a_token_may_not_outlive_the_longest_life(configure, reader):
    configure(declared.TOKEN_DAYS, 30)
    with pytest.raises(InvalidInput):
        create_token(actor=SYSTEM, user=reader, name="t", scopes=[TokenScope.SEARCH], days=31)
    create_token(actor=SYSTEM, user=reader, name="t", scopes=[TokenScope.SEARCH], days=30)


def test_a_type_that_is_switched_off_is_refused_by_content(configure, owner, browser):
    configure(declared.FILE_TYPES, ("pdf", "text"))
    collection = create_collection(actor=principal_of(owner), name="Policies")
    files = [SimpleUploadedFile("a.txt", b"Text."), SimpleUploadedFile("b", b"<!doctype html><p>Page</p>")]
    form = {"collection": str(collection.uid), "files": files}
    page = browser(owner).post("/manage/documents/upload", form, follow=True).content.decode()
    assert "HTML files may not be uploaded here. Allowed: PDF · Plain text." in page
    assert [row.title for row in Document.objects.all()] == ["a.txt"]


def test_the_types_offered_are_those_that_are_parsed():
    parsed = {known.kind.value for known in FORMATS}
    assert {key for key, _label in declared.FILE_TYPES.choices} == parsed == set(declared.FILE_TYPES.default)


def test_old_audit_entries_go_at_night(configure):
    configure(declared.AUDIT_DAYS, 90)
    for days in (89, 91):
        entry = record(SYSTEM, "user.created")
        AuditEntry.objects.filter(pk=entry.pk).update(at=days_ago(days))
    assert forget_old_entries() == 1


def test_old_traces_and_failures_go_at_night(configure):
    configure(declared.TRACE_DAYS, 7)
    configure(declared.FAILURE_DAYS, 2)
    for days in (1, 8):
        trace = SearchTrace.objects.create(trace_id=f"{days:032}", query="q", mode="hybrid", generation=1)
        SearchTrace.objects.filter(pk=trace.pk).update(created_at=days_ago(days))
        failure = SignInFailure.objects.create(email="a@example.com")
        SignInFailure.objects.filter(pk=failure.pk).update(at=days_ago(days))
    assert (forget_old_traces(), forget_old_failures()) == (1, 1)


def test_old_conversations_stay_for_ever_unless_a_time_is_set(configure, reader):
    old = Conversation.objects.create(user=reader, title="old")
    Conversation.objects.create(user=reader, title="fresh")
    Conversation.objects.filter(pk=old.pk).update(updated_at=days_ago(40))
    assert forget_old_conversations() == 0
    configure(declared.CONVERSATION_DAYS, 30)
    assert forget_old_conversations() == 1
    assert Conversation.objects.get().title == "fresh"
