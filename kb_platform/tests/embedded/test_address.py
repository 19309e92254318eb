"""The address that is printed."""

import pytest
from django.test import override_settings

from kb_platform.embedded.address import public_address, site_address


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://localhost:8000"),
        ("::", "http://localhost:8000"),
        ("192.0.2.7", "http://192.0.2.7:8000"),
        ("2001:db8::7", "http://[2001:db8::7]:8000"),
    ],
)
def test_address_is_one_that_a_browser_here_can_open(host: str, address: str) -> None:
    with override_settings(HOST=host, PORT=8000):
        assert site_address() == address


@pytest.mark.parametrize(
    ("origins", "address"),
    [
        ([], "http://localhost:8000"),
        (["https://*.example.com", "https://kb.example.com/"], "https://kb.example.com"),
    ],
)
def test_people_are_told_the_address_that_the_site_is_known_by(origins: list[str], address: str) -> None:
    with override_settings(HOST="0.0.0.0", PORT=8000, CSRF_TRUSTED_ORIGINS=origins):
        assert public_address() == address
