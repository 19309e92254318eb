"""What runs in the forked, limited child: one file in, JSON lines out. Knows no Django."""

import gc
import io
import resource
import sys
import traceback
from dataclasses import dataclass
from typing import IO, Any

from ingestion.parsing import registry, wire
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import FORMAT_OF, DocumentKind, Source
from ingestion.parsing.limits import MAX_PAGES, narrow

EXIT_DONE, EXIT_REJECTED, EXIT_CRASHED, EXIT_MEMORY = 0, 3, 70, 71
_TRACE_CHARACTERS = 4_000
_RARELY = (20_000, 20, 20)  # looks for unreachable objects: a parse makes many that stay


def run(job: dict[str, Any], *, source_fd: int, result_fd: int) -> int:
    """Parse the file behind source_fd as the job says; returns the exit code."""
    with io.FileIO(source_fd) as source, io.FileIO(result_fd, "w") as pipe:
        out = io.BufferedWriter(pipe, 1 << 16)
        try:
            _parse(job, io.BufferedReader(source), out)
        except Rejected as verdict:
            out.write(wire.encode({"rejected": verdict.code, "params": verdict.params}))
            out.flush()
            return EXIT_REJECTED
        except MemoryError:
            return EXIT_MEMORY
        except Exception:
            out.write(wire.encode({"crashed": traceback.format_exc()[-_TRACE_CHARACTERS:]}))
            out.flush()
            return EXIT_CRASHED
        out.flush()
    return EXIT_DONE


def _parse(job: dict[str, Any], source: IO[bytes], out: IO[bytes]) -> None:
    sys.setrecursionlimit(3_000)
    gc.set_threshold(*_RARELY)
    name = job["file_name"]
    kind = registry.resolve(source, DocumentKind(job["kind"]), file_name=name)
    narrow(job["limits"], FORMAT_OF[kind].effort)
    pace = _Pace(limits=job["limits"], out=out)
    given = Source(
        data=b"",
        file_name=name,
        progress=pace.progress,
        recognising=pace.recognising,
        scratch=job["scratch"],
    )
    document = registry.parse(source, given, kind=kind)
    del source
    wire.write_document(document, out.write)


@dataclass(slots=True, kw_only=True)
class _Pace:
    """How far the parse is: told to the parent, and the base of the CPU time it is allowed."""

    limits: dict[str, Any]
    out: IO[bytes]
    done: int = 0
    total: int = 0
    pictures: int = 0

    def progress(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if done == 0:
            self._allow_time()
        self._tell()

    def recognising(self, pictures: int) -> None:
        self.pictures = pictures
        self._allow_time()
        self._tell()

    def _allow_time(self) -> None:
        limits = self.limits
        per_page = limits["cpu_per_page_s"] * min(self.total, MAX_PAGES)
        per_picture = limits["cpu_per_picture_s"] * min(self.pictures, MAX_PAGES)
        seconds = int(limits["cpu_s"] + per_page + per_picture)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, limits["cpu_max_s"]))

    def _tell(self) -> None:
        self.out.write(wire.encode({"progress": [self.done, self.total, self.pictures]}))
        self.out.flush()
