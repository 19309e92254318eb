"""The registry of routes, held against what every kind of caller gets. New routes are covered by being routes.

An app with OBJECT routes offers `<app>/tests/hidden_objects.py` with `HIDDEN`: the segment of the path before the first
parameter (`documents` of `api/v1/documents/<str:uid>/file`) -> factory that makes such a thing, which nobody but its
maker may see, and returns its id.
"""

import re
import uuid
from importlib import import_module
from importlib.util import find_spec

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import path

from kb_platform.checks import every_route_has_a_policy
from kb_platform.errors import NotAllowed, NotAuthenticated
from kb_platform.middleware import PolicyMiddleware
from kb_platform.policies import Access, Policy, enforce, policy, routes

ALL = [route for route in routes() if not route.pattern.startswith("static")]
OPEN_TO_ANYBODY = {"healthz", "readyz", "set_language", "sign_in", "sign_out", "first_start", "new_password"}
PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>")
SCOPES = ("search", "ask", "ingest", "admin")
METHODS = ("get", "post", "put", "patch", "delete")
SAMPLES = {"str": "1", "int": "1", "uuid": str(uuid.uuid4()), "slug": "x", "path": "x"}

pytestmark = pytest.mark.django_db


def of(access):
    return [pytest.param(route, id=route.pattern) for route in ALL if route.policy.access is access]


GUARDED = [route for route in ALL if route.policy.access is not Access.PUBLIC]


def url(route, thing=None):
    """The path of a route; `thing` fills its first parameter, samples the others."""
    left = [thing] if thing else []

    def fill(found):
        return left.pop() if left else SAMPLES[found[1] or "str"]

    return "/" + PARAMETER.sub(fill, route.pattern)


def resource_of(route):
    return route.pattern.partition("<")[0].rstrip("/").rpartition("/")[2]


def is_for_programs(route):
    return route.pattern.startswith(("api/", "metrics"))


def hidden_objects():
    found = {}
    for app in settings.INSTALLED_APPS:
        name = f"{app}.tests.hidden_objects"
        if "." not in app and find_spec(f"{app}.tests") and find_spec(name):
            found |= import_module(name).HIDDEN
    return found


def missing_like(thing):
    """An id of the same shape that names nothing."""
    if thing.isdecimal():
        return "999999999"
    return uuid.uuid4().hex if len(thing) == 32 else str(uuid.uuid4())


def without_trace(response):
    """Status, headers and body, less what differs between any two requests or merely echoes the address."""
    body = response.content.decode()
    body = re.sub(r"\b[0-9a-f]{32}\b", "TRACE", body)
    body = re.sub(r'name="(csrfmiddlewaretoken|next)" value="[^"]*"', "", body)
    headers = {
        name: value
        for name, value in response.headers.items()
        if name not in ("X-Trace-Id", "Content-Length", "Set-Cookie")
    }
    return response.status_code, headers, body


def test_every_route_declares_a_policy():
    assert every_route_has_a_policy(None) == []


def test_what_is_open_to_anybody_is_a_short_list():
    public = {route.name for route in ALL if route.policy.access is Access.PUBLIC}
    assert public <= OPEN_TO_ANYBODY


@pytest.mark.parametrize("method", ["get", "post"])
def test_anonymous_is_refused(method, subtests):
    for route in GUARDED:
        with subtests.test(route.pattern):
            response = getattr(Client(), method)(url(route))
            if is_for_programs(route):
                assert response.status_code == 401
                assert response.json()["error"]["code"] == "not_authenticated"
                assert response["WWW-Authenticate"].startswith("Bearer")
            else:
                assert response.status_code == 302
                assert response["Location"].startswith("/login?next=")


@pytest.mark.parametrize(
    "credentials", ["Bearer", "Bearer x", "Bearer kb_0_0", "Basic YTpi", "Bearer \x00", ""]
)
def test_garbage_credentials_are_refused(credentials, subtests):
    for route in filter(is_for_programs, GUARDED):
        with subtests.test(route.pattern):
            assert Client(headers={"Authorization": credentials}).get(url(route)).status_code == 401


@pytest.mark.parametrize("method", ["get", "post"])
def test_administrator_routes_refuse_everybody_else(method, outsider, api, browser, subtests):
    for route in (route for route in ALL if route.policy.access is Access.ADMINISTRATOR):
        with subtests.test(route.pattern):
            client = api(outsider) if is_for_programs(route) and route.policy.scopes else browser(outsider)
            assert getattr(client, method)(url(route)).status_code == 403


def test_a_token_without_the_scope_is_refused(administrator, api, subtests):
    for route in GUARDED:
        with subtests.test(route.pattern):
            for method, wanted in (("get", route.policy.scopes), ("post", route.policy.write_scopes)):
                lacking = tuple(scope for scope in SCOPES if scope not in wanted)
                if lacking:
                    client = api(administrator, scopes=lacking)
                    assert getattr(client, method)(url(route)).status_code == 403


@pytest.mark.parametrize("route", of(Access.OBJECT))
def test_a_stranger_cannot_tell_a_hidden_thing_from_a_missing_one(route, outsider, api, browser):
    factories, resource = hidden_objects(), resource_of(route)
    assert resource in factories, f"no hidden object for {resource!r}: add it to tests/hidden_objects.py"
    thing = factories[resource]()
    client = api(outsider) if is_for_programs(route) and route.policy.scopes else browser(outsider)
    answers = {}
    for method in METHODS:
        hidden = getattr(client, method)(url(route, thing))
        absent = getattr(client, method)(url(route, missing_like(thing)))
        assert without_trace(hidden) == without_trace(absent), method
        answers[method] = hidden.status_code
    refused = {method: status for method, status in answers.items() if status != 405}
    assert refused
    assert set(refused.values()) == {404}, refused


def test_a_session_changes_nothing_without_its_csrf_token(administrator, subtests):
    client = Client(enforce_csrf_checks=True)
    client.force_login(administrator)
    for route in ALL:
        with subtests.test(route.pattern):
            response = client.post(url(route))
            assert response.status_code == 403
            if route.pattern.startswith("api/v1/"):
                assert "error" in response.json()


def test_an_inactive_account_is_nobody(outsider, browser, subtests):
    type(outsider).objects.filter(pk=outsider.pk).update(is_active=False)
    for route in GUARDED:
        with subtests.test(route.pattern):
            response = browser(outsider).get(url(route))
            assert response.status_code == (401 if is_for_programs(route) else 302)


def test_the_gate_refuses_a_view_without_a_policy():
    def forgetful(request):
        return HttpResponse("secret")

    gate = PolicyMiddleware(lambda request: HttpResponse())
    refusal = gate.process_view(RequestFactory().get("/api/x"), forgetful, (), {})
    assert refusal is not None
    assert refusal.status_code == 403


def test_the_check_names_a_route_without_a_policy(settings, monkeypatch):
    module = type("urls", (), {"urlpatterns": [path("forgotten", lambda request: HttpResponse())]})
    settings.ROOT_URLCONF = module
    assert [problem.id for problem in every_route_has_a_policy(None)] == ["kb.E001"]


class _Caller:
    def __init__(self, administrator=False, scopes=None):
        self.is_administrator = administrator
        self.token = None if scopes is None else type("Limits", (), {"scopes": frozenset(scopes)})()


def declared(access, **more):
    @policy(access, **more)
    def view():
        pass

    return view.policy


def test_reading_and_writing_may_need_different_scopes():
    rule = declared(Access.SIGNED_IN, scope=("search", "ask"), write_scope="ingest")
    enforce(rule, _Caller(scopes=["ask"]), "GET")
    enforce(rule, _Caller(scopes=["ingest"]), "POST")
    with pytest.raises(NotAllowed):
        enforce(rule, _Caller(scopes=["ask"]), "POST")
    with pytest.raises(NotAllowed):
        enforce(rule, _Caller(scopes=["ingest"]), "GET")


def test_a_route_without_scopes_is_closed_to_tokens_even_of_administrators():
    with pytest.raises(NotAllowed):
        enforce(declared(Access.SIGNED_IN), _Caller(administrator=True, scopes=["admin"]), "GET")


def test_nobody_passes_only_what_is_public():
    enforce(Policy(access=Access.PUBLIC), None, "POST")
    for access in (Access.SIGNED_IN, Access.OBJECT, Access.ADMINISTRATOR):
        with pytest.raises(NotAuthenticated):
            enforce(Policy(access=access), None, "GET")


def test_a_fragment_whose_session_ended_leads_back_to_its_page(client):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/manage/documents?state=live"}
    response = client.get("/manage/documents/processing?seen=1", headers=headers)
    assert response["HX-Redirect"] == "/login?next=/manage/documents%3Fstate%3Dlive"
