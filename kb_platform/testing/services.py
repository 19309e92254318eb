"""Pytest plugin: a fresh data folder for the run, with a real PostgreSQL and Valkey in it while a test needs them.

Loaded by `-p` before Django reads its settings. Servers start when the first test with a database, or with the
fixture `services`, is set up; under xdist the controller starts them at once and its workers share them.
KB_TEST_EXTERNAL=1 keeps DATABASE_URL and REDIS_URL, and starts nothing.
"""

import atexit
import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from kb_platform.embedded import paths
from kb_platform.embedded.lock import FolderLock
from kb_platform.embedded.postgres import Postgres
from kb_platform.embedded.valkey import Valkey
from kb_platform.testing import emptying

NO_DURABILITY = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
    "autovacuum": "off",
}
IS_EXTERNAL = os.environ.get("KB_TEST_EXTERNAL") == "1"
IS_XDIST_WORKER = "PYTEST_XDIST_WORKER" in os.environ


def _prepare_environment() -> None:
    data_dir = os.environ["KB_DATA_DIR"] = tempfile.mkdtemp(prefix="kb-test-")
    # Also where pytest gives up before its hooks.
    atexit.register(shutil.rmtree, data_dir, ignore_errors=True)
    # The static files middleware warns of its absence, once for every test client.
    Path(data_dir, "staticfiles").mkdir()
    for name in list(os.environ):
        if name.startswith("KB_ADMIN_") or name in ("KB_RUN_DIR", "KB_SAMPLES", "KB_LOG_LEVEL"):
            del os.environ[name]
    if not IS_EXTERNAL:
        os.environ.pop("DATABASE_URL", None)
        os.environ.pop("REDIS_URL", None)


if not IS_XDIST_WORKER:  # a worker inherits the controller's environment
    _prepare_environment()


class _Services:
    """The servers of this run, started at most once."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._postgres = Postgres(data_dir, options=NO_DURABILITY)
        self._valkey = Valkey(data_dir)
        self._is_started = IS_EXTERNAL or IS_XDIST_WORKER
        self._lock = FolderLock(data_dir)

    def claim(self) -> None:
        """Makes management commands under test use these servers, and start no workers of their own."""
        if not IS_XDIST_WORKER:
            self._lock.take(command="pytest", has_workers=True)

    def start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._postgres.start()
            self._postgres.provision()
            self._valkey.start()

    def stop(self) -> None:
        if not IS_XDIST_WORKER:
            self._valkey.stop()
            self._postgres.stop()
            shutil.rmtree(paths.run_dir(self._data_dir), ignore_errors=True)
            shutil.rmtree(self._data_dir, ignore_errors=True)


_services = _Services(Path(os.environ["KB_DATA_DIR"]))


def pytest_configure(config: pytest.Config) -> None:
    _services.claim()
    emptying.install()
    if not IS_XDIST_WORKER:
        _compile_translations()
    if getattr(config.option, "numprocesses", None) and not config.option.collectonly:
        _services.start()


def _compile_translations() -> None:
    """As a start of the site does, so that pages under test speak both languages."""
    from kb_platform.translations import catalogues, compile_catalogue

    for path in catalogues():
        compile_catalogue(path)


def pytest_collection_finish() -> None:
    """What is imported by now stays: looking through all of it for garbage again and again takes a seventh of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> None:
    if fixturedef.argname == "django_db_setup":
        _services.start()


def pytest_unconfigure() -> None:
    _services.stop()


@pytest.fixture(scope="session")
def services() -> None:
    """For tests that need the cache or the broker but no database."""
    _services.start()
