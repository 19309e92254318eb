"""Draw one page of a PDF as WebP on standard output. Runs alone: `python -I child.py FILE PAGE WIDTH`.

Exit status 3: there is no such page; anything else but 0: the page cannot be drawn.
"""

import io
import resource
import sys

MEGABYTE = 1 << 20
LIMITS = (
    (resource.RLIMIT_AS, 1500 * MEGABYTE),
    (resource.RLIMIT_CPU, 20),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_NOFILE, 64),
    (resource.RLIMIT_CORE, 0),
)
MAX_SIDE = 4000
NO_SUCH_PAGE = 3


def main(path: str, page: int, width: int) -> int:
    for what, limit in LIMITS:
        resource.setrlimit(what, (limit, limit))
    import pymupdf
    from PIL import Image

    with pymupdf.open(path, filetype="pdf") as document:
        if not 1 <= page <= document.page_count:
            return NO_SUCH_PAGE
        drawn = document[page - 1]
        scale = min(width / max(drawn.rect.width, 1), MAX_SIDE / max(drawn.rect.height, 1))
        pixels = drawn.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
        image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    out = io.BytesIO()
    image.save(out, format="WEBP", quality=80, method=4)
    sys.stdout.buffer.write(out.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
