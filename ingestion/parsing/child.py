"""What runs in the forked, limited child: one file in, JSON lines out. Knows no Django."""

import io
import resource
import sys
import traceback
from typing import IO, Any

from ingestion.parsing import registry, wire
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import FORMAT_OF, DocumentKind, Source
from ingestion.parsing.limits import MAX_PAGES, narrow

EXIT_DONE, EXIT_REJECTED, EXIT_CRASHED, EXIT_MEMORY = 0, 3, 70, 71
_TRACE_CHARACTERS = 4_000


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
    limits = job["limits"]

    def progress(done: int, total: int) -> None:
        if done == 0:
            seconds = int(limits["cpu_s"] + limits["cpu_per_page_s"] * min(total, MAX_PAGES))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, limits["cpu_max_s"]))
        out.write(wire.encode({"progress": [done, total]}))
        out.flush()

    sys.setrecursionlimit(3_000)
    name = job["file_name"]
    kind = registry.resolve(source, DocumentKind(job["kind"]), file_name=name)
    narrow(limits, FORMAT_OF[kind].effort)
    given = Source(data=b"", file_name=name, progress=progress, scratch=job["scratch"])
    document = registry.parse(source, given, kind=kind)
    del source
    wire.write_document(document, out.write)
