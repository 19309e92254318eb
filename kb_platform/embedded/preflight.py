"""What must be true before anything slow starts. Each check says in one sentence what is wrong and what to do."""

import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from django.conf import settings
from django.db import connection

from kb_platform.embedded.processes import ServiceError

OLDEST_PGVECTOR = (0, 8)
WHY_PGVECTOR = "older ones silently lose results of searches that are limited to what a reader may see"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """What an external server says of itself. installed, available: versions of pgvector there, "" for none."""

    name: str
    role: str
    role_is_superuser: bool
    role_bypasses_rls: bool
    installed: str
    available: str


def check_port(host: str, port: int) -> None:
    """Raises ServiceError if the web server could not listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ServiceError(port_problem(host, port, error)) from error


def port_problem(host: str, port: int, error: OSError) -> str:
    return (
        f"Port {port} on {host} cannot be used ({error.strerror or error}); "
        f"stop what uses it, or choose another one, for example KB_PORT={port + 1 if port < 65535 else 8000}"
    )


def check_external_services() -> list[str]:
    """Check the servers named by DATABASE_URL and REDIS_URL, if any; returns warnings.

    Raises ServiceError if one cannot be reached or used.
    """
    warnings = []
    if not settings.EMBEDDED_POSTGRES:
        facts = read_database_facts()
        if problem := database_problem(facts):
            raise ServiceError(problem)
        warnings = database_warnings(facts)
    if not settings.EMBEDDED_VALKEY:
        _check_valkey(settings.REDIS_URL)
    return warnings


def read_database_facts() -> DatabaseFacts:
    """Ask the configured server. Raises ServiceError if it cannot be reached."""
    parameters = {**connection.get_connection_params(), "connect_timeout": 10}
    try:
        with psycopg.connect(**parameters) as session:
            row = session.execute(
                "SELECT current_database(), current_user, rolsuper, rolbypassrls,"
                " coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''),"
                " coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), '')"
                " FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
    except psycopg.OperationalError as error:
        where = f"{parameters.get('host', 'localhost')}:{parameters.get('port', 5432)}"
        raise ServiceError(
            f"PostgreSQL at {where} (DATABASE_URL) cannot be used: {str(error).strip()}"
        ) from error
    return DatabaseFacts(
        **dict(
            zip(
                ("name", "role", "role_is_superuser", "role_bypasses_rls", "installed", "available"),
                row or (),
                strict=True,
            )
        )
    )


def database_problem(facts: DatabaseFacts) -> str:
    """Why this database cannot hold the index, with the SQL that cures it; "" if it can."""
    oldest = ".".join(map(str, OLDEST_PGVECTOR))
    if facts.installed and _version(facts.installed) >= OLDEST_PGVECTOR:
        return ""
    if not facts.available or _version(facts.available) < OLDEST_PGVECTOR:
        has = f"offers pgvector {facts.available}" if facts.available else "does not offer pgvector"
        return (
            f"The database server {has}; install pgvector {oldest} or later there ({WHY_PGVECTOR}), then run as "
            f"a superuser in the database {facts.name}: {_cure(facts)}"
        )
    if facts.installed:
        return (
            f"The database {facts.name} has pgvector {facts.installed}, but {oldest} or later is needed "
            f"({WHY_PGVECTOR}). Run in it as a superuser: {_cure(facts)}"
        )
    return f"The database {facts.name} lacks the extension vector. Run in it as a superuser: {_cure(facts)}"


def database_warnings(facts: DatabaseFacts) -> list[str]:
    if facts.role_is_superuser or facts.role_bypasses_rls:
        what = "is a superuser" if facts.role_is_superuser else "has BYPASSRLS"
        return [
            f"The database role {facts.role} {what}: row-level security cannot bind it. Use an ordinary role."
        ]
    return []


def _cure(facts: DatabaseFacts) -> str:
    return "ALTER EXTENSION vector UPDATE;" if facts.installed else "CREATE EXTENSION vector;"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def _check_valkey(url: str) -> None:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        raise ServiceError(
            f"Valkey or Redis at {without_password(url)} (REDIS_URL) cannot be used: {error}"
        ) from error


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:…@{host}"))
