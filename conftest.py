"""The fixed cast of the tests, made through the services, and a client that speaks for one of them.

`owner` shares something, `reader` is given it, `outsider` never is, `administrator` runs the site but reads nothing.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import translation
from rest_framework.test import APIClient

from accounts.models import User
from accounts.selectors import administrators
from accounts.services import create_user
from accounts.tokens import allowed_scopes, create_token
from accounts.values import SystemActor, TokenScope
from kb_platform import trace
from kb_platform.runtime_config import services, store
from kb_platform.runtime_config.kinds import Setting

PASSWORD = "a long phrase for tests"
SYSTEM = SystemActor(name="tests")


def _person(name: str, groups: tuple[int, ...] = ()) -> User:
    return create_user(
        actor=SYSTEM, email=f"{name}@example.com", name=name.title(), password=PASSWORD, groups=groups
    )


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    """A request leaves its language active in the thread; no test inherits it."""
    with translation.override("en"):
        yield


@pytest.fixture(autouse=True)
def _outside_of_requests() -> None:
    """A request leaves its settings and its trace id in the thread, too."""
    store._of_request.set(None)
    trace._current.set("")


@pytest.fixture
def password() -> str:
    """What everyone of the cast signs in with."""
    return PASSWORD


@pytest.fixture
def owner(db: None) -> User:
    return _person("owner")


@pytest.fixture
def reader(db: None) -> User:
    return _person("reader")


@pytest.fixture
def outsider(db: None) -> User:
    return _person("outsider")


@pytest.fixture
def administrator(db: None) -> User:
    return _person("administrator", groups=(administrators().pk,))


@pytest.fixture
def api() -> Callable[..., APIClient]:
    """`api(user)`: a client with a real token of all that the user may have; `scopes=` narrows it."""

    def client_for(user: User, *, scopes: tuple[str, ...] = ()) -> APIClient:
        wanted = [TokenScope(scope) for scope in scopes] or allowed_scopes(user)
        _row, text = create_token(actor=SYSTEM, user=user, name="test", scopes=wanted)
        return APIClient(headers={"Authorization": f"Bearer {text}"})

    return client_for


@pytest.fixture
def browser() -> Callable[..., Client]:
    """`browser(user)`: a signed-in session, or without a user an anonymous one."""

    def client_for(user: User | None = None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user)
        return client

    return client_for


@pytest.fixture
def configure(db: None) -> Callable[..., None]:
    """`configure(SETTING, value)`: what an administrator would set on the settings page."""

    def change(setting: Setting[Any], value: Any) -> None:
        services.change(actor=SYSTEM, values={setting.name: setting.clean(value)})

    return change
