"""A view in another PostgreSQL: one statement that the administrator gave, with the question as a bound parameter.

The transaction is read-only and has a time limit on the server, the role may not be a superuser, and rows and texts are cut
there, before they travel. No text of a reader is ever part of SQL.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.utils.translation import gettext_lazy as _
from psycopg.rows import dict_row

from kb_platform.net.errors import BadAnswer, Late, OutboundError, Unreachable
from kb_platform.net.safe_http import Door
from retrieval.channels.external.cleaning import clean_id, clean_text, clean_title, clean_url
from retrieval.channels.external.http_knowledge import score_of
from retrieval.channels.external.values import Record, SourceConfig

PARAMETERS = frozenset({"question", "limit", "allowed"})
COLUMNS = {"id": 500, "title": 1_000, "text": 20_000, "url": 2_000}  # characters that travel
GRACE_S = 0.1  # in which the server's own limit is heard of first
_PARAMETER = re.compile(r"%(?:\((\w+)\)s|%|.?)", re.S)
_BEGIN = re.compile(r"\s*(?:select|with)\b", re.I)


class StatementRefused(OutboundError):
    """The database has refused the statement or the role."""

    code = "statement_refused"
    message = _("The database refuses the statement.")


class RoleRefused(OutboundError):
    code = "role_refused"
    message = _("This database role is a superuser. Give one that may only read the view.")


def statement_fault(statement: str) -> str:
    """What is wrong with a statement, as a code; "" when it can be used.

    no_select, several (a semicolon), parameter (others than %(question)s, %(limit)s, %(allowed)s, or a lone %), no_question.
    """
    if not _BEGIN.match(statement):
        return "no_select"
    if ";" in statement:
        return "several"
    found = [(match.group(0), match.group(1)) for match in _PARAMETER.finditer(statement)]
    if any(whole != "%%" and name not in PARAMETERS for whole, name in found):
        return "parameter"
    return "" if "question" in parameters_of(statement) else "no_question"


def parameters_of(statement: str) -> frozenset[str]:
    return frozenset(match.group(1) for match in _PARAMETER.finditer(statement) if match.group(1))


def ask_sql(config: SourceConfig, question: str, limit: int, door: Door, seconds: float) -> list[Record]:
    """Raises OutboundError."""
    end = time.monotonic() + seconds
    try:
        with _connect(config, door, seconds) as connection, _cut_off(connection, end):
            rows = _rows(connection, config, {"question": question, "limit": limit}, end)
    except psycopg.errors.QueryCanceled as error:
        raise Late() from error
    except psycopg.errors.ConnectionTimeout as error:
        raise Late() from error
    except psycopg.OperationalError as error:
        raise Late() if time.monotonic() >= end else Unreachable() from error
    except (psycopg.Error, ValueError) as error:
        raise StatementRefused() from error
    return [_record(row) for row in rows]


def _connect(config: SourceConfig, door: Door, seconds: float) -> psycopg.Connection[dict[str, Any]]:
    host, port = config.option("host"), int(config.option("port") or 5432)
    place = door.checked(host, port, timeout_s=seconds)
    milliseconds = max(int(seconds * 1000), 1)
    connection = psycopg.connect(
        host=host,
        hostaddr=place.address,
        port=port,
        dbname=config.option("database"),
        user=config.option("user"),
        password=config.secret,
        sslmode=config.option("sslmode") or "prefer",
        passfile="/dev/null",
        connect_timeout=max(round(seconds), 1),
        tcp_user_timeout=milliseconds,
        application_name="zhiku",
        options=f"-c statement_timeout={milliseconds} -c default_transaction_read_only=on"
        f" -c idle_in_transaction_session_timeout={milliseconds + 1000} -c lock_timeout={milliseconds}",
        row_factory=dict_row,
    )
    connection.read_only = True
    return connection


@contextmanager
def _cut_off(connection: psycopg.Connection[Any], end: float) -> Iterator[None]:
    """Shuts the line at the end: a server that stalls would hold the thread for ever, whatever its own limits."""

    def shut() -> None:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(end - time.monotonic(), 0.0) + GRACE_S, shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _rows(
    connection: psycopg.Connection[dict[str, Any]], config: SourceConfig, values: dict[str, Any], end: float
) -> list[dict[str, Any]]:
    if config.allowed is not None:
        values = values | {"allowed": list(config.allowed)}
    elif "allowed" in parameters_of(config.option("statement")):
        values = values | {"allowed": None}
    inner = f"from (\n{config.option('statement')}\n) as given"
    with connection.cursor() as cursor:
        cursor.execute("select rolsuper from pg_roles where rolname = current_user")
        role = cursor.fetchone()
        if role is None or role["rolsuper"]:
            raise RoleRefused()
        cursor.execute(f"select * {inner} limit 0".encode(), values)
        names = {column.name for column in cursor.description or ()}
        if not {"title", "text"} & names:
            raise BadAnswer()
        wanted = [
            f"left(given.{name}::text, {most}) as {name}" for name, most in COLUMNS.items() if name in names
        ]
        wanted += ["given.score::float8 as score"] if "score" in names else []
        left_ms = int((end - time.monotonic()) * 1000)
        if left_ms <= 0:
            raise Late()
        cursor.execute("select set_config('statement_timeout', %s, true)", [str(left_ms)])
        cursor.execute(f"select {', '.join(wanted)} {inner} limit %(limit)s".encode(), values)
        return cursor.fetchmany(values["limit"])


def _record(row: dict[str, Any]) -> Record:
    title, text, url = clean_title(row.get("title")), clean_text(row.get("text")), clean_url(row.get("url"))
    return Record(
        remote_id=clean_id(row.get("id")) or f"{url}\n{title}\n{text}",
        title=title,
        text=text,
        url=url,
        score=score_of(row.get("score")),
    )
