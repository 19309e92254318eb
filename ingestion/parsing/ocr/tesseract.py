"""Tesseract, a program that may be installed: reads an upright picture through pipes and writes no file."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache

from lxml import html

from ingestion.parsing.ocr.picture import Grey, TextLine, weighted

_PATH = "/usr/local/bin:/usr/bin:/bin"
_LANGUAGE = "eng"
_WAIT_S = 120
_LINES = ("ocr_line", "ocr_header", "ocr_caption", "ocr_textfloat")
_BOX = re.compile(r"bbox (-?\d+) (-?\d+) (-?\d+) (-?\d+)")
_BASELINE = re.compile(r"baseline (-?[\d.]+) (-?[\d.]+)")
_SIZE = re.compile(r"x_size (\d+(?:\.\d+)?)")
_SURE = re.compile(r"x_wconf (\d+)")
_CELL_GAP = 1.6  # type heights between two words that stand in columns of their own
_LEAST_CONFIDENCE = 0.35


@cache
def program() -> str:
    """Where Tesseract is, with data for Latin letters; "" where it is not."""
    found = shutil.which("tesseract", path=_PATH) or ""
    if not found:
        return ""
    try:
        listed = _run([found, "--list-langs"], b"")
    except (OSError, subprocess.SubprocessError):
        return ""
    return found if _LANGUAGE in listed.decode("utf-8", "replace").split() else ""


def read(picture: Grey, *, dpi: int) -> list[TextLine]:
    """The lines of an upright picture. Raises OSError or subprocess.SubprocessError when the program fails."""
    height, width = picture.shape
    page = b"P5 %d %d 255\n" % (width, height) + picture.tobytes()
    command = [
        program(),
        "stdin",
        "stdout",
        "-l",
        _LANGUAGE,
        "--dpi",
        str(dpi),
        "-c",
        "tessedit_create_hocr=1",
    ]
    return list(_lines(_run(command, page)))


def _run(command: list[str], given: bytes) -> bytes:
    return subprocess.run(
        command,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_WAIT_S,
        check=True,
        env={"PATH": _PATH, "LANG": "C.UTF-8", "OMP_THREAD_LIMIT": "1"},
    ).stdout


def _lines(hocr: bytes) -> Iterator[TextLine]:
    tree = html.document_fromstring(hocr)
    for span in tree.iter("span"):
        if span.get("class") not in _LINES:
            continue
        title = span.get("title", "")
        size = float(found[1]) if (found := _SIZE.search(title)) else 0.0
        words = [word for word in map(_word, span.iter("span")) if word]
        for run in _runs(words, size):
            if line := _line(run, title, size):
                yield line


_Word = tuple[str, float, tuple[float, float, float, float]]  # text, confidence, box


def _word(span: html.HtmlElement) -> _Word | None:
    title = span.get("title", "")
    box, sure = _BOX.search(title), _SURE.search(title)
    text = "".join(span.itertext()).strip()
    if span.get("class") != "ocrx_word" or not text or not box or not sure:
        return None
    x0, y0, x1, y1 = map(float, box.groups())
    return text, int(sure[1]) / 100, (x0, y0, x1, y1)


def _runs(words: list[_Word], size: float) -> list[list[_Word]]:
    """Words of one line parted where the gap is as wide as between columns of a table."""
    runs: list[list[_Word]] = []
    for word in words:
        if runs and word[2][0] - runs[-1][-1][2][2] < _CELL_GAP * max(size, 8.0):
            runs[-1].append(word)
        else:
            runs.append([word])
    return runs


def _line(words: list[_Word], title: str, size: float) -> TextLine | None:
    text = " ".join(word for word, _sure, _box in words)
    confidence = weighted([(sure, len(word)) for word, sure, _box in words])
    if confidence < _LEAST_CONFIDENCE or not any(map(str.isalnum, text)):
        return None
    y1 = max(box[3] for _word, _sure, box in words)
    whole, base = _BOX.search(title), _BASELINE.search(title)
    bottom = float(whole[4]) + float(base[2]) if whole and base else y1
    return TextLine(
        text=text,
        x0=min(box[0] for _word, _sure, box in words),
        y0=min(box[1] for _word, _sure, box in words),
        x1=max(box[2] for _word, _sure, box in words),
        y1=y1,
        baseline=bottom,
        size=size or y1 - min(box[1] for _word, _sure, box in words),
        confidence=confidence,
    )
