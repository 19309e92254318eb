"""Variables of the environment, as settings read them."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from kb_platform.settings import environment


def test_a_password_of_its_own_goes_into_the_address_of_its_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "password"
    secret.write_text("a/b@c:d%e\n")
    monkeypatch.setenv("SERVER", "postgresql://zhiku@db:5432/zhiku?sslmode=require")
    monkeypatch.setenv("SERVER_PASSWORD_FILE", str(secret))
    parts = urlsplit(environment.url("SERVER", password="SERVER_PASSWORD"))
    assert (parts.username, unquote(parts.password or "")) == ("zhiku", "a/b@c:d%e")
    assert (parts.hostname, parts.port, parts.path, parts.query) == ("db", 5432, "/zhiku", "sslmode=require")


def test_an_address_without_a_password_stays_and_a_password_alone_is_no_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SERVER", "redis://valkey:6379/0")
    assert environment.url("SERVER", password="SERVER_PASSWORD") == "redis://valkey:6379/0"
    monkeypatch.setenv("SERVER_PASSWORD", "x")
    assert environment.url("SERVER", password="SERVER_PASSWORD") == "redis://:x@valkey:6379/0"
    monkeypatch.delenv("SERVER")
    assert environment.url("SERVER", password="SERVER_PASSWORD") == ""
