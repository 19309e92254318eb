from datetime import UTC, datetime

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.template import Context, Template
from django.test import RequestFactory
from django.utils.translation import override

from kb_platform.templatetags import shell


def test_sizes_are_written_in_powers_of_ten():
    assert [shell.size(n) for n in (0, 999, 640_000, 8_400_000, 2_000_000_000)] == [
        "0 B",
        "999 B",
        "640 KB",
        "8.4 MB",
        "2.0 GB",
    ]


def test_initials_prefer_han_and_survive_odd_names():
    assert [shell.initials(n) for n in ("林若溪", "Ruoxi Lin", "ada@example.com", "")] == [
        "林",
        "RL",
        "A",
        "?",
    ]


@pytest.mark.parametrize(
    ("language", "expected"), [("en", "29 Nov 2026, 14:05"), ("zh-hans", "2026-11-29 14:05")]
)
def test_moments_follow_the_reader_language(language, expected):
    with override(language):
        assert expected in shell.when(datetime(2026, 11, 29, 14, 5, tzinfo=UTC))


def test_file_glyph_escapes_and_shortens_strange_extensions():
    assert "&lt;B&gt;" in shell.file_glyph("a.<b>cdefgh")


def test_query_changes_one_parameter_and_keeps_the_rest():
    context = Context({"request": RequestFactory().get("/documents?q=a&page=2")})
    assert Template("{% load shell %}{% query page=3 %}").render(context) == "?q=a&amp;page=3"
    assert Template("{% load shell %}{% query page=None %}").render(context) == "?q=a"


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413, 500, 503])
def test_error_pages_render_without_a_database(status, monkeypatch):
    from django.template.loader import render_to_string

    def gone(self):
        raise OperationalError("connection refused")

    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", gone)
    page = render_to_string(
        f"errors/{status}.html", {"error": "Told in a sentence."}, RequestFactory().get("/x")
    )
    assert str(status) in page
    assert "style=" not in page
    assert "<script>" not in page


@pytest.mark.django_db
def test_the_not_found_page_says_the_same_whatever_was_asked(client):
    pages = {client.get(path).content.replace(path.encode(), b"") for path in ("/no/such", "/d/0/also-not")}
    bodies = {page.split(b'class="xs muted row"')[0] for page in pages}
    assert len(bodies) == 1


@pytest.mark.django_db
def test_the_api_reference_keeps_the_content_policy(browser, reader):
    response = browser(reader).get("/api/docs")
    page = response.content.decode()
    assert response.status_code == 200
    assert 'data-schema="/api/schema"' in page
    assert "<style" not in page
    assert "<script>" not in page
    assert "data:" not in response["Content-Security-Policy"]
    styles = browser(reader).get("/api/docs.css").content.decode()
    assert "url(" not in styles
    assert "html.dark-mode .swagger-ui" in styles
