"""Mail: a head, the body once, and what is attached."""

from email.message import EmailMessage
from email.policy import SMTP

import pytest

from ingestion.parsing import mail
from ingestion.parsing.elements import Kind, PartRole
from ingestion.parsing.errors import Rejected
from ingestion.tests.parsing.reading import parser_of

parse = parser_of(mail)
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(60)


def letter(**headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = "Ada <ada@example.com>", "Bob <bob@example.com>"
    message["Subject"] = headers.pop("subject", "Valve")
    for name, value in headers.items():
        message[name] = value
    return message


def texts(data: bytes) -> list[str]:
    return [element.text for element in parse(data).elements]


def test_the_head_is_readable_and_the_html_body_stands_once() -> None:
    message = letter(subject="阀门 report", Date="Fri, 23 Dec 2022 12:08:48 -0600", Cc="c@example.com")
    message.set_content("Close the valve\n\n- slowly\n")
    message.add_alternative("<h2>Steps</h2><p>Close the valve</p><ul><li>slowly</li></ul>", subtype="html")
    read = parse(message.as_bytes())
    assert [element.kind for element in read.elements] == [
        Kind.TITLE,
        Kind.PARAGRAPH,
        Kind.HEADING,
        Kind.PARAGRAPH,
        Kind.LIST_ITEM,
    ]
    assert read.title == "阀门 report"
    assert read.author == "Ada <ada@example.com>"
    assert read.created.startswith("2022-12-23T12:08:48")
    assert read.elements[1].text.split("\n")[:2] == [
        "From: Ada <ada@example.com>",
        "To: Bob <bob@example.com>",
    ]
    assert "Cc: c@example.com\nDate: 2022-12-23 12:08" in read.elements[1].text


def test_a_plain_body_that_says_something_else_than_the_html_is_kept_too() -> None:
    message = letter()
    message.set_content("Torque is forty newton metres at every bolt.")
    message.add_alternative("<p>Open this mail in a browser.</p>", subtype="html")
    said = texts(message.as_bytes())
    assert "Open this mail in a browser." in said
    assert "Torque is forty newton metres at every bolt." in said


def test_files_and_forwarded_messages_become_attachments_and_shown_pictures_stay() -> None:
    message = letter()
    message.set_content("See below.")
    message.add_alternative('<p>See <img src="cid:p1" alt="the plant"></p>', subtype="html")
    message.get_payload()[1].add_related(PIXEL, "image", "png", cid="<p1>", filename="plant.png")
    message.add_attachment(
        "附件正文".encode("gb18030"), maintype="text", subtype="plain", filename="说明.txt"
    )
    inner = letter(subject="Old: news/1")
    inner.set_content("Older.")
    message.add_attachment(inner)
    message.add_attachment(b"\x00\x01", maintype="application", subtype="ms-tnef", filename="winmail.dat")
    read = parse(message.as_bytes())
    attached = [part for part in read.parts if part.role is PartRole.ATTACHMENT]
    assert [part.name for part in attached] == ["说明.txt", "Old news 1.eml"]
    assert "Older." in texts(attached[1].data)
    [picture] = [part for part in read.parts if part.role is PartRole.PICTURE]
    [shown] = [element for element in read.elements if element.kind is Kind.IMAGE]
    assert (shown.text, shown.picture, picture.data) == ("the plant", picture.digest, PIXEL)
    assert read.quality.warnings == ("winmail:winmail.dat",)
    assert "说明.txt, Old news 1.eml" in read.elements[1].text


@pytest.mark.parametrize(
    ("charset", "raw"),
    [
        ("iso-8859-1", "阀门的检查步骤写在附件里。".encode()),
        ("us-ascii", "阀门的检查步骤写在附件里。".encode("gb18030")),
        ("gb2312", "阀门的检查步骤写在附件里。".encode("gb18030")),
        ("x-unknown", "阀门的检查步骤写在附件里。".encode()),
    ],
)
def test_a_wrongly_stated_charset_does_not_garble_the_body(charset: str, raw: bytes) -> None:
    data = b"Subject: x\nContent-Type: text/plain; charset=%s\n\n" % charset.encode() + raw
    assert "阀门的检查步骤写在附件里。" in texts(data)


def test_a_subject_in_bare_bytes_is_decoded() -> None:
    data = b"From: a@b.c\nSubject: " + "关于设备检修的通知".encode("gb18030") + b"\n\nText."
    assert parse(data).title == "关于设备检修的通知"


@pytest.mark.parametrize(
    "head",
    [
        'multipart/encrypted; boundary=b; protocol="application/pgp-encrypted"\n\n--b\n\nx\n--b--',
        "application/pkcs7-mime; smime-type=enveloped-data\n\nMIIB",
        "text/plain\n\n-----BEGIN PGP MESSAGE-----\nhIw\n-----END PGP MESSAGE-----",
    ],
)
def test_encrypted_mail_is_called_so(head: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse(f"From: a@b.c\nMIME-Version: 1.0\nContent-Type: {head}".encode())
    assert caught.value.code == "encrypted"


def test_malformed_headers_and_endless_nesting_end() -> None:
    assert texts(b'From: "<\nTo: @@@;;,\nDate: never\nContent-Type: ;;\n\nBody.')[-1] == "Body."
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(1_200)
    )
    with pytest.raises(Rejected) as caught:
        parse(b"Subject: deep\n" + nested + b"\n\nBody.")
    assert caught.value.code == "too_complex"


def test_attachments_survive_with_their_bytes() -> None:
    message = letter()
    message.set_content("x")
    message.add_attachment(bytes(range(256)), maintype="application", subtype="pdf", filename="a.pdf")
    [part] = parse(message.as_bytes(policy=SMTP)).parts
    assert (part.data, part.media_type) == (bytes(range(256)), "application/pdf")
