"""Pictures as documents, with a reader that says what it is told."""

import io

import numpy as np
import pytest
from PIL import Image

from ingestion.parsing import images
from ingestion.parsing.elements import Kind, ParsedDocument
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import DocumentKind, Source
from ingestion.parsing.kinds import sniff
from ingestion.parsing.ocr.picture import Recognised, TextLine
from ingestion.parsing.ocr.recogniser import Recogniser

TEXT = "The board beside the pump shows its number"


def encoded(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, format=kind, **options)
    return out.getvalue()


def read(data: bytes, name: str = "board.png") -> ParsedDocument:
    return images.parse(Source(data=data, file_name=name))


def rejection(data: bytes) -> Rejected:
    with pytest.raises(Rejected) as caught:
        read(data)
    return caught.value


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch):
    """The pictures that were given to be read; each says TEXT along its top."""
    given: list[np.ndarray] = []

    def say(self: Recogniser, grey: np.ndarray) -> Recognised:
        given.append(grey)
        height, width = grey.shape
        line = TextLine(text=TEXT, x0=0, y0=0, x1=width / 2, y1=40, baseline=32, size=30, confidence=0.9)
        return Recognised(lines=(line,), width=width, height=height, seen=1, cover=0.1)

    monkeypatch.setattr(Recogniser, "read", say)
    return given


def test_a_picture_is_its_text_and_the_picture_itself(seen: list[np.ndarray]) -> None:
    data = encoded(Image.new("RGB", (2000, 1000), "white"))
    document = read(data)
    picture, text = document.elements
    assert (picture.kind, picture.text, picture.picture) == (Kind.IMAGE, "board", document.parts[0].digest)
    assert (text.text, text.confidence, text.page) == (TEXT, 0.9, 1)
    assert (text.boxes[0].page_width, text.boxes[0].page_height) == (842, 421)
    assert document.media_type == "image/png"
    assert document.quality.page_characters == (len(TEXT),)


def test_pictures_are_read_the_way_they_are_seen(seen: list[np.ndarray]) -> None:
    turned = Image.new("L", (1600, 1500), 0)
    exif = Image.Exif()
    exif[274] = 6  # the camera was held sideways
    read(encoded(turned, "JPEG", exif=exif))
    read(encoded(Image.new("RGBA", (1500, 1500), (0, 0, 0, 0))))
    read(encoded(Image.new("L", (100, 60), 0)))
    read(encoded(Image.fromarray(np.full((1500, 1500), 40_000, dtype=np.uint16))))
    assert [grey.shape for grey in seen] == [(1600, 1500), (1500, 1500), (120, 200), (1500, 1500)]
    assert seen[1].min() == 255


def test_tiff_has_pages_and_a_film_its_first_picture(seen: list[np.ndarray]) -> None:
    frames = [Image.new("L", (1500, 1500), value) for value in (255, 200, 100)]
    document = read(encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:]))
    assert [element.page for element in document.elements] == [1, 1, 2, 3]
    assert (document.quality.pages, document.quality.ocr_pages) == (3, 3)
    assert read(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])).quality.pages == 1


def test_pictures_that_cannot_be_read_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = rejection(encoded(Image.new("1", (10_000, 6_001))))
    assert (huge.code, huge.params) == ("too_large", {"limit": "60 megapixels"})
    whole = encoded(Image.fromarray(np.random.default_rng(1).integers(0, 255, (200, 200), dtype=np.uint8)))
    assert rejection(whole[:5000]).code == "truncated"
    assert rejection(b"\x89PNG\r\n\x1a\n" + b"x" * 50).code == "corrupt"
    specks = (TextLine(text="specks", x0=0, y0=0, x1=9, y1=9, baseline=8, size=8, confidence=0.6),)
    monkeypatch.setattr(Recogniser, "read", lambda self, grey: Recognised(lines=specks, seen=9, cover=0.001))
    assert rejection(whole).code == "no_text"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x89PNG\r\n\x1a\n", "a.jpg"),  # all of one kind, whatever their names
        (b"\xff\xd8\xff\xe0", "a.jpeg"),
        (b"GIF89a", "a.gif"),
        (b"II*\x00", "scan.tif"),
        (b"BM\x36\x00\x00\x00\x00\x00\x00\x00", "a.bmp"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "a.webp"),
        (b"\x00\x00\x00\x18ftypheic", "photo.heic"),
    ],
)
def test_pictures_are_known_by_their_first_bytes(head: bytes, name: str) -> None:
    assert sniff(head + b"\x01\x02" * 40, file_name=name) is DocumentKind.IMAGE
