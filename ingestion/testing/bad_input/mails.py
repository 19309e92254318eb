"""Mail that nests, lies about its parts, or never closes them."""

import base64

HEAD = b"From: ada@example.com\r\nTo: bob@example.com\r\nSubject: %s\r\nDate: Mon, 2 Mar 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"


def plain(subject: bytes, body: bytes) -> bytes:
    return HEAD % subject + b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + body + b"\r\n"


def forwarded(depth: int) -> bytes:
    """A mail in a mail in a mail; the innermost says something."""
    message = plain(b"Level 0", b"The innermost sentence.")
    for level in range(1, depth + 1):
        message = with_parts(
            b"Level %d" % level, [b"Content-Type: message/rfc822\r\n\r\n" + message], mark=b"m%d" % level
        )
    return message


def with_parts(subject: bytes, parts: list[bytes], *, mark: bytes = b"m", closed: bool = True) -> bytes:
    """parts: each with its own headers."""
    body = b"".join(b"--%s\r\n%s\r\n" % (mark, part) for part in parts)
    end = b"--%s--\r\n" % mark if closed else b""
    return HEAD % subject + b'Content-Type: multipart/mixed; boundary="%s"\r\n\r\n' % mark + body + end


def attached(name: bytes, content: bytes) -> bytes:
    """One part that is a file."""
    return (
        b'Content-Type: application/octet-stream; name="%s"\r\nContent-Disposition: attachment; filename="%s"\r\n'
        b"Content-Transfer-Encoding: base64\r\n\r\n" % (name, name) + base64.encodebytes(content)
    )


def multiparts(depth: int) -> bytes:
    """Multipart in multipart, with one line of text at the bottom."""
    opened = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (level, level)
        for level in range(depth)
    )
    return HEAD % b"Deep" + opened + b"Content-Type: text/plain\r\n\r\nThe bottom.\r\n"
