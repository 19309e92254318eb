"""How much one parse may use. Numbers from measured bombs: what a good file needs, times a few."""

from dataclasses import dataclass

MAX_PAGES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one parsing child. Time grows with the pages a file has, up to MAX_PAGES."""

    file_bytes: int = 100_000_000
    memory_bytes: int = 1_536 * 2**20
    cpu_s: int = 60
    cpu_per_page_s: float = 0.5
    wall_s: float = 120.0
    wall_per_page_s: float = 1.0
    result_bytes: int = 256_000_000
    open_files: int = 64


DEFAULT = Limits()
