"""PDF to elements against bare MuPDF, and the memory of child and worker: one JSON object on standard output.

Run as `python -m benchmarks.parsing [--pages N] [--scan N]` from the project folder. Speeds are pages per second of CPU
time, the best of three of each, taken in turn; the ratio is what counts. Memory is measured on a PDF of N pages and on a
scan of N pages, each through the real sandbox: the peak of the child, and by how much this process grew.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import pymupdf

from benchmarks.embedder import chinese, english
from ingestion.parsing import pdf
from ingestion.parsing.elements import ParsedDocument
from ingestion.parsing.formats import Source
from ingestion.parsing.sandbox import Usage, parse_file

ROUNDS = 3
SPEED_PAGES = 200
SCANNED_PAGES = 4  # different pages of a scan; they repeat


def text_pdf(pages: int) -> bytes:
    """A manual of numbered sections, every second page Chinese."""
    rng = random.Random(1)
    document = pymupdf.open()
    for number in range(1, pages + 1):
        page = document.new_page()
        font = "helv" if number % 2 else "china-s"
        page.insert_text((60, 50), f"{number}. Section {number}", fontname="hebo", fontsize=14)
        for top in range(70, 750, 170):
            text = english(150, rng) if number % 2 else chinese(380, rng)
            page.insert_textbox((60, top, 535, top + 165), text, fontname=font, fontsize=10)
    data: bytes = document.tobytes(deflate=True)
    return data


def scan_pdf(pages: int) -> bytes:
    """Pages of that manual as pictures; each picture is in the file once, however often it is shown."""
    document = pymupdf.open()
    with pymupdf.open(stream=text_pdf(SCANNED_PAGES)) as written:
        pictures = [page.get_pixmap(dpi=200, colorspace=pymupdf.csGRAY).tobytes("jpeg") for page in written]
    shown: dict[int, int] = {}
    for number in range(pages):
        which = number % SCANNED_PAGES
        page = document.new_page()
        if which in shown:
            page.insert_image(page.rect, xref=shown[which])
        else:
            shown[which] = page.insert_image(page.rect, stream=pictures[which])
    data: bytes = document.tobytes()
    return data


def speeds(data: bytes, pages: int) -> dict[str, float]:
    bare, whole = [], []
    for _ in range(ROUNDS):
        started = time.process_time()
        with pymupdf.open(stream=data) as document:
            for page in document:
                page.get_text("dict")
        bare.append(time.process_time() - started)
        started = time.process_time()
        pdf.parse(Source(data=data))
        whole.append(time.process_time() - started)
    return {
        "pages_per_cpu_s": round(pages / min(whole), 1),
        "bare_pages_per_cpu_s": round(pages / min(bare), 1),
        "ratio_to_bare": round(min(bare) / min(whole), 3),
    }


def memory(data: bytes, pages: int) -> dict[str, Any]:
    """One parse through the sandbox, with its result held as a worker holds it."""
    usage, seen = Usage(), []
    with tempfile.TemporaryDirectory(prefix="zhiku-bench-") as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        del data
        parse_file(_small(Path(folder)), file_name="small.pdf")  # what every worker has loaded
        before, started = _own_mb("VmRSS"), time.monotonic()
        document: ParsedDocument = parse_file(
            path, file_name="file.pdf", usage=usage, watch=lambda done, _total: seen.append(done)
        )
        held = _own_mb("VmRSS")
    return {
        "pages": pages,
        "elements": len(document.elements),
        "ocr_pages": document.quality.ocr_pages,
        "wall_s": round(time.monotonic() - started, 1),
        "cpu_s_per_page": round(usage.cpu_s / pages, 3),
        "pages_per_cpu_s": round(pages / usage.cpu_s, 1),
        "child_peak_mb": usage.rss_kb // 1024,
        "worker_growth_mb": held - before,
        "progress_steps": len(set(seen)),
    }


def _small(folder: Path) -> Path:
    path = folder / "small"
    path.write_bytes(text_pdf(1))
    return path


def _own_mb(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument(
        "--scan", type=int, default=20, help="400 for the size that is promised; takes half an hour"
    )
    chosen = parser.parse_args()
    report = {
        "text": speeds(text_pdf(SPEED_PAGES), SPEED_PAGES),
        "large": memory(text_pdf(chosen.pages), chosen.pages),
        "scan": memory(scan_pdf(chosen.scan), chosen.scan) if chosen.scan else {},
    }
    print(json.dumps(report))
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "parsing.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
