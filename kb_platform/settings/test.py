"""Settings of the test suite: real PostgreSQL and Valkey in a temporary data folder, cheap password hashes."""

from kb_platform.settings.base import *  # noqa: F403
from kb_platform.settings.base import CACHES, DATABASES, STORAGES

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SAMPLES = False
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
DATABASES["default"]["OPTIONS"].pop("pool")
CACHES = {"default": {**CACHES["default"], "KEY_PREFIX": "test"}}
