"""The supervisor's terminal: its own lines and its children's, each behind the name of who speaks."""

import sys
import threading
from typing import IO, TextIO

NAME_WIDTH = 8
COLOURS = (36, 33, 35, 32, 34, 31)


class Terminal:
    """Writes whole lines; coloured names only where the output is a terminal. Safe to use from several threads."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._is_coloured = self._stream.isatty()
        self._lock = threading.Lock()
        self._colour_of: dict[str, int] = {}

    def say(self, text: str, *, name: str = "zhiku") -> None:
        """One or more lines of `name`. A closed terminal is no reason to stop."""
        prefix = self._prefix(name)
        lines = "".join(f"{prefix}{line}\n" for line in text.splitlines())
        with self._lock:
            try:
                self._stream.write(lines)
                self._stream.flush()
            except (OSError, ValueError):
                return

    def plain(self, text: str) -> None:
        """Text as it is, for what a person is to read or copy."""
        with self._lock:
            print(text, file=self._stream, flush=True)

    def relay(self, name: str, source: IO[bytes]) -> None:
        """Say every line of a child's output, until it ends, from a thread of its own."""
        threading.Thread(
            target=self._pump, args=(name, source), daemon=True, name=f"output of {name}"
        ).start()

    def _pump(self, name: str, source: IO[bytes]) -> None:
        with source:
            for line in source:
                self.say(line.decode("utf-8", errors="replace"), name=name)

    def _prefix(self, name: str) -> str:
        if not self._is_coloured:
            return f"{name:<{NAME_WIDTH}}| "
        colour = self._colour_of.setdefault(name, COLOURS[len(self._colour_of) % len(COLOURS)])
        return f"\x1b[{colour}m{name:<{NAME_WIDTH}}|\x1b[0m "
