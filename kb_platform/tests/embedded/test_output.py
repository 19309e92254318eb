"""Whole lines behind names."""

import io
import os

from kb_platform.embedded.output import Terminal


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_every_line_is_prefixed_with_its_speaker() -> None:
    stream = io.StringIO()
    Terminal(stream).say("one\ntwo", name="web")
    assert stream.getvalue() == "web     | one\nweb     | two\n"


def test_colour_only_on_a_terminal_and_steady_per_name() -> None:
    screen = Screen()
    terminal = Terminal(screen)
    for name in ("web", "parse", "web"):
        terminal.say("x", name=name)
    first, second, third = screen.getvalue().splitlines()
    assert first == third
    assert first.startswith("\x1b[")
    assert first[:5] != second[:5]


def test_output_that_is_no_utf8_is_shown_as_far_as_it_is() -> None:
    stream = io.StringIO()
    read, write = os.pipe()
    os.write(write, b"caf\xe9\n")
    os.close(write)
    Terminal(stream)._pump("parse", os.fdopen(read, "rb"))
    assert stream.getvalue() == "parse   | caf�\n"


def test_a_closed_terminal_is_ignored() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream)
    stream.close()
    terminal.say("nobody hears this")
