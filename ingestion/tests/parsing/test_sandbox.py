"""One file in a limited child: results checked, every way of failing told apart, nothing left behind."""

import os
import threading
import time
from pathlib import Path

import pytest

from ingestion.parsing import sandbox
from ingestion.parsing.elements import Kind
from ingestion.parsing.errors import Rejected
from ingestion.parsing.limits import Limits
from ingestion.parsing.sandbox import Usage, parse_file


@pytest.fixture
def write(tmp_path: Path):
    def write_file(name: str, data: bytes) -> Path:
        path = tmp_path / "blob"  # stored files do not carry their name
        path.write_bytes(data)
        return path

    return write_file


def rejected(path: Path, name: str, limits: Limits = sandbox.DEFAULT) -> Rejected:
    with pytest.raises(Rejected) as caught:
        parse_file(path, file_name=name, limits=limits)
    return caught.value


def test_heading_paths_counts_and_language_are_added(write) -> None:
    document = parse_file(
        write("a", "# 手册\n\n## 端口\n\n检查端口。\n\n# 附录\n\n结束。\n".encode()), file_name="手册.md"
    )
    assert [(e.text, e.heading_path) for e in document.elements] == [
        ("手册", ()),
        ("端口", ("手册",)),
        ("检查端口。", ("手册", "端口")),
        ("附录", ()),
        ("结束。", ("附录",)),
    ]
    assert document.language == "zh"
    assert document.quality.characters == 14
    assert document.title == "手册"


def test_unsafe_characters_never_leave(write) -> None:
    data = "nul\x00 bell\x07 keep\ttab e\u0301 ".encode() + b"\xed\xa0\x80" + b" end " + b"words " * 20
    (element,) = parse_file(write("a", data), file_name="a.txt").elements
    assert element.text.startswith("nul bell keep\ttab é ")
    assert not any("\ud800" <= character <= "\udfff" or character == "\x00" for character in element.text)


def test_lone_surrogates_written_by_a_parser_are_replaced(write) -> None:
    (element,) = parse_file(write("a", b"<p>a&#xD800;b</p>"), file_name="a.html").elements
    element.text.encode("utf-8")


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.txt", b"", "empty"),
        ("a.pdf", b"", "empty"),
        ("a.md", b"\n\n", "empty"),
        ("a.md", b"<!-- nothing -->", "no_text"),
        ("a.html", b"<html><script>x()</script></html>", "no_text"),
        ("a.html", b"<div>" * 100_000, "too_complex"),
        ("a.txt", b"words " * 3_400_000, "too_large"),
    ],
)
def test_files_without_usable_content_end_with_a_reason(write, name: str, data: bytes, code: str) -> None:
    assert rejected(write(name, data), name).code == code


def test_a_file_above_the_size_limit_starts_no_child(write) -> None:
    assert rejected(write("a", b"x" * 2000), "a.txt", Limits(file_bytes=1000)).code == "too_large"


def test_wall_clock_memory_and_result_limits_are_told_apart(write) -> None:
    path = write("a", b"line of a large file\n\n" * 40_000)
    assert rejected(path, "a.txt", Limits(wall_s=0.1)).code == "timeout"
    assert rejected(path, "a.txt", Limits(memory_bytes=45_000_000)).code == "too_large"
    assert rejected(path, "a.txt", Limits(result_bytes=100_000)).code == "too_large"


def test_too_much_computing_is_too_complex(write) -> None:
    path = write("a", b"line of a large file\n\n" * 900_000)
    assert rejected(path, "a.txt", Limits(cpu_s=1)).code == "too_complex"


def test_the_next_file_is_read_after_one_that_failed(write) -> None:
    assert rejected(write("a", b"x y\n\n" * 100_000), "a.txt", Limits(wall_s=0.1)).code == "timeout"
    assert parse_file(write("b", b"fine"), file_name="b.txt").elements[0].kind is Kind.PARAGRAPH


def test_the_watcher_sees_time_pass_and_may_stop_the_parse(write) -> None:
    class Cancelled(Exception):
        pass

    def cancel(done: int, total: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        parse_file(write("a", b"x y\n\n" * 100_000), file_name="a.txt", watch=cancel)
    assert parse_file(write("b", b"fine"), file_name="b.txt").elements


def test_a_killed_fork_server_is_replaced(write) -> None:
    path = write("a", b"fine")
    parse_file(path, file_name="a.txt")
    for server in sandbox._idle:
        server.process.kill()
        server.process.wait()
    assert parse_file(path, file_name="a.txt").elements


def test_threads_do_not_mix_their_results(write, tmp_path: Path) -> None:
    texts: dict[int, str] = {}

    def read(number: int) -> None:
        path = tmp_path / f"file{number}"
        path.write_text(f"text number {number}")
        texts[number] = parse_file(path, file_name="a.txt").elements[0].text

    threads = [threading.Thread(target=read, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {number: f"text number {number}" for number in range(6)}


def test_a_small_file_costs_little_and_leaves_no_process_or_descriptor(write) -> None:
    path = write("a", b"# Title\n\nText.\n")
    parse_file(path, file_name="a.md")
    descriptors = len(os.listdir("/proc/self/fd"))
    usage = Usage()
    started = time.process_time()
    for _ in range(10):
        parse_file(path, file_name="a.md", usage=usage)
    assert usage.cpu_s < 0.08
    assert time.process_time() - started < 1.0
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_file_name_of_three_hundred_characters_is_only_a_hint(write) -> None:
    assert parse_file(write("a", b"fine"), file_name="长" * 297 + ".md").media_type == "text/markdown"
