"""How much one parse may use. Numbers from measured bombs: what a good file needs, times a few."""

import resource
from dataclasses import dataclass

from ingestion.parsing.formats import Effort

MAX_PAGES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one parsing child. Time grows with the pages a file has, up to MAX_PAGES, and with each picture in it
    that text is recognised in, once that begins.
    """

    file_bytes: int = 100_000_000
    memory_bytes: int = 1_536 * 2**20
    cpu_s: int = 60
    cpu_per_page_s: float = 0.5
    cpu_per_picture_s: int = 20
    wall_s: float = 120.0
    wall_per_page_s: float = 1.0
    wall_per_picture_s: float = 60.0
    result_bytes: int = 256_000_000
    open_files: int = 64
    scratch_bytes: int = 64 * 2**20  # the largest file that a helper program may write
    programs: int = 64


DEFAULT = Limits()


def narrow(limits: dict[str, int], effort: Effort) -> None:
    """Set what this process may use for good, once it is known what kind of file it reads.

    Only kinds that another program helps to read may start processes, and only those that it reads from a file may
    write one; the soft limit of CPU time may be raised later with the number of pages.
    """
    writes = effort is Effort.PROGRAM
    runs_program = writes or effort is Effort.PICTURES
    cpu = max(limits["cpu_s"] // 3, 1) if effort is Effort.LIGHT else limits["cpu_s"]
    _set(resource.RLIMIT_CPU, cpu, limits["cpu_max_s"])
    for what, most in (
        (resource.RLIMIT_FSIZE, limits["scratch_bytes"] if writes else 0),
        (resource.RLIMIT_NPROC, limits["programs"] if runs_program else 0),
    ):
        _set(what, most, most)


def _set(what: int, soft: int, hard: int) -> None:
    resource.setrlimit(what, (soft, hard))
