import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def left(client):
    return client.session.get_expiry_age()


def test_a_session_has_a_fixed_end_that_its_pages_know(reader, password, settings):
    settings.SESSION_COOKIE_AGE = 3600
    client = Client()
    client.post("/login", {"email": reader.email, "password": password})
    assert 3590 < left(client) <= 3600
    page = client.get("/account").content.decode()
    assert 'data-left="3' in page


def test_staying_signed_in_begins_the_time_anew(reader, password, settings):
    settings.SESSION_COOKIE_AGE = 100
    client = Client()
    client.post("/login", {"email": reader.email, "password": password})
    settings.SESSION_COOKIE_AGE = 5000
    assert client.post("/session/extend").json() == {"left_s": 5000}
    assert left(client) > 4900
