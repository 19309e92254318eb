"""Subtitles (SRT, WebVTT): what is said, in passages that carry their time, so that an answer can name the moment."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Quality
from ingestion.parsing.encodings import decode
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.prose import collapse, join_lines

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_CUE = re.compile(rf"^\s*{_TIME}\s*--+>\s*{_TIME}")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>|\{\\[^}]*\}")
_BLANK = re.compile(r"\n\s*\n")
_ENDS_SENTENCE = re.compile(r"[.!?。！？…][\"'”’」』)]*$")
_PASSAGE_CHARACTERS = 300  # after which a passage ends with its sentence
_LONGEST_PASSAGE = 700
_PAUSE_S = 4.0
_SECTION_S = 300.0  # a heading of its own for every five minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cue:
    begins: float
    ends: float
    text: str


def parse(source: Source) -> ParsedDocument:
    """Read subtitles. Raises Rejected (`no_text`) for a file without a single cue."""
    decoded = decode(source.data)
    cues = list(_said_once(_cues(decoded.text.replace("\r\n", "\n").replace("\r", "\n"))))
    if not cues:
        raise Rejected("no_text")
    return ParsedDocument(
        media_type="text/vtt"
        if decoded.text.lstrip("\ufeff \n").startswith("WEBVTT")
        else "application/x-subrip",
        elements=tuple(_elements(cues)),
        quality=Quality(warnings=("lossy_encoding",) if decoded.lossy else ()),
        encoding=decoded.encoding,
        properties={"duration_s": round(max(cue.ends for cue in cues))},
    )


def _cues(text: str) -> Iterator[_Cue]:
    """Blocks with a line of times; notes, styles and regions have none."""
    for block in _BLANK.split(text):
        lines = block.split("\n")
        for number, line in enumerate(lines):
            if match := _CUE.match(line):
                said = join_lines(_plain(line) for line in lines[number + 1 :])
                if said:
                    yield _Cue(begins=_seconds(match, 1), ends=_seconds(match, 5), text=said)
                break


def _seconds(match: re.Match[str], at: int) -> float:
    hours, minutes, seconds, rest = (match[at + place] or "0" for place in range(4))
    return float(int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(rest) / 10 ** len(rest))


def _plain(line: str) -> str:
    named = _SPEAKER.sub(lambda voice: f"{voice[1].strip()}: ", line)
    return collapse(html.unescape(_TAG.sub("", named)))


def _said_once(cues: Iterator[_Cue]) -> Iterator[_Cue]:
    """Rolling captions repeat the end of the cue before: only what is new is kept."""
    before = ""
    for cue in cues:
        text = cue.text
        if before and text.startswith(before):
            text = text[len(before) :].strip()
        elif before.endswith(text):
            text = ""
        before = cue.text
        if text:
            yield _Cue(begins=cue.begins, ends=cue.ends, text=text)


def _elements(cues: list[_Cue]) -> Iterator[Element]:
    section = -1
    for passage in _passages(cues):
        begins = passage[0].begins
        if int(begins // _SECTION_S) != section and cues[-1].ends > _SECTION_S:
            section = int(begins // _SECTION_S)
            end = min((section + 1) * _SECTION_S, cues[-1].ends)
            yield Element(kind=Kind.HEADING, text=f"{_clock(section * _SECTION_S)} – {_clock(end)}", level=1)
        said = join_lines(cue.text for cue in passage)
        yield Element(kind=Kind.PARAGRAPH, text=f"[{_clock(begins)}] {said}")


def _passages(cues: list[_Cue]) -> Iterator[list[_Cue]]:
    passage: list[_Cue] = []
    size = 0
    for cue in cues:
        paused = bool(passage) and cue.begins - passage[-1].ends > _PAUSE_S
        whole = bool(passage) and size > _PASSAGE_CHARACTERS and _ENDS_SENTENCE.search(passage[-1].text)
        if passage and (paused or whole or size > _LONGEST_PASSAGE):
            yield passage
            passage, size = [], 0
        passage.append(cue)
        size += len(cue.text)
    if passage:
        yield passage


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
