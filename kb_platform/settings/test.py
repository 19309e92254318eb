"""Settings of the test suite: real PostgreSQL and Valkey in a temporary data folder, cheap password hashes."""

from kb_platform.settings import environment
from kb_platform.settings.base import *  # noqa: F403
from kb_platform.settings.base import CACHES, DATABASES, STORAGES, VALKEY_URL

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SAMPLES = False
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
DATABASES["default"]["OPTIONS"].pop("pool")
# Each process of a parallel run has a cache of its own, as it has a database of its own.
_worker = environment.text("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
_own = {"KEY_PREFIX": "test", "LOCATION": f"{VALKEY_URL}?db={int(_worker) % 14 + 1}"}
CACHES = {name: {**cache, **_own} for name, cache in CACHES.items()}
