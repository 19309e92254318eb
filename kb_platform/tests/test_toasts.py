import json

import pytest
from django.contrib.messages import get_messages
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import RequestFactory

from kb_platform.toasts import Undo, tell, toast

pytestmark = pytest.mark.django_db


def request_with_messages():
    request = RequestFactory().get("/manage/documents?state=live")
    SessionMiddleware(HttpResponse).process_request(request)
    MessageMiddleware(HttpResponse).process_request(request)
    return request


def drawn(request):
    return render_to_string("components/_messages.html", {"messages": get_messages(request)}, request)


def test_a_toast_offers_the_way_back_as_a_form_that_returns_to_the_page():
    request = request_with_messages()
    toast(request, "2 documents <archived>.", undo=Undo(url="/undo", fields={"uid": ["a", "b"]}))
    page = drawn(request)
    assert "2 documents &lt;archived&gt;." in page
    assert '<form method="post" action="/undo">' in page
    assert page.count('name="uid"') == 2
    assert 'name="next" value="/manage/documents?state=live"' in page


def test_a_toast_without_a_way_back_has_no_form():
    request = request_with_messages()
    toast(request, "Saved.")
    assert "Saved." in drawn(request)
    assert "<form" not in drawn(request)


def test_an_answer_to_htmx_carries_the_toast_in_its_header():
    sent = json.loads(tell(HttpResponse(), "已归档", undo=Undo(url="/undo"))["HX-Trigger"])
    assert sent == {"kb:toast": {"text": "已归档", "undo": {"url": "/undo", "fields": {}}}}
