"""Parse one file in a child process that has no network, little memory and little time. Start reading here.

The parent decides what is cheap and safe to decide (size, kind by the first bytes), a fork server starts the child,
the child sends JSON lines, and nothing it sent leaves before `wire` has checked and `outline` has cleaned it.
"""

import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

from ingestion.parsing import outline, wire
from ingestion.parsing.child import EXIT_MEMORY
from ingestion.parsing.elements import ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import CONTAINERS, FORMAT_OF, DocumentKind, Effort
from ingestion.parsing.kinds import HEAD_BYTES, sniff
from ingestion.parsing.limits import DEFAULT, MAX_PAGES, Limits
from ingestion.parsing.registry import LIGHT_MODULES

log = logging.getLogger(__name__)

Watch = Callable[[int, int], None]
_PROJECT = Path(__file__).resolve().parents[2]
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); sys.dont_write_bytecode = True; "
    "from ingestion.parsing import fork_server; fork_server.main(int(sys.argv[2]), sys.argv[3], tuple(sys.argv[4:]))"
)
_WATCH_EVERY_S = 1.0
_KILL_GRACE_S = 10.0
_CPU_GRACE_S = 5  # between the signal that ends the child and the kernel's kill
_CHUNK = 1 << 18


class SandboxUnavailable(Exception):
    """The machine could not run a child; says nothing about the file, so it is worth another attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What children do. module: its `run(job, source_fd, result_fd)` returns the exit code; preload: what it needs loaded."""

    module: str
    preload: tuple[str, ...]


PARSING = Runner(module="ingestion.parsing.child", preload=LIGHT_MODULES)


@dataclass(slots=True, kw_only=True)
class Usage:
    """What the last parse of a call used; filled for those who pass one in."""

    cpu_s: float = 0.0
    rss_kb: int = 0


def parse_file(
    path: Path,
    *,
    file_name: str,
    limits: Limits = DEFAULT,
    watch: Watch | None = None,
    usage: Usage | None = None,
    keep: wire.Keep | None = None,
) -> ParsedDocument:
    """Read a file into elements.

    path: where the bytes are; file_name: what its uploader calls it, a hint among text kinds.
    watch: called about once a second with (done, total) pages, (0, 0) while unknown; what it raises stops the parse.
    keep: takes the bytes of each part (a picture, an attachment) as it arrives; without it the parts carry them.
    Raises Rejected with the reason, or SandboxUnavailable.
    """
    kind = _precheck(path, file_name, limits)
    with TemporaryFile(prefix="zhiku-result-") as result:
        with path.open("rb") as source, _scratch(kind) as scratch, _server(PARSING) as server:
            job = {
                "kind": kind.value,
                "file_name": file_name,
                "limits": _limits_for(limits),
                "scratch": scratch,
            }
            run = _Run(server=server, limits=limits, watch=watch, result=result)
            try:
                run.job(job, source.fileno())
            finally:
                if usage is not None:
                    usage.cpu_s, usage.rss_kb = run.cpu_s, run.rss_kb
        result.seek(0)
        return outline.finish(wire.read_document(result, keep=keep))


def run_job(
    runner: Runner, job: dict[str, Any], *, source: IO[bytes], limits: Limits, result: IO[bytes]
) -> None:
    """Have a child do one job of another kind, under the same confinement; what it wrote is in `result` then.

    Raises Rejected for a child that was stopped or fell, or SandboxUnavailable.
    """
    with _server(runner) as server:
        run = _Run(server=server, limits=limits, watch=None, result=result)
        run.job({**job, "limits": _limits_for(limits)}, source.fileno())
        if run.status:
            raise Rejected("crashed")


def _precheck(path: Path, file_name: str, limits: Limits) -> DocumentKind:
    size = path.stat().st_size
    if size == 0:
        raise Rejected("empty")
    if size > limits.file_bytes:
        raise Rejected("too_large", limit=f"{limits.file_bytes // 1_000_000} MB")
    with path.open("rb") as file:
        return sniff(file.read(HEAD_BYTES), file_name=file_name)


@contextmanager
def _scratch(kind: DocumentKind) -> Iterator[str]:
    """A private folder for kinds that a helper program reads, and for containers that may hold one; else ""."""
    if kind not in CONTAINERS and FORMAT_OF[kind].effort is not Effort.PROGRAM:
        yield ""
        return
    with TemporaryDirectory(prefix="zhiku-parse-", ignore_cleanup_errors=True) as folder:
        yield folder


def _limits_for(limits: Limits) -> dict[str, Any]:
    return {
        **asdict(limits),
        "cpu_max_s": int(limits.cpu_s + (limits.cpu_per_page_s + limits.cpu_per_picture_s) * MAX_PAGES)
        + _CPU_GRACE_S,
    }


# --- the fork servers of this process -----------------------------------------------------------------------


@dataclass(slots=True)
class _Server:
    process: subprocess.Popen[bytes]
    control: socket.socket
    runner: Runner
    owner: int = field(default_factory=os.getpid)

    def close(self) -> None:
        self.control.close()
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()


_idle: list[_Server] = []
_idle_lock = threading.Lock()


@contextmanager
def _server(runner: Runner) -> Iterator[_Server]:
    """A server for one job; kept for the next one unless the job ended in trouble."""
    with _idle_lock:
        server = next((idle for idle in reversed(_idle) if idle.runner == runner), None)
        if server is not None:
            _idle.remove(server)
    if server is not None and (server.owner != os.getpid() or server.process.poll() is not None):
        server.close()
        server = None
    server = server or _start_server(runner)
    try:
        yield server
    except BaseException as error:
        if not isinstance(error, Rejected):
            server.close()
            raise
        with _idle_lock:
            _idle.append(server)
        raise
    with _idle_lock:
        _idle.append(server)


def _start_server(runner: Runner) -> _Server:
    ours, theirs = socket.socketpair()
    search_path = [str(_PROJECT), *(entry for entry in sys.path if entry and entry != str(_PROJECT))]
    with theirs:
        try:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    _BOOT,
                    json.dumps(search_path),
                    str(theirs.fileno()),
                    runner.module,
                    *runner.preload,
                ],
                cwd="/",
                env={"LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise SandboxUnavailable("no process could be started") from error
    return _Server(process, ours, runner)


def _after_fork() -> None:
    """A forked worker must not share its parent's servers, nor keep them alive."""
    global _idle_lock
    _idle_lock = threading.Lock()
    while _idle:
        _idle.pop().control.close()


os.register_at_fork(after_in_child=_after_fork)


# --- one job ------------------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Run:
    """One job on one server: feeds it, puts its result into a file, watches the clock, explains its end."""

    server: _Server
    limits: Limits
    watch: Watch | None
    result: IO[bytes]
    done: int = 0
    total: int = 0
    pictures: int = 0
    status: int | None = None
    cpu_s: float = 0.0
    rss_kb: int = 0
    _head: bytes = b""
    _reports: bool = True  # progress may still come
    _size: int = 0
    _answers: bytes = b""

    def job(self, job: dict[str, Any], source_fd: int) -> None:
        """Run one job; its result is in the file then. Raises Rejected for a child that was stopped or fell."""
        read_end, write_end = os.pipe()
        try:
            try:
                socket.send_fds(self.server.control, [json.dumps(job).encode()], [source_fd, write_end])
            except OSError as error:
                raise SandboxUnavailable("the fork server is gone") from error
            finally:
                os.close(write_end)
            self._attend(read_end)
        finally:
            os.close(read_end)
        self._explain()

    def _attend(self, read_end: int) -> None:
        started = watched = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(read_end, selectors.EVENT_READ, self._on_result)
            selector.register(self.server.control, selectors.EVENT_READ, self._on_answer)
            while self.status is None:
                for key, _events in selector.select(timeout=_WATCH_EVERY_S):
                    if not key.data(key.fd):
                        selector.unregister(key.fileobj)
                if self.watch is not None and self._is_going_on_since(watched):
                    watched = time.monotonic()
                    self.watch(self.done, self.total)
                if self.status is None and time.monotonic() - started > self._wall_s():
                    self._kill(Rejected("timeout", seconds=int(self._wall_s())))
        os.set_blocking(read_end, False)
        while self._on_result(read_end):
            pass

    def _is_going_on_since(self, moment: float) -> bool:
        return self.status is None and time.monotonic() - moment >= _WATCH_EVERY_S

    def _wall_s(self) -> float:
        per_page = self.limits.wall_per_page_s * min(self.total, MAX_PAGES)
        return self.limits.wall_s + per_page + self.limits.wall_per_picture_s * min(self.pictures, MAX_PAGES)

    def _on_result(self, descriptor: int) -> bool:
        """Read what the pipe holds; False at its end."""
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        self._size += len(data)
        if self._size > self.limits.result_bytes:
            self._kill(Rejected("too_large", limit=f"{self.limits.result_bytes // 1_000_000} MB of result"))
        self.result.write(self._without_progress(data) if self._reports else data)
        return bool(data)

    def _without_progress(self, data: bytes) -> bytes:
        """Progress lines come before the first part and element; they are taken out as they arrive."""
        *lines, self._head = (self._head + data).split(b"\n")
        for number, line in enumerate(lines):
            if not self._read_progress(line):
                self._reports = False
                rest, self._head = b"\n".join([*lines[number:], self._head]), b""
                return rest
        if data:
            return b""
        rest, self._head = self._head, b""
        return rest

    def _read_progress(self, line: bytes) -> bool:
        if not line.startswith(b'{"progress":'):
            return False
        with suppress(ValueError, TypeError, KeyError):
            self.done, self.total, self.pictures = map(int, json.loads(line)["progress"])
        return True

    def _on_answer(self, _descriptor: int) -> bool:
        data = self.server.control.recv(4096)
        if not data:
            raise SandboxUnavailable("the fork server ended during a parse")
        self._answers += data
        *lines, self._answers = self._answers.split(b"\n")
        for line in lines:
            answer = json.loads(line)
            if "status" in answer:
                self.status, self.cpu_s, self.rss_kb = answer["status"], answer["cpu_s"], answer["rss_kb"]
        return True

    def _kill(self, verdict: Rejected) -> None:
        """Have the server kill the child's whole group, wait for that, then give the verdict."""
        self.server.control.sendall(b"K")
        self.server.control.settimeout(_KILL_GRACE_S)
        try:
            while self.status is None:
                self._on_answer(-1)
        except TimeoutError as error:
            raise SandboxUnavailable("the child could not be stopped") from error
        finally:
            self.server.control.settimeout(None)
        raise verdict

    def _ran_out_of_memory(self) -> bool:
        """Said so, was killed by the machine, or fell with much in use: libraries in C fall when given no more."""
        if self.status in {EXIT_MEMORY, -signal.SIGKILL}:
            return True
        return (self.status or 0) < 0 and self.rss_kb * 1024 > 0.5 * self.limits.memory_bytes

    def _explain(self) -> None:
        if self.status == -signal.SIGXCPU:
            raise Rejected("too_complex", limit=f"{self.limits.cpu_s} s")
        if self._ran_out_of_memory():
            raise Rejected("too_large", limit=f"{self.limits.memory_bytes // 2**20} MB")
        if self.status is not None and self.status < 0:
            log.warning("parsing child ended by signal %d", -self.status)
            raise Rejected("crashed")
