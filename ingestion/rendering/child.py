"""Draw one page of a PDF or a picture as WebP on standard output. Runs alone: `python -I child.py FILE PAGE WIDTH`.

Exit status 3: there is no such page; anything else but 0: the page cannot be drawn.
"""

import io
import resource
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image
    from PIL.ImageFile import ImageFile

MEGABYTE = 1 << 20
LIMITS = (
    (resource.RLIMIT_AS, 1500 * MEGABYTE),
    (resource.RLIMIT_CPU, 20),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_NOFILE, 64),
    (resource.RLIMIT_CORE, 0),
)
MAX_SIDE = 4000
MAX_PIXELS = 60_000_000
NO_SUCH_PAGE = 3
# Nothing else is tried, whatever a file is called: other readers start programs (EPS) or are seldom looked after.
PICTURE_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "HEIF")


def main(path: str, page: int, width: int) -> int:
    for what, limit in LIMITS:
        resource.setrlimit(what, (limit, limit))
    with open(path, "rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    image = _pdf_page(path, page, width) if is_pdf else _picture(path, page, width)
    if image is None:
        return NO_SUCH_PAGE
    out = io.BytesIO()
    image.save(out, format="WEBP", quality=80, method=4)
    sys.stdout.buffer.write(out.getvalue())
    return 0


def _pdf_page(path: str, page: int, width: int) -> "Image.Image | None":
    import pymupdf
    from PIL import Image

    with pymupdf.open(path, filetype="pdf") as document:
        if not 1 <= page <= document.page_count:
            return None
        drawn = document[page - 1]
        scale = min(width / max(drawn.rect.width, 1), MAX_SIDE / max(drawn.rect.height, 1))
        pixels = drawn.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
        return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)


def open_picture(file: "str | IO[bytes]") -> "ImageFile":
    """Open one of the PICTURE_FORMATS, whatever it is called. Raises what Pillow raises for others."""
    from PIL import Image
    from pillow_heif import register_heif_opener

    register_heif_opener()
    return Image.open(file, formats=PICTURE_FORMATS)


def _picture(path: str, page: int, width: int) -> "Image.Image | None":
    """A picture as it is meant to be seen: turned upright, on white, never larger than it is."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2  # an error comes at twice this
    with open_picture(path) as opened:
        try:
            opened.seek(page - 1)
        except EOFError:
            return None
        opened.draft("RGB", (width, MAX_SIDE))
        picture = ImageOps.exif_transpose(opened).convert("RGBA")
    picture.thumbnail((width, MAX_SIDE))
    seen = Image.new("RGB", picture.size, "white")
    seen.paste(picture, mask=picture.getchannel("A"))
    return seen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
