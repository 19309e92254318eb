"""ZIP files written byte by byte, so that they can lie, and packed data of any size for next to nothing."""

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

STORED, DEFLATED = 0, 8
SYMLINK = 0o120777 << 16
ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry. packed: what stands in the file, where it is not made from `content`. size, declared: bytes unpacked,
    and what the entry says instead.
    """

    name: str
    content: bytes = b""
    packed: bytes | None = None
    size: int = 0
    declared: int | None = None
    attributes: int = 0
    flags: int = 0


def repeated(unit: bytes, times: int) -> bytes:
    """Raw deflate data of `unit` written `times` times over: made in the time of one."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * times + b"\x03\x00"


def zlib_repeated(unit: bytes, times: int) -> bytes:
    """The same with a zlib header, as PDF and PNG want it; its checksum is wrong."""
    return b"\x78\xda" + repeated(unit, times) + bytes(4)


def bomb(name: str, unit: bytes, times: int, *, declared: int | None = None) -> Member:
    return Member(name=name, packed=repeated(unit, times), size=len(unit) * times, declared=declared)


def zip_of(members: Iterable[Member]) -> bytes:
    body, directory, count = bytearray(), bytearray(), 0
    for member in members:
        entry, central = _entry(member, offset=len(body))
        body += entry
        directory += central
        count += 1
    end = struct.pack(
        "<4s4H2LH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), len(body), 0
    )
    return bytes(body + directory + end)


def zip_files(files: dict[str, bytes | str]) -> bytes:
    """An honest one."""
    return zip_of(
        Member(name=name, content=content.encode() if isinstance(content, str) else content)
        for name, content in files.items()
    )


def _entry(member: Member, *, offset: int) -> tuple[bytes, bytes]:
    name = member.name.encode()
    packed = member.packed
    if packed is None:
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(member.content) + packer.flush()
    size = member.size or len(member.content)
    told = size if member.declared is None else member.declared
    common = struct.pack(
        "<5H3L2H",
        20,
        member.flags | 0x800,
        DEFLATED,
        0,
        0x21,
        zlib.crc32(member.content),
        len(packed),
        told,
        len(name),
        0,
    )
    central = struct.pack("<3H2L", 0, 0, 0, member.attributes, offset)
    return b"PK\x03\x04" + common + name + packed, b"PK\x01\x02" + b"\x14\x03" + common + central + name
