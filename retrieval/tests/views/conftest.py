"""A browser session for one of the cast."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from accounts.values import Principal


@pytest.fixture
def visit() -> Callable[[Principal], Client]:
    """`visit(principal)`: a signed-in session of that person."""

    def session(principal: Principal) -> Client:
        client = Client()
        client.force_login(User.objects.get(pk=principal.user_id))
        return client

    return session


@pytest.fixture
def calm() -> Callable[..., str]:
    """`calm(response)`: the page's text, after looking for what the content policy would block."""

    def checked(response) -> str:
        page = response.content.decode()
        assert "script-src 'self'" in response["Content-Security-Policy"]
        assert "style=" not in page
        assert not re.search(r"<script(?![^>]*\bsrc=)", page)
        assert not re.search(r"<[^>]*\son\w+=", page)
        return page

    return checked
