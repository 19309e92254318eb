"""nginx is there, or it is said: skipped where somebody works, a failure where everything is to be tested."""

import os

import pytest

from kb_platform.testing.nginx import PROGRAM


@pytest.fixture
def needs_nginx() -> None:
    if not PROGRAM:
        say = pytest.fail if os.environ.get("KB_TEST_EVERYTHING") == "1" else pytest.skip
        say("nginx is not installed (apt-get install nginx-light)")
