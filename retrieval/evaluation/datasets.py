"""Corpora and questions as files: JSON lines or folders in, values out. Raises InvalidInput that names file and line."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingestion.parsing import outline, text
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.sandbox import parse_file
from ingestion.trial import TrialDocument
from kb_platform.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """relevant: ids or paths of the documents that hold the answer; empty for a question without one.

    dataset: the set it comes from. is_foreign: asked of documents that are about something else, to be refused.
    """

    text: str
    language: str
    kind: str
    relevant: tuple[str, ...]
    dataset: str = ""
    is_foreign: bool = False


def read_questions(path: Path, *, sample: int = 0, is_foreign: bool = False) -> list[Question]:
    """`{text, lang?, kind?, relevant: [id or path, …]}` a line; other keys are not looked at.

    sample: so many of the answerable ones at most, always the same; 0 takes all. A set is called as its lines say
    (`corpus`), else after the file, or after the folder if that is called queries.
    """
    questions = list(_questions(path, is_foreign=is_foreign))
    if not sample:
        return questions
    answerable = sorted((one for one in questions if one.relevant or is_foreign), key=_draw)
    return [*answerable[:sample], *(one for one in questions if not (one.relevant or is_foreign))]


def _draw(question: Question) -> bytes:
    return hashlib.sha256(question.text.encode()).digest()


def _questions(path: Path, *, is_foreign: bool) -> Iterator[Question]:
    dataset = path.parent.name if path.stem == "queries" else path.stem
    for line in _lines(path):
        yield Question(
            text=str(_value(line, "text", path)),
            language=str(line.get("lang") or "unknown"),
            kind=str(line.get("kind") or "unknown"),
            relevant=() if is_foreign else tuple(map(str, line.get("relevant") or ())),
            dataset=str(line.get("corpus") or dataset),
            is_foreign=is_foreign,
        )


def read_corpus(path: Path) -> Iterator[TrialDocument]:
    """Documents of a folder (every file, through the sandbox) or of JSON lines `{doc_id, title?, text}`.

    What cannot be parsed is left out. Keys are absolute paths, or the ids.
    """
    yield from _folder(path) if path.is_dir() else _json_lines(path)


def find_relevant(wanted: Sequence[str], keys: Sequence[str]) -> frozenset[str]:
    """Keys that are one of `wanted`, or a path that ends with it."""
    exact = set(wanted)
    endings = tuple(f"/{name.lstrip('/')}" for name in wanted)
    return frozenset(key for key in keys if key in exact or key.endswith(endings)) if wanted else frozenset()


def _folder(root: Path) -> Iterator[TrialDocument]:
    for path in sorted(root.resolve().rglob("*")):
        if path.is_file() and not any(
            part.startswith(".") for part in path.relative_to(root.resolve()).parts
        ):
            try:
                parsed = parse_file(path, file_name=path.name)
            except Rejected:
                continue
            yield TrialDocument(key=str(path), title=parsed.title or path.stem, parsed=parsed)


def _json_lines(path: Path) -> Iterator[TrialDocument]:
    for line in _lines(path):
        key, title = str(_value(line, "doc_id", path)), str(line.get("title") or "")
        try:
            parsed = outline.finish(
                text.parse(Source(data=str(_value(line, "text", path)).encode("utf-8", "replace")))
            )
        except Rejected:
            continue
        yield TrialDocument(key=key, title=title, parsed=parsed)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _object(line, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: {error}") from error


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{place}: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{place}: an object is expected")
    return value


def _value(line: dict[str, Any], name: str, path: Path) -> Any:
    if not line.get(name):
        raise InvalidInput(f"{path}: a line has no {name}")
    return line[name]
