"""Settings shared by every way of running."""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dj_database_url
from csp.constants import NONE, SELF
from django.utils.translation import gettext_lazy as _

from kb_platform.embedded import paths
from kb_platform.settings import environment

# LangChain's tracing sends questions and passages to a service outside; from this site's processes never.
os.environ.update(dict.fromkeys(("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2"), "false"))
os.environ.update(dict.fromkeys(("LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"), "false"))

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = environment.directory("KB_DATA_DIR", BASE_DIR / ".data")
PORT = environment.integer("KB_PORT", 8000, low=1, high=65535)
HOST = environment.text("KB_HOST", "127.0.0.1")
WEB_PROCESSES = environment.integer("KB_WEB_PROCESSES", 1, low=1, high=64)
ADMIN_EMAIL = environment.text("KB_ADMIN_EMAIL")
ADMIN_PASSWORD = environment.text("KB_ADMIN_PASSWORD")
SAMPLES = environment.flag("KB_SAMPLES", default=True)
DATABASE_URL = environment.url("DATABASE_URL", password="DATABASE_PASSWORD")  # noqa: S106 - a variable's name
REDIS_URL = environment.url("REDIS_URL", password="REDIS_PASSWORD")  # noqa: S106
EMBEDDED_POSTGRES = not DATABASE_URL
EMBEDDED_VALKEY = not REDIS_URL


def _secret_key() -> str:
    """Given by KB_SECRET_KEY, or made once and kept in the data folder, readable by its owner only."""
    if given := environment.text("KB_SECRET_KEY"):
        return given
    path = DATA_DIR / "secret_key"
    if not path.exists():
        DATA_DIR.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{secrets.token_hex(4)}")
        part.touch(mode=0o600)
        part.write_text(secrets.token_urlsafe(64))
        try:
            path.hardlink_to(part)  # atomic, and the first process wins
        except FileExistsError:
            pass
        finally:
            part.unlink()
    return path.read_text().strip()


SECRET_KEY = _secret_key()
DEBUG = False
# Health checks ask from the machine itself, whatever the site is called elsewhere.
ALLOWED_HOSTS = [*environment.words("KB_ALLOWED_HOSTS"), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = environment.words("KB_TRUSTED_ORIGINS")
TRUSTED_PROXIES = environment.words("KB_TRUSTED_PROXIES")  # their X-Forwarded-For and -Proto are believed

INSTALLED_APPS = [
    "servestatic.runserver_nostatic",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "guardian",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "csp",
    "kb_platform",
    "accounts",
    "ingestion",
    "retrieval",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "kb_platform.middleware.TraceIdMiddleware",
    "kb_platform.middleware.PlainTextMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.PrincipalMiddleware",
    "kb_platform.middleware.PolicyMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "kb_platform.urls"
ASGI_APPLICATION = "kb_platform.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "kb_platform.context_processors.shell",
                "ingestion.context_processors.rail",
                "retrieval.context_processors.rail",
            ],
            "builtins": ["django.templatetags.i18n", "django.templatetags.static"],
        },
    }
]

# --- data -------------------------------------------------------------------------------------------------

CONNECTION_OPTIONS: dict[str, Any] = {
    "pool": {"min_size": 1, "max_size": 12, "timeout": 10},
    "options": "-c statement_timeout=60000 -c lock_timeout=15000 -c idle_in_transaction_session_timeout=120000",
}
DATABASES: dict[str, Any] = {
    "default": (
        dj_database_url.parse(DATABASE_URL)
        if DATABASE_URL
        else {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": paths.DATABASE,
            "USER": paths.ROLE,
            "HOST": str(paths.run_dir(DATA_DIR)),
        }
    )
}
DATABASES["default"].setdefault("OPTIONS", {}).update(CONNECTION_OPTIONS)
# A search waits for no replica: the main database answers as well.
if REPLICA_URL := environment.text("KB_REPLICA_URL", ""):
    DATABASES["replica"] = dj_database_url.parse(REPLICA_URL)
    DATABASES["replica"].setdefault("OPTIONS", {}).update(
        CONNECTION_OPTIONS | {"connect_timeout": 2, "pool": {"min_size": 0, "max_size": 12, "timeout": 2}}
    )
DATABASE_ROUTERS = ["kb_platform.replica.ReadRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
BLOB_DIR = DATA_DIR / "blobs"
MODEL_DIR = DATA_DIR / "models"
EMBEDDER = environment.text("KB_EMBEDDER", "bundled")  # or the path of a sentence-transformers folder
# Retrievers that may be used as external sources: name=package.module.attribute, separated by commas.
LANGCHAIN_RETRIEVERS = environment.pairs("KB_LANGCHAIN_RETRIEVERS")
LANGUAGE_MEANS = environment.text(
    "KB_LANGUAGE_MEANS", ""
)  # a file of `calibrate_retrieval --means`; default: the bundled
EMBEDDER_THREADS = environment.integer("KB_EMBEDDER_THREADS", min(4, os.cpu_count() or 1), low=1, high=256)
RERANKER_MODEL = environment.text(
    "KB_RERANKER_MODEL"
)  # the path of a CrossEncoder folder, if one is to be used

VALKEY_URL = REDIS_URL or f"unix://{quote(str(paths.valkey_socket(DATA_DIR)))}"
_VALKEY_CACHE: dict[str, Any] = {
    "BACKEND": "django.core.cache.backends.redis.RedisCache",
    "LOCATION": VALKEY_URL,
}
CACHES = {
    "default": _VALKEY_CACHE,
    # A search waits for no cache: it is quicker to look again.
    "rankings": _VALKEY_CACHE | {"OPTIONS": {"socket_timeout": 0.25, "socket_connect_timeout": 0.25}},
}
SESSION_ENGINE = "django.contrib.sessions.backends.db"

# --- accounts ---------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
ANONYMOUS_USER_NAME = None  # guardian makes no anonymous account
SILENCED_SYSTEM_CHECKS = ["guardian.W001"]  # guardian stores grants; accounts.permissions reads them
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
BOOTSTRAP_STEPS = [
    "accounts.setup.bootstrap",
    "ingestion.bootstrap.bootstrap",
]  # run at every start, each repeatable
CSRF_FAILURE_VIEW = "kb_platform.health.stale_form"
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "ask"
SESSION_COOKIE_AGE = 12 * 3600  # of a session without a fixed end; see accounts.sessions
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = environment.flag("KB_HTTPS", default=False)

# --- what crosses the wire --------------------------------------------------------------------------------

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
DATA_UPLOAD_MAX_NUMBER_FILES = 500
FILE_UPLOAD_PERMISSIONS = 0o600
# Settings of kb_platform.runtime_config that the environment holds fast: KB_CONFIG_<AREA>_<NAME>.
RUNTIME_OVERRIDES = environment.overrides("KB_CONFIG_", {"KB_MAX_UPLOAD_MB": "uploads.largest_mb"})

STATIC_URL = "static/"
STATIC_ROOT = environment.directory("KB_STATIC_DIR", DATA_DIR / "staticfiles")
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_TZ = True
TIME_ZONE = environment.text("KB_TIME_ZONE", "UTC")

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.TokenAuthentication",
        "accounts.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.authentication.HasScope"],
    "DEFAULT_PARSER_CLASSES": [
        "kb_platform.api.JSONBody",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "kb_platform.api.AnyAccept",
    "DEFAULT_PAGINATION_CLASS": "kb_platform.api.Pages",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "kb_platform.api.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Zhiku",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# --- retrieval --------------------------------------------------------------------------------------------

LEXICAL_COMMON_SHARE = 0.05  # terms in more of the chunks score, but do not match beside rarer ones
DENSE_EXACT_ROWS = 5_000  # an exact scan takes about 2.4 µs a row
DENSE_EXACT_SHARE, DENSE_EXACT_MAX_ROWS = 0.03, 20_000
HNSW_EF_SEARCH = 200
QUERY_EMBEDDING_TIMEOUT_S = 5.0  # later than this the search goes on without the dense channel

# --- streamed answers -------------------------------------------------------------------------------------

ANSWER_DEADLINE_S = 60.0  # for the whole answer
ANSWER_NO_READER_S = 30.0  # how long an answer goes on that nobody follows
STREAM_WATCH_S = 1.0  # how often a producer and a reader look after each other; below 5 s, Valkey's timeout
STREAM_HEARTBEAT_S = 0.5  # a comment: the reader knows that the answer is being worked on
STREAM_RECHECK_S = 1.0  # how long a reader's rights are taken for unchanged while text flows
STREAM_KEEP_S = 600  # how long the events can be taken up again

# --- jobs -------------------------------------------------------------------------------------------------

CELERY_BROKER_URL = REDIS_URL or f"redis+socket://{paths.valkey_socket(DATA_DIR)}"
CELERY_TIMEZONE = TIME_ZONE
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = False  # the ledger's lease retries; a poison file must not loop
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # a ledger lease, not the queue, decides
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 7200,
    "unacked_restore_interval": 3,
    "unacked_restore_throttle": 1,
    "socket_timeout": 10,
    # A request that cannot ring the bell must not wait for it: the ledger rings again.
    "socket_connect_timeout": 2,
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.1,
    "interval_max": 0.1,
}

# Parts that apps add to the platform, by dotted name.
DOCTOR_CHECKS = ["ingestion.diagnosis.examine"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"trace": {"()": "kb_platform.logs.TraceIdFilter"}},
    "formatters": {
        "json": {"()": "kb_platform.logs.JsonFormatter"},
        "plain": {"()": "kb_platform.logs.PlainFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["trace"],
            "formatter": environment.text("KB_LOG_FORMAT", "plain"),
        }
    },
    "loggers": {
        "celery": {"level": "WARNING"},  # not a line for every periodic task
        "psycopg.pool": {"level": "ERROR"},  # nor for every attempt while the database is down
        "django.request": {"level": "ERROR"},  # nor for every 404; bugs are errors
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # nor a traceback for every scanner
    },
    "root": {"handlers": ["stderr"], "level": environment.text("KB_LOG_LEVEL", "INFO")},
}
