"""What stops a start, and how it is said."""

import socket

import pytest

from kb_platform.embedded.preflight import (
    DatabaseFacts,
    check_port,
    database_problem,
    database_warnings,
    without_password,
)
from kb_platform.embedded.processes import ServiceError


def facts(**changes: object) -> DatabaseFacts:
    usual: dict[str, object] = {
        "name": "kb",
        "role": "app",
        "role_is_superuser": False,
        "role_bypasses_rls": False,
        "installed": "0.8.1",
        "available": "0.8.1",
    }
    return DatabaseFacts(**{**usual, **changes})


@pytest.fixture
def taken_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_in_use_is_named_with_a_way_out(taken_port: int) -> None:
    with pytest.raises(ServiceError, match=rf"Port {taken_port} on 127.0.0.1 .*in use.*KB_PORT="):
        check_port("127.0.0.1", taken_port)


def test_a_free_port_passes(taken_port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        free = other.getsockname()[1]
    check_port("127.0.0.1", free)


def test_a_host_that_is_not_here_is_named() -> None:
    with pytest.raises(ServiceError, match=r"on 203\.0\.113\.9"):
        check_port("203.0.113.9", 8000)


@pytest.mark.parametrize("version", ["0.8.0", "0.8.6", "0.10.0", "1.0"])
def test_pgvector_from_0_8_is_accepted(version: str) -> None:
    assert database_problem(facts(installed=version, available=version)) == ""


@pytest.mark.parametrize(
    ("installed", "available", "said", "cure"),
    [
        ("", "0.8.6", "lacks the extension", "CREATE EXTENSION vector;"),
        ("", "", "does not offer pgvector", "CREATE EXTENSION vector;"),
        ("", "0.5.1", "offers pgvector 0.5.1", "CREATE EXTENSION vector;"),
        ("0.7.4", "0.8.6", "has pgvector 0.7.4", "ALTER EXTENSION vector UPDATE;"),
        ("0.7.4", "0.7.4", "offers pgvector 0.7.4", "ALTER EXTENSION vector UPDATE;"),
    ],
)
def test_a_database_that_cannot_hold_the_index_is_refused_with_the_cure(
    installed: str, available: str, said: str, cure: str
) -> None:
    problem = database_problem(facts(installed=installed, available=available))
    assert said in problem
    assert problem.endswith(cure)
    assert " kb" in problem, "it says in which database"


def test_an_old_pgvector_is_refused_with_the_reason() -> None:
    assert "lose results" in database_problem(facts(installed="0.7.4"))


@pytest.mark.parametrize("right", ["role_is_superuser", "role_bypasses_rls"])
def test_a_role_that_security_does_not_bind_is_warned_of(right: str) -> None:
    assert "app" in database_warnings(facts(**{right: True}))[0]
    assert database_warnings(facts()) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:secret@queue:6379/0", "redis://:…@queue:6379/0"),
        ("redis://user:secret@queue/0", "redis://user:…@queue/0"),
        ("redis://queue:6379/0", "redis://queue:6379/0"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
