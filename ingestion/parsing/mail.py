"""Mail as it is sent (EML) and as Outlook keeps it (MSG): a readable head, the body once, and what is attached to it.

Of the same body in several forms the HTML is read; the plain text is added only where it says something else. Pictures
of the body stay in their places; everything attached becomes a part that is a document of its own.
"""

import email
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email import policy
from email.message import Message
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any
from urllib.parse import unquote

from ingestion.parsing.elements import Element, Kind, ParsedDocument, Part, PartRole, Quality
from ingestion.parsing.encodings import Decoded, decode
from ingestion.parsing.errors import Rejected
from ingestion.parsing.formats import Source
from ingestion.parsing.html import fragment_elements
from ingestion.parsing.prose import cjk_share, collapse
from ingestion.parsing.text import text_elements

MAX_PARTS = 1_000
_LABELS = {"from": "From", "to": "To", "cc": "Cc", "date": "Date", "attached": "Attachments"}
_LABELS_ZH = {"from": "发件人", "to": "收件人", "cc": "抄送", "date": "日期", "attached": "附件"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SIGNATURES = frozenset(
    {"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"}
)
_SEALED = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_META_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_CONTENT_ID = re.compile(r"cid:([^\"'\s)>]{1,500})", re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]{2,}")
_TAGS = re.compile(r"<[^>]*>")
_SURROGATE = re.compile("[\udc80-\udcff]")
_NOT_IN_NAMES = re.compile(r"[\\/:*?\"<>|\x00-\x1f]+")
_SAME_SHARE = 0.5  # of the plain text's words that the HTML has, from which on they say the same
_SINGLE_BYTE = ("iso-8859", "iso8859", "windows-125", "cp125", "us-ascii", "ascii", "latin")


@dataclass(slots=True, kw_only=True)
class _Mail:
    """A message taken apart, whatever file it came in."""

    subject: str = ""
    sender: str = ""
    to: str = ""
    cc: str = ""
    sent: datetime | None = None
    bodies: list["_Body"] = field(default_factory=list)
    files: list[Part] = field(default_factory=list)
    inline: dict[str, Part] = field(default_factory=dict)  # pictures by content id and by name
    warnings: list[str] = field(default_factory=list)
    encoding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    text: str = ""
    html: str = ""


def parse(source: Source) -> ParsedDocument:
    """Read one message. Raises Rejected for an encrypted one."""
    if source.data.startswith(_OLE):
        return _document(_outlook(source.data), media_type="application/vnd.ms-outlook")
    return _document(_internet(source.data), media_type="message/rfc822")


# --- EML --------------------------------------------------------------------------------------------------


def _internet(data: bytes) -> _Mail:
    try:
        message = email.message_from_bytes(data, policy=policy.default)
        mail = _Mail(
            subject=_header(message, "subject"),
            sender=_header(message, "from"),
            to=_header(message, "to"),
            cc=_header(message, "cc"),
            sent=_date(_header(message, "date")),
        )
        _take(mail, message)
    except RecursionError as error:
        raise Rejected("too_complex", limit="nesting") from error
    return mail


def _header(message: Message, name: str) -> str:
    """A header decoded; one that is written against the rules is taken as it stands."""
    value = next((str(raw) for key, raw in message.raw_items() if key.lower() == name), "")
    if _SURROGATE.search(value):  # bytes without a word of their encoding
        return collapse(decode(value.encode("utf-8", "surrogateescape")).text)
    with suppress(
        Exception
    ):  # the header parser of the standard library trips over malformed ones in many ways
        value = str(message[name] or "")
    return collapse(value)


def _date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _take(mail: _Mail, part: Message) -> None:
    """Sort one part of a message, and those below it, into bodies, pictures and files."""
    kind = part.get_content_type()
    if kind == "multipart/encrypted" or (kind in _SEALED and part.get_param("smime-type") != "signed-data"):
        raise Rejected("encrypted")
    if kind in _SIGNATURES:
        return
    if kind == "message/rfc822":
        _take_message(mail, part)
    elif kind == "multipart/alternative":
        _take_alternatives(mail, _below(part))
    elif part.is_multipart():
        for child in _below(part):
            _take(mail, child)
    elif kind in {"text/plain", "text/html"} and not _is_file(part):
        mail.bodies.append(_body(mail, part))
    elif kind.startswith("text/rfc822") or (kind == "text/calendar" and not _is_file(part)):
        mail.bodies.append(_Body(text=_text(mail, part)))
    else:
        _take_file(mail, part)


def _below(part: Message) -> list[Message]:
    inner = part.get_payload()
    return [child for child in inner if isinstance(child, Message)] if isinstance(inner, list) else []


def _take_alternatives(mail: _Mail, parts: list[Message]) -> None:
    """Forms of one body: the HTML form and the plain one are held against each other, the others are left."""
    found = _Mail()
    for part in parts:
        _take(found, part)
    html = "\n".join(body.html for body in found.bodies if body.html)
    text = "\n".join(body.text for body in found.bodies if body.text)
    mail.bodies.append(_Body(html=html, text=text if not html or not _says_the_same(text, html) else ""))
    mail.files += found.files
    mail.inline |= found.inline
    mail.warnings += found.warnings
    mail.encoding = mail.encoding or found.encoding


def _says_the_same(text: str, html: str) -> bool:
    words = set(_WORDS.findall(text.lower()))
    shown = unescape(_TAGS.sub(" ", html)).lower()
    said = set(_WORDS.findall(shown))
    return not words or len(words & said) >= _SAME_SHARE * len(words)


def _is_file(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_file_name(part))


def _file_name(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except Exception:  # malformed parameters
        return ""
    if _SURROGATE.search(name):
        name = decode(name.encode("utf-8", "surrogateescape")).text
    if "=?" in name:  # encoded as a header would be, against the rules, as many programs do
        name = str(email.header.make_header(_decoded_words(name)))
    return collapse(name)


def _decoded_words(name: str) -> Any:
    try:
        return email.header.decode_header(name)
    except (ValueError, LookupError):
        return [(name, None)]


def _body(mail: _Mail, part: Message) -> _Body:
    text = _text(mail, part)
    if part.get_content_type() == "text/html":
        return _Body(html=text)
    if part.get_param("format") == "flowed":
        text = re.sub(r"(?<=\S) \r?\n(?!-- )", " ", text)
    if text.lstrip().startswith("-----BEGIN PGP MESSAGE-----"):
        raise Rejected("encrypted")
    return _Body(text=text)


def _text(mail: _Mail, part: Message) -> str:
    raw = _bytes(part)
    charset = part.get_content_charset() or ""
    if not charset and (declared := _META_CHARSET.search(raw[:4096])):
        charset = declared[1].decode("ascii", "replace")
    decoded = _decode(raw, charset)
    mail.encoding = mail.encoding or decoded.encoding
    if decoded.lossy:
        mail.warnings.append("lossy_encoding")
    return decoded.text


def _decode(raw: bytes, charset: str) -> Decoded:
    """By the stated encoding, unless it is one that takes any bytes and the bytes look like another's."""
    if charset.lower().startswith(_SINGLE_BYTE):
        found = decode(raw)
        high = sum(byte > 0x7F for byte in raw[:20_000])
        if found.encoding == "utf-8" or high > 0.3 * min(len(raw), 20_000):
            return found
    return decode(raw, declared=charset)


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _take_message(mail: _Mail, part: Message) -> None:
    """A forwarded message is a file, named by its subject."""
    for inner in _below(part):
        name = collapse(_NOT_IN_NAMES.sub(" ", _file_name(part) or _header(inner, "subject") or "message"))
        name = name if name.lower().endswith(".eml") else f"{name[:150]}.eml"
        _keep(mail, name, _flat(inner), "message/rfc822")


def _flat(message: Message) -> bytes:
    try:
        return message.as_bytes(policy=policy.compat32)
    except (UnicodeError, LookupError, ValueError, KeyError, TypeError, AttributeError):
        return message.as_string(policy=policy.compat32).encode("utf-8", "replace")


def _take_file(mail: _Mail, part: Message) -> None:
    kind, name, data = part.get_content_type(), _file_name(part), _bytes(part)
    key = collapse(part.get("content-id") or "").strip("<>")
    if kind.startswith("image/") and (key or part.get_content_disposition() == "inline"):
        picture = Part.of(PartRole.PICTURE, data, name=name or key, media_type=kind)
        mail.inline.setdefault(key or name, picture)
        mail.inline.setdefault(name, picture)
        return
    _keep(mail, name or _unnamed(kind, len(mail.files) + 1), data, kind)


def _unnamed(kind: str, number: int) -> str:
    return f"attachment-{number}.{kind.partition('/')[2].split('+')[0][:20]}"


def _keep(mail: _Mail, name: str, data: bytes, kind: str) -> None:
    if name.lower() == "winmail.dat" or kind in {"application/ms-tnef", "application/vnd.ms-tnef"}:
        mail.warnings.append(f"winmail:{name}")
    elif not data:
        mail.warnings.append(f"parts_skipped:{name}")
    elif len(mail.files) >= MAX_PARTS:
        mail.warnings.append(f"too_many_parts:{MAX_PARTS}")
    else:
        mail.files.append(Part.of(PartRole.ATTACHMENT, data, name=name, media_type=kind))


# --- MSG --------------------------------------------------------------------------------------------------


def _outlook(data: bytes) -> _Mail:
    from oxmsg import Message as OutlookMessage
    from oxmsg.domain import constants

    message = OutlookMessage.load(io.BytesIO(data))
    kind = message.message_class.lower()
    if kind.endswith(".smime") or ".secure" in kind:
        raise Rejected("encrypted")
    headers = {name.lower(): str(value) for name, value in message.message_headers.items()}
    head = email.message_from_string(
        "".join(f"{name}: {value}\n" for name, value in headers.items()), policy=policy.default
    )
    properties = message.properties
    mail = _Mail(
        subject=collapse(message.subject or ""),
        sender=_header(head, "from") or collapse(message.sender or ""),
        to=_header(head, "to") or collapse(properties.str_prop_value(constants.PID_DISPLAY_TO) or ""),
        cc=_header(head, "cc") or collapse(properties.str_prop_value(constants.PID_DISPLAY_CC) or ""),
        sent=message.sent_date or _date(_header(head, "date")),
    )
    mail.bodies.append(_outlook_body(mail, message, properties.binary_prop_value(constants.PID_HTML)))
    for number, attachment in enumerate(message.attachments, start=1):
        _take_outlook_file(mail, attachment, number)
    return mail


def _outlook_body(mail: _Mail, message: Any, raw: bytes | None) -> _Body:
    text = message.body or ""
    if raw is None:
        html = message.properties.str_prop_value(0x1013) or ""
    else:
        declared = _META_CHARSET.search(raw[:4096])
        decoded = _decode(raw, declared[1].decode("ascii", "replace") if declared else "")
        html, mail.encoding = decoded.text, decoded.encoding
    return _Body(html=html, text=text if not html or not _says_the_same(text, html) else "")


def _take_outlook_file(mail: _Mail, attachment: Any, number: int) -> None:
    name = collapse(attachment.file_name or attachment.properties.str_prop_value(0x3704) or "")
    data, kind = attachment.file_bytes or b"", attachment.mime_type or ""
    key = attachment.properties.str_prop_value(0x3712) or ""
    name = name or _unnamed(kind, number)
    if kind.startswith("image/") and key and data:
        picture = Part.of(PartRole.PICTURE, data, name=name, media_type=kind)
        mail.inline[key.strip("<>")] = mail.inline[name] = picture
    else:
        _keep(mail, name, data, kind)


# --- to elements ------------------------------------------------------------------------------------------


def _document(mail: _Mail, *, media_type: str) -> ParsedDocument:
    shown: dict[str, Part] = {}
    body = [element for part in mail.bodies for element in _body_elements(mail, part, shown)]
    _keep_named(mail, shown)
    attached = [*mail.files, *_unshown(mail, shown)]
    head = _head(mail, attached, "".join(element.text for element in body[:50]))
    title = [Element(kind=Kind.TITLE, text=mail.subject)] if mail.subject else []
    sent = mail.sent.isoformat() if mail.sent else ""
    people = {"from": mail.sender, "to": mail.to, "cc": mail.cc}
    return ParsedDocument(
        media_type=media_type,
        elements=(*title, *head, *body),
        quality=Quality(warnings=tuple(mail.warnings), pictures=len(shown)),
        title=mail.subject,
        author=mail.sender,
        created=sent,
        encoding=mail.encoding,
        parts=(*shown.values(), *attached),
        properties={key: value for key, value in people.items() if value},
    )


def _keep_named(mail: _Mail, shown: dict[str, Part]) -> None:
    """Pictures that the body names where no element can stand, as in the cells of a table, are its pictures too."""
    for address in {address for body in mail.bodies for address in _CONTENT_ID.findall(body.html)}:
        part = mail.inline.get(unquote(address))
        if part is not None and part.data:
            shown.setdefault(part.digest, part)


def _unshown(mail: _Mail, shown: dict[str, Part]) -> list[Part]:
    """Pictures that the body does not show are attachments like any other."""
    rest = {part.digest: part for part in mail.inline.values() if part.digest not in shown and part.data}
    return [
        Part.of(PartRole.ATTACHMENT, part.data, name=part.name, media_type=part.media_type)
        for part in rest.values()
    ]


def _body_elements(mail: _Mail, body: _Body, shown: dict[str, Part]) -> Iterator[Element]:
    def picture(address: str, alt: str) -> Element | None:
        part = mail.inline.get(address.removeprefix("cid:").strip()) if address else None
        if part is None or not part.data:
            return None
        shown[part.digest] = part
        return Element(kind=Kind.IMAGE, text=alt or part.name, picture=part.digest)

    if body.html:
        yield from fragment_elements(body.html, pictures=picture)
    if body.text:
        yield from (
            element if element.kind is not Kind.TITLE else Element(kind=Kind.PARAGRAPH, text=element.text)
            for element in text_elements(body.text)
        )


def _head(mail: _Mail, attached: list[Part], sample: str) -> list[Element]:
    """Who wrote to whom and when, in the language of the mail, so that it is found by that too."""
    labels = _LABELS_ZH if cjk_share(mail.subject + sample) > 0.3 else _LABELS
    date = f"{mail.sent:%Y-%m-%d %H:%M}" if mail.sent else ""
    values = {
        "from": mail.sender,
        "to": mail.to,
        "cc": mail.cc,
        "date": date,
        "attached": ", ".join(part.name for part in attached),
    }
    colon = "：" if labels is _LABELS_ZH else ": "
    lines = [f"{labels[key]}{colon}{value}" for key, value in values.items() if value]
    return [Element(kind=Kind.PARAGRAPH, text="\n".join(lines))] if lines else []
