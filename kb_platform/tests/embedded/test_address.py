"""The address that is printed."""

import pytest
from django.test import override_settings

from kb_platform.embedded.address import site_address


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
