"""Templates under the strict content policy, and what is known of every file that somebody else wrote."""

import base64
import hashlib
import re

import pytest
from django.conf import settings

TEMPLATES = sorted((settings.BASE_DIR / "templates").rglob("*.html"))
VENDOR = settings.BASE_DIR / "static/vendor"
COMMENT = re.compile(r"\{#.*?#\}|\{% comment.*?endcomment %\}", re.DOTALL)
BLOCKED = {
    "a style attribute": re.compile(r"\sstyle\s*=", re.IGNORECASE),
    "a style element": re.compile(r"<style\b", re.IGNORECASE),
    "a script in the page": re.compile(
        r"""<script\b(?![^>]*\b(?:src=|type="application/json"))""", re.IGNORECASE
    ),
    "a handler": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "a javascript: address": re.compile(r"javascript:", re.IGNORECASE),
    "code in an htmx attribute": re.compile(r"\shx-on|\bhx-vals=[\"']js:", re.IGNORECASE),
}


@pytest.mark.parametrize("what", BLOCKED)
def test_no_template_holds_what_the_content_policy_blocks(what):
    holding = [
        str(path.relative_to(settings.BASE_DIR))
        for path in TEMPLATES
        if BLOCKED[what].search(COMMENT.sub("", path.read_text()))
    ]
    assert not holding


def test_every_vendored_file_has_its_origin_licence_and_hash():
    rows = [line.split() for line in (VENDOR / "VENDOR.txt").read_text().splitlines() if "@" in line]
    known = {row[0]: row for row in rows}
    files = {path.name for path in VENDOR.iterdir()} - {"VENDOR.txt"}
    assert files == {name for name in known if not name.startswith("..")}
    for name in files:
        *origin, licence, package_integrity, file_integrity = known[name]
        digest = base64.b64encode(hashlib.sha256((VENDOR / name).read_bytes()).digest()).decode()
        assert file_integrity == f"sha256-{digest}", name
        assert re.search(r"@\d+\.\d+\.\d+", " ".join(origin))
        assert licence
        assert package_integrity.startswith("sha512-")
