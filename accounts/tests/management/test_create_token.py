from contextlib import nullcontext
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.tokens import open_token
from accounts.values import TokenScope
from kb_platform.management import service_command


@pytest.fixture(autouse=True)
def services_are_there(monkeypatch):
    monkeypatch.setattr(service_command, "ensure_services", lambda **_options: nullcontext())


def run(*arguments):
    printed = StringIO()
    call_command("create_token", *arguments, stdout=printed)
    return printed.getvalue()


def test_it_prints_one_token_of_all_that_its_owner_may_use(reader):
    token = open_token(run("--user", "Reader@Example.com").strip())
    assert set(token.scopes) == {"search", "ask", "ingest"}
    assert token.user == reader


def test_an_administrators_token_administers_too(administrator):
    assert set(open_token(run("--user", administrator.email).strip()).scopes) == set(TokenScope)


def test_scopes_and_days_narrow_it(reader):
    token = open_token(run("--user", reader.email, "--scopes", "search,ask", "--days", "2").strip())
    assert token.scopes == ["ask", "search"]
    assert token.expires_at < timezone.now() + timedelta(days=2, minutes=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--user", "nobody@example.com"),
        ("--user", "reader@example.com", "--scopes", "root"),
        ("--user", "reader@example.com", "--scopes", "admin"),
        ("--user", "reader@example.com", "--days", "1000"),
    ],
)
def test_what_cannot_be_made_is_refused_in_words(reader, arguments):
    with pytest.raises(CommandError):
        run(*arguments)


def test_an_inactive_account_gets_none(reader):
    type(reader).objects.update(is_active=False)
    with pytest.raises(CommandError):
        run("--user", reader.email)
