"""Streamed answers of a real site with the sample documents: one JSON object on standard output.

Run as `python -m benchmarks.answers` from the project folder; it uses a data folder of its own and the port KB_PORT
(8765). `first_delta_ms` is from the end of the search (the event that says how many passages) to the first words.
The longest gap is between two events or heartbeats of any stream. Tasks of aborted streams show
as connections to Valkey: each has one of its own.
"""

import asyncio
import itertools
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = tempfile.TemporaryDirectory(prefix="zhiku-bench-")
os.environ.update(
    KB_DATA_DIR=FOLDER.name, KB_ADMIN_EMAIL="bench@example.com", KB_ADMIN_PASSWORD="bench only, never kept"
)
os.environ.setdefault("KB_PORT", "8765")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kb_platform.settings.production")

import django

django.setup()

import psutil
from django.conf import settings
from django.db import connection
from redis import Redis

from accounts.models import User
from accounts.tokens import allowed_scopes, create_token
from accounts.values import SystemActor
from ingestion.models import UNFINISHED, DocumentVersion
from ingestion.samples.catalogue import QUESTIONS
from kb_platform.embedded.session import ensure_services

READY_TIMEOUT_S = 300
STREAMS, ABORTED, TOGETHER = 50, 300, 25
SETTLE_S = settings.ANSWER_NO_READER_S + 10  # how long a producer may outlive its last reader


@dataclass
class Stream:
    """When what came, in seconds from the request: names of events, and heartbeats as an empty name."""

    events: list[tuple[float, str]] = field(default_factory=list)
    answer: str = ""

    def first(self, name: str, number: int = 0) -> float:
        return [at for at, event in self.events if event == name][number]

    @property
    def longest_gap_s(self) -> float:
        times = [at for at, _name in self.events]
        return max(after - before for before, after in itertools.pairwise(times))


async def ask(token: str, question: str, *, abort_after: str = "") -> Stream:
    """One question to its last event, or to the first of the name `abort_after`."""
    stream, begun = Stream(), time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", settings.PORT)
    body = json.dumps({"question": question, "stream": True}).encode()
    head = (
        f"POST /api/v1/chat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)
    try:
        status = await reader.readline()
        assert b" 200 " in status, status
        name = ""
        while line := (await reader.readline()).decode().rstrip():
            continue  # headers
        while raw := await reader.readline():
            line = raw.decode().rstrip()
            if line.startswith(":"):
                stream.events.append((time.perf_counter() - begun, ""))
            elif line.startswith("event: "):
                name = line[7:]
                stream.events.append((time.perf_counter() - begun, name))
                if name == abort_after:
                    return stream
            elif line.startswith("data: ") and name == "delta":
                stream.answer += json.loads(line[6:])["text"]
    finally:
        writer.close()
    assert stream.events[-1][1] == "done", stream.events[-3:]
    return stream


def one_by_one(token: str) -> dict[str, object]:
    """Every sample question four times, alone."""
    streams = [asyncio.run(ask(token, question.text)) for _ in range(4) for question in QUESTIONS]
    after_search = [(s.first("delta") - s.first("stage", 1)) * 1000 for s in streams]
    from_request = [(s.first("delta")) * 1000 for s in streams]
    good = sum(
        question.answer in stream.answer.replace("[1]", "").replace("[2]", "")
        for question, stream in zip(QUESTIONS, streams, strict=False)
    )
    return {
        "streams": len(streams),
        "first_delta_ms": shares(after_search),
        "request_to_first_delta_ms": shares(from_request),
        "samples_with_the_expected_words": f"{good} of {len(QUESTIONS)}",
    }


def at_once(token: str, alone_ms: float) -> dict[str, object]:
    """STREAMS questions in the same moment."""

    async def all_of_them() -> list[Stream]:
        questions = [QUESTIONS[number % len(QUESTIONS)].text for number in range(STREAMS)]
        return await asyncio.gather(*(ask(token, question) for question in questions))

    begun = time.perf_counter()
    streams = asyncio.run(all_of_them())
    total = time.perf_counter() - begun
    return {
        "streams": STREAMS,
        "total_s": round(total, 2),
        "total_to_one_after_another": round(total / (STREAMS * alone_ms / 1000), 2),
        "longest_gap_s": round(max(stream.longest_gap_s for stream in streams), 2),
        "first_sign_s": shares([stream.events[0][0] for stream in streams]),
        "first_delta_s": shares([stream.first("delta") for stream in streams]),
    }


def aborted(token: str, web: psutil.Process) -> dict[str, object]:
    """ABORTED questions whose reader leaves at the first event, and what is left when their producers have ended."""

    async def all_of_them() -> None:
        for _ in range(ABORTED // TOGETHER):
            await asyncio.gather(
                *(
                    ask(token, QUESTIONS[n % len(QUESTIONS)].text, abort_after="stage")
                    for n in range(TOGETHER)
                )
            )

    before = resources(web)
    most_connections = 0
    asyncio.run(all_of_them())
    end = time.monotonic() + SETTLE_S
    while time.monotonic() < end:
        most_connections = max(most_connections, database_connections())
        time.sleep(0.5)
    return {
        "streams": ABORTED,
        "before": before,
        "after": resources(web),
        "most_database_connections": most_connections,
    }


def resources(web: psutil.Process) -> dict[str, float]:
    with web.oneshot():
        return {
            "rss_mb": round(web.memory_info().rss / 1e6),
            "threads": web.num_threads(),
            "open_files": web.num_fds(),
            "valkey_connections": len(Redis.from_url(settings.VALKEY_URL).client_list()),
            "database_connections": database_connections(),
        }


def database_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def shares(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    at = {"p50": statistics.median(ordered), "p95": ordered[int(0.95 * len(ordered))], "max": ordered[-1]}
    return {name: round(value, 2) for name, value in at.items()}


def wait_until_up(site: subprocess.Popen[bytes]) -> None:
    """Until it serves; before, its data folder would be taken for free."""
    end = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < end:
        assert site.poll() is None, "the site ended"
        try:
            socket.create_connection(("127.0.0.1", settings.PORT), timeout=1).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise SystemExit("the site does not serve")


def wait_until_ready(site: subprocess.Popen[bytes]) -> None:
    """Until every sample document is live."""
    end = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < end:
        assert site.poll() is None, "the site ended"
        try:
            is_ready = (
                DocumentVersion.objects.exists()
                and not DocumentVersion.objects.filter(state__in=UNFINISHED).exists()
            )
        except django.db.Error:
            is_ready = False
        if is_ready:
            return
        time.sleep(0.5)
    raise SystemExit("the samples are not ready")


def web_process(site: subprocess.Popen[bytes]) -> psutil.Process:
    children = psutil.Process(site.pid).children(recursive=True)
    return next(child for child in children if child.cmdline()[-2:] == ["manage.py", "web"])


def measure(site: subprocess.Popen[bytes]) -> dict[str, object]:
    with ensure_services():
        wait_until_ready(site)
        user = User.objects.get(email="bench@example.com")
        _row, token = create_token(
            actor=SystemActor(name="benchmark"), user=user, name="benchmark", scopes=allowed_scopes(user)
        )
        for question in QUESTIONS:  # warm
            asyncio.run(ask(token, question.text))
        alone = one_by_one(token)
        together = [at_once(token, alone["request_to_first_delta_ms"]["p50"]) for _ in range(3)]
        together.sort(key=lambda run: run["longest_gap_s"])
        return {"alone": alone, "at_once": together[1], "aborted": aborted(token, web_process(site))}


def main() -> None:
    site = subprocess.Popen([sys.executable, "manage.py", "up"], stdout=sys.stderr, cwd=settings.BASE_DIR)
    try:
        wait_until_up(site)
        result = measure(site)
    finally:
        site.send_signal(signal.SIGINT)
        site.wait(60)
    print(json.dumps(result, indent=1, ensure_ascii=False))
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "answers.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
