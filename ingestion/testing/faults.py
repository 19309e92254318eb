"""A storm: files come in, are replaced, moved and deleted while parts of a running site are killed; then a reckoning.

Everything random comes from one seed. `Storm.run` returns what was done and what a recount found; it waits for events,
never for a length of time.
"""

import hashlib
import json
import os
import random
import signal
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pymupdf
import redis
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from kb_platform.embedded import paths
from kb_platform.testing.site import RunningSite, becomes

ADMIN = {"KB_ADMIN_EMAIL": "root@example.com", "KB_ADMIN_PASSWORD": "a long phrase for tests"}
IN_FLIGHT = 14  # files under way at once
PATIENCE_S = 240.0
POINTS = ("parsing", "chunking", "embedding", "publishing", "queued")
WORDS = [
    "pump",
    "valve",
    "pressure",
    "shift",
    "report",
    "week",
    "gauge",
    "filter",
    "seal",
    "motor",
    "check",
    "note",
    "gate",
    "panel",
    "crew",
    "水泵",
    "阀门",
    "压力",
    "班次",
    "报告",
]
FAULTS = {
    "lost": "select count(*) from ingestion_document d join ingestion_documentversion v on v.id = d.latest_version_id"
    " where d.trashed_from_id is null and v.state not in ('live', 'partly_live', 'rejected')",
    "doubled documents": "select count(*) - count(distinct (collection_id, source_key)) from ingestion_document"
    " where trashed_from_id is null",
    "doubled rows": "select (select count(*) - count(distinct chunk_id) from dense_g1)"
    " + (select count(*) - count(distinct chunk_id) from lexical_g1)",
    "live but not the newest": "select count(*) from ingestion_document d"
    " join ingestion_documentversion v on v.id = d.latest_version_id"
    " where v.state in ('live', 'partly_live') and d.active_version_id is distinct from d.latest_version_id",
    "chunks not as counted": "select count(*) from ingestion_documentversion v join ingestion_document d"
    " on d.active_version_id = v.id where v.chunk_count <> (select count(*) from ingestion_chunk c where c.version_id = v.id)",
    "chunks of no active version": "select count(*) from ingestion_chunk c join ingestion_document d"
    " on d.id = c.document_id where d.active_version_id is distinct from c.version_id",
    "chunks without index rows": "select count(*) from ingestion_chunk c join ingestion_document d on d.id = c.document_id"
    " left join lexical_g1 l on l.chunk_id = c.id left join dense_g1 e on e.chunk_id = c.id"
    " where d.archived_at is null and (l.chunk_id is null or e.chunk_id is null)",
    "index rows without chunks": "select (select count(*) from lexical_g1 l left join ingestion_chunk c on c.id = l.chunk_id"
    " where c.id is null) + (select count(*) from dense_g1 e left join ingestion_chunk c on c.id = e.chunk_id where c.id is null)",
    "index rows of the trash": "select count(*) from lexical_g1 l join ingestion_document d on d.id = l.document_id"
    " where d.archived_at is not null",
    "rows under a wrong scope": "select (select count(*) from lexical_g1 l join ingestion_document d on d.id = l.document_id"
    " where d.scope_id <> l.scope_id) + (select count(*) from dense_g1 e join ingestion_document d on d.id = e.document_id"
    " where d.scope_id <> e.scope_id)",
    "term counts that differ": "select count(*) from (select scope_id, lexeme, count(*) n from lexical_g1, unnest(terms)"
    " group by 1, 2) i full join (select scope_id, term, chunk_count n from ingestion_termstatistic where chunk_count <> 0) s"
    " on i.scope_id = s.scope_id and i.lexeme = s.term where i.n is distinct from s.n",
    "scope counts that differ": "select count(*) from (select scope_id, count(*) n from lexical_g1 group by 1) i"
    " full join (select scope_id, chunk_count n from ingestion_scopestatistic where chunk_count <> 0) s"
    " on i.scope_id = s.scope_id where i.n is distinct from s.n",
    "states that disagree": "select count(*) from ingestion_ingestjob j join ingestion_documentversion v on v.id = j.version_id"
    " where (j.state = 'succeeded') <> (v.state in ('live', 'partly_live', 'superseded'))",
}
EXTRA_PARSES = (
    "select coalesce(sum(greatest(n - 1 - again, 0)), 0) from (select version_id,"
    " count(*) filter (where kind = 'started' and stage = 'parsing') n,"
    " count(*) filter (where reason_code in ('retried', 'made_way')) again from ingestion_processingevent group by 1) e"
)
UNSETTLED = (
    "select (select count(*) from ingestion_ingestjob where ended_at is null)"
    " + (select count(*) from ingestion_scopemove)"
)


@dataclass(slots=True, kw_only=True)
class Report:
    """What a storm did, and what it left: `faults` holds only what is wrong."""

    seed: int
    files: int
    seconds: float = 0.0
    kills: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    set_aside: int = 0
    in_hand: int = 0
    extra_parses: int = 0
    faults: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        counts = {"kills": dict(Counter(self.kills)), "changes": dict(Counter(self.changes))}
        return json.dumps(asdict(self) | counts, ensure_ascii=False)


@dataclass(slots=True)
class Wanted:
    """What a file should be in the end. `is_gone`: deleted; `is_bad`: must be refused with a reason."""

    content: bytes
    collection: str
    is_bad: bool = False
    is_gone: bool = False


class Storm:
    """One storm over one running site, whose administrator is ADMIN."""

    def __init__(self, site: RunningSite, *, seed: int, files: int, kills: Sequence[str]) -> None:
        self._site, self._chance = site, random.Random(seed)
        self._files, self._kills = files, list(kills)
        self._chance.shuffle(self._kills)
        self._wanted: dict[str, Wanted] = {}
        self._data_dir = Path(site.environment["KB_DATA_DIR"])
        self._is_done = threading.Event()
        self._trouble: list[BaseException] = []
        self.report = Report(seed=seed, files=files)

    def run(self) -> Report:
        began = time.monotonic()
        made = self._site.command("create_token", "--user", ADMIN["KB_ADMIN_EMAIL"], stdout=-1)
        self._token = made.communicate(timeout=60)[0].strip()
        self._homes = [self._call("POST", "collections", {"name": name})["id"] for name in ("Here", "There")]
        people = threading.Thread(target=self._work)
        people.start()
        self._strike()
        people.join()
        if self._trouble:
            raise self._trouble[0]
        self._settle()
        self.report.seconds = round(time.monotonic() - began, 1)
        self._reckon()
        return self.report

    # --- what people do

    def _work(self) -> None:
        try:
            chance = random.Random(self.report.seed + 1)
            for number in range(self._files):
                self._make_room()
                name, content, is_bad = made_file(number, chance)
                self._wanted[name] = Wanted(content, self._homes[number % 2], is_bad)
                self._upload(name)
                if chance.random() < 0.35:
                    self._change(chance.choice(list(self._wanted)), chance)
        except BaseException as error:
            self._trouble.append(error)
        finally:
            self._is_done.set()

    def _make_room(self) -> None:
        self._until(
            lambda: (
                0
                <= self._count("select count(*) from ingestion_ingestjob where ended_at is null")
                < IN_FLIGHT
            )
        )

    def _change(self, name: str, chance: random.Random) -> None:
        wanted = self._wanted[name]
        if wanted.is_gone:
            return
        what = chance.choices(("replace", "move", "delete", "trash", "look"), (5, 3, 1, 1, 2))[0]
        self.report.changes.append(what)
        address = f"documents/{self._uid(name)}"
        if what == "replace" and not wanted.is_bad:
            wanted.content = text_of(chance).encode() if not name.endswith(".pdf") else pdf_of(chance)
            self._upload(name)
        elif what == "move":
            wanted.collection = next(home for home in self._homes if home != wanted.collection)
            self._call("PATCH", address, {"collection": wanted.collection})
        elif what in ("delete", "trash"):
            wanted.is_gone = True
            self._call("DELETE", address + ("?permanent=true" if what == "delete" else ""))
        elif name.endswith(".pdf") and not wanted.is_bad:
            self._call("GET", f"{address}/pages/1.webp")

    def _upload(self, name: str) -> None:
        wanted = self._wanted[name]
        form = {"collection": wanted.collection, "file": _Named(name, wanted.content)}
        self._call("POST", "documents", body=encode_multipart(BOUNDARY, form), content_type=MULTIPART_CONTENT)

    def _uid(self, name: str) -> str:
        return str(
            self._ask("select uid from ingestion_document where source_key = %s order by id desc", name)
        )

    def _call(
        self,
        method: str,
        path: str,
        data: Any = None,
        *,
        body: bytes = b"",
        content_type: str = "application/json",
    ) -> Any:
        """Call the API until it answers; what is gone already was done by a try whose answer got lost."""
        if data is not None:
            body = json.dumps(data).encode()
        request = urllib.request.Request(
            f"{self._site.address}/api/v1/{path}",
            data=body or None,
            method=method,
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": content_type},
        )
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    found = answer.read()
                    return json.loads(found) if found.startswith(b"{") else None
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    return None
                if error.code < 500 and error.code != 429:
                    raise AssertionError(f"{method} {path}: {error.code} {error.read()[:300]!r}") from error
                told = f"{error.code} {error.read()[:300]!r}"
            except OSError as error:
                told = str(error)
            assert time.monotonic() < end, f"{method} {path}: {told}"
            time.sleep(0.3)

    # --- what goes wrong

    def _strike(self) -> None:
        """Each blow falls when a certain part of the files has ended, at a point that the seed has chosen."""
        for number, victim in enumerate(self._kills):
            self._await_ended(number * self._files // (len(self._kills) + 1))
            point = self._chance.choice(POINTS)
            there = f"select count(*) from ingestion_documentversion where state = '{point}'"
            hit = becomes(partial(self._holds, there), timeout_s=2)
            self.report.in_hand += self._blow(victim)
            self.report.kills.append(f"{victim} while {point if hit else 'at rest'}")

    def _await_ended(self, due: int) -> None:
        ended = f"select count(*) - {due} + 1 from ingestion_ingestjob where ended_at is not null"
        self._until(lambda: self._holds(ended) or self._is_done.is_set())

    def _holds(self, query: str) -> bool:
        return self._count(query) > 0

    def _blow(self, victim: str) -> int:
        """Strike; returns how many files were in hand of what was struck, at least one."""
        if victim == "child":
            return self._kill_child()
        if victim == "backend":
            return self._end_backend()
        if victim == "flush":
            with suppress(redis.RedisError):  # not there, which is as good
                redis.Redis(unix_socket_path=str(paths.valkey_socket(self._data_dir))).flushall()
            return 0
        holders = {"parse": "parse@%", "embed": "embed@%", "postgres": "%"}.get(victim, "")
        held = self._count(
            f"select count(*) from ingestion_ingestjob where lease_until > now() and holder like '{holders}'"
        )
        self._site.kill(victim)
        return max(held, 1)

    def _kill_child(self) -> int:
        """A parsing child, or the fork server when none is alive within a second."""
        servers: list[int] = []
        end = time.monotonic() + 1
        while time.monotonic() < end:
            below = self._site.descendants()
            servers = [pid for pid, line in below.items() if "fork_server" in line]
            if servers:
                break
        if servers:
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(sorted(servers)), signal.SIGKILL)
        return 1

    def _end_backend(self) -> int:
        query = (
            "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend'"
            " and pid <> pg_backend_pid() order by state <> 'active', random() limit 1"
        )
        with suppress(psycopg.Error):
            self._ask(query)
        return 1

    # --- what is left

    def _settle(self) -> None:
        """Until nothing is under way. What was set aside because workers died over it three times, a person retries."""
        tried: set[str] = set()
        while True:
            self._until(lambda: self._count(UNSETTLED) == 0)
            aside = self._column(
                "select j.uid from ingestion_ingestjob j join ingestion_documentversion v on v.id = j.version_id"
                " join ingestion_document d on d.latest_version_id = v.id"
                " where v.state = 'quarantined' and d.trashed_from_id is null"
            )
            if not set(aside) - tried:
                return
            tried |= set(aside)
            self.report.set_aside += len(aside)
            for uid in aside:
                self._call("POST", f"jobs/{uid}/retry", {})

    def _reckon(self) -> None:
        found: dict[str, Any] = {name: self._count(query) for name, query in FAULTS.items()}
        found["not as wanted"] = sorted(self._not_as_wanted())
        found["parts left"] = self._orphans()
        self.report.extra_parses = self._count(EXTRA_PARSES)
        self.report.faults = {name: value for name, value in found.items() if value}

    def _not_as_wanted(self) -> Iterator[str]:
        rows = self._rows(
            "select d.source_key, c.uid, v.blob, v.state, v.reason_code from ingestion_document d"
            " join ingestion_collection c on c.id = d.collection_id"
            " join ingestion_documentversion v on v.id = d.latest_version_id where d.trashed_from_id is null"
        )
        there = {name: (str(home), blob, state, reason) for name, home, blob, state, reason in rows}
        for name in {*there, *self._wanted}:
            wanted, found = self._wanted.get(name), there.get(name)
            if wanted is None or wanted.is_gone or found is None:
                if (wanted is not None and not wanted.is_gone) or found is not None:
                    yield f"{name}: {found}"
                continue
            home, blob, state, reason = found
            well = state == "rejected" and reason if wanted.is_bad else state == "live"
            if not well or home != wanted.collection or blob != hashlib.sha256(wanted.content).hexdigest():
                yield f"{name}: {found}"

    def _orphans(self) -> int:
        """Files that no row names after collection; collected as if a day had passed."""
        blobs, pages = self._data_dir / "blobs", self._data_dir / "pages"
        for path in blobs.rglob("*"):
            os.utime(path, (0, 0))
        collect = "from ingestion.tasks import collect_garbage; collect_garbage()"
        assert self._site.command("shell", "-v", "0", "-c", collect).wait(60) == 0
        named = set(
            self._column(
                "select blob from ingestion_documentversion union select blob from ingestion_versionpart"
            )
        )
        there = {path.name for path in blobs.rglob("*") if path.is_file()}
        drawn = {path.name for path in pages.glob("??/*")}
        return len(there ^ named) + len(drawn - named)

    # --- looking

    def _until(self, is_true: Callable[[], bool]) -> None:
        assert becomes(is_true, timeout_s=PATIENCE_S), f"stuck; {self.report}\n{self._site.output[-6000:]}"

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """Asked until the database answers."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                where = str(paths.run_dir(self._data_dir))
                with psycopg.connect(host=where, user=paths.ROLE, dbname=paths.DATABASE) as session:
                    return session.execute(query.encode(), values or None).fetchall()
            except psycopg.OperationalError:
                assert time.monotonic() < end, self._site.output
                time.sleep(0.1)

    def _ask(self, query: str, *values: str) -> Any:
        rows = self._rows(query, *values)
        return rows[0][0] if rows else None

    def _column(self, query: str) -> list[str]:
        return [str(value) for (value,) in self._rows(query)]

    def _count(self, query: str) -> int:
        return int(self._ask(query))


class _Named:
    """A file as `encode_multipart` takes it."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name, self._content = name, content

    def read(self) -> bytes:
        return self._content


def text_of(chance: random.Random) -> str:
    paragraphs = (" ".join(chance.choices(WORDS, k=40)) + "." for _ in range(chance.randint(1, 3)))
    return f"# Report {chance.random()}\n\n" + "\n\n".join(paragraphs)


def pdf_of(chance: random.Random) -> bytes:
    document = pymupdf.open()
    for _page in range(chance.randint(1, 2)):
        lines = [" ".join(chance.choices(WORDS[:15], k=9)) for _ in range(20)]
        document.new_page().insert_text((60, 60), "\n".join(lines), fontsize=9)
    return bytes(document.tobytes())


def made_file(number: int, chance: random.Random) -> tuple[str, bytes, bool]:
    """Name, content, and whether it must be refused."""
    text = text_of(chance)
    if number % 15 == 14:
        return f"broken-{number}.pdf", pdf_of(chance)[:200], True
    kind = ("md", "txt", "html", "pdf", "csv")[number % 5]
    if kind == "pdf":
        return f"{number}.pdf", pdf_of(chance), False
    if kind == "html":
        return f"{number}.html", f"<h1>{number}</h1><p>{text}</p>".encode(), False
    if kind == "csv":
        rows = "\n".join(f"{word},{chance.randint(1, 99)}" for word in chance.choices(WORDS, k=30))
        return f"{number}.csv", f"part,count\n{rows}\n".encode(), False
    return f"{number}.{kind}", f"{text}\n\n{number}".encode(), False
