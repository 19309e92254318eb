"""Servers that speak the real protocols over real sockets, and sources that lead to them."""

import contextlib
import socket
import threading

import psycopg
import pytest
from django.db import connection

from kb_platform.net.addresses import read_hosts
from kb_platform.net.guard import Bounds, forget
from kb_platform.net.safe_http import Door
from retrieval.channels.external.values import SourceConfig, SourceKind

ROLE, PASSWORD, DATABASE = "outside_reader", "outside-password", "outside_knowledge"
STATEMENT = (
    "select id, title, body as text, url, ts_rank(to_tsvector('simple', body), q) as score "
    "from knowledge, plainto_tsquery('simple', %(question)s) q "
    "where to_tsvector('simple', body) @@ q and (%(allowed)s::text[] is null or team = any(%(allowed)s)) "
    "order by score desc limit %(limit)s"
)


@pytest.fixture
def source():
    """`source(kind, server, **options)`: a source as a reader may ask it, and its door in `door`."""
    made = []

    def make(kind, server, *, allowed=None, filter_field="", secret="", bounds=None, **options):
        config = SourceConfig(
            uid="0192f0c4-0000-7000-8000-000000000001",
            name="Wiki",
            kind=SourceKind(kind),
            options={"url": getattr(server, "url", ""), **options},
            secret=secret,
            filter_field=filter_field,
            allowed=allowed,
            bounds=bounds or Bounds(try_s=10, total_s=10, tries=1),
        )
        made.append(config)
        forget(config.target)
        return config

    yield make
    for config in made:
        forget(config.target)


@pytest.fixture
def door():
    def to(*addresses):
        return Door(internal=read_hosts("\n".join(getattr(one, "address", str(one)) for one in addresses)))

    return to


class Relay:
    """A TCP port in front of the test server's unix socket; it may stop passing anything on."""

    def __init__(self, path: str) -> None:
        self.is_stalled = threading.Event()
        self._path = path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._path)
            for here, there in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(here, there), daemon=True).start()

    def _pass(self, here: socket.socket, there: socket.socket) -> None:
        try:
            while data := here.recv(65_536):
                if self.is_stalled.is_set():
                    continue
                there.sendall(data)
        except OSError:
            pass
        finally:
            for one in (here, there):
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def outside(django_db_setup, django_db_blocker):
    """A second database with a role of its own on the test server, reached by TCP."""
    with django_db_blocker.unblock():
        parameters = connection.get_connection_params()
        host = str(parameters.get("host") or connection.settings_dict["HOST"])
    admin = {"host": host, "user": "postgres", "autocommit": True}
    with psycopg.connect(dbname="postgres", **admin) as postgres:
        postgres.execute(f"drop database if exists {DATABASE}")
        postgres.execute(f"drop role if exists {ROLE}")
        postgres.execute(f"create role {ROLE} login password '{PASSWORD}'")
        postgres.execute(f"create database {DATABASE}")
    with psycopg.connect(dbname=DATABASE, **admin) as outside:
        outside.execute(
            "create table knowledge (id int primary key, title text, body text, url text, team text)"
        )
        outside.execute(
            "insert into knowledge values (1, 'Torque', 'the pump torque is 40 newton metres', 'https://wiki/1', 'hr'),"
            " (2, 'Pumps', 'pump ' || repeat('pump oil ', 10000), 'javascript:alert(1)', 'it'),"
            " (3, 'Lunch', 'soup', null, 'it')"
        )
        outside.execute(f"grant select on knowledge to {ROLE}")
    relay = Relay(f"{host}/.s.PGSQL.5432")
    yield relay
    relay.close()
    with psycopg.connect(dbname="postgres", **admin) as postgres:
        postgres.execute(f"drop database {DATABASE} with (force)")
        postgres.execute(f"drop role {ROLE}")


@pytest.fixture
def sql_source(outside, source):
    """A source on the second database; `statement=` and other options may be changed."""
    outside.is_stalled.clear()

    def make(**changes):
        given = {
            "host": "127.0.0.1", "port": str(outside.port), "database": DATABASE, "user": ROLE,
            "sslmode": "prefer", "statement": STATEMENT, "secret": PASSWORD, "bounds": Bounds(try_s=10, total_s=10, tries=1),
        }  # fmt: skip
        return source("sql", None, **(given | changes))

    return make
