"""Pictures that say more than they hold."""

import struct
import zlib

from ingestion.testing.bad_input.archives import zlib_repeated


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))


def png(width: int, height: int, packed: bytes, *, depth: int = 8) -> bytes:
    """Grey. packed: the zlib data of its rows."""
    header = struct.pack(">2L5B", width, height, depth, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def png_bomb() -> bytes:
    """50,000 by 50,000 pixels in a few hundred kilobytes."""
    side = 50_000
    row = bytes(side // 8 + 1)
    return png(side, side, zlib_repeated(row * 100, side // 100), depth=1)


def blank_png(side: int) -> bytes:
    return png(side, side, zlib.compress((b"\x00" + b"\xff" * side) * side))


def tiff_pages(count: int) -> bytes:
    """Pages of one black pixel each."""
    entries = ((256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 1), (279, 1))
    size = 2 + 12 * len(entries) + 4
    body = bytearray(b"II*\x00" + struct.pack("<L", 10) + b"\x00\x00")
    for number in range(count):
        fields = b"".join(struct.pack("<2H2L", tag, 4, 1, value) for tag, value in entries)
        following = 10 + size * (number + 1) if number + 1 < count else 0
        body += struct.pack("<H", len(entries)) + fields + struct.pack("<L", following)
    return bytes(body)


def tiff_ring() -> bytes:
    """One page, whose next page is itself."""
    return tiff_pages(1)[:-4] + struct.pack("<L", 10)
