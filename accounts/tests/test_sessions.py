import pytest
from django.test import Client

from kb_platform.runtime_config.declarations import SESSION_HOURS

pytestmark = pytest.mark.django_db


def left(client):
    return client.session.get_expiry_age()


def test_a_session_has_a_fixed_end_that_its_pages_know(reader, password, configure):
    configure(SESSION_HOURS, 1)
    client = Client()
    client.post("/login", {"email": reader.email, "password": password})
    assert 3590 < left(client) <= 3600
    page = client.get("/account").content.decode()
    assert 'data-left="3' in page


def test_staying_signed_in_begins_the_time_anew(reader, password, configure):
    configure(SESSION_HOURS, 1)
    client = Client()
    client.post("/login", {"email": reader.email, "password": password})
    configure(SESSION_HOURS, 2)
    assert 3590 < left(client) <= 3600  # what is set holds from the next sign-in
    assert client.post("/session/extend").json() == {"left_s": 7200}
    assert left(client) > 7100


def test_signing_out_everywhere_else_leaves_this_session_alone(browser, reader):
    here, elsewhere = browser(reader), browser(reader)
    page = here.post("/account/sessions/end", follow=True).content.decode()
    assert "1 other session ended." in page
    assert here.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 302
