"""Sources made through the services, with the servers they lead to."""

import pytest

from accounts.models import User
from accounts.selectors import all_staff
from accounts.values import SystemActor
from kb_platform.net.guard import forget
from kb_platform.runtime_config.declarations import INTERNAL_HOSTS
from kb_platform.testing.http_server import http_server
from kb_platform.testing.search_server import dify
from retrieval.channels.external.values import SourceKind
from retrieval.sources.selectors import config_of
from retrieval.sources.services import SourceInput, create_source

SYSTEM = SystemActor(name="tests")
RECORDS = [
    {"content": "The torque of the PX-77 pump is 40 newton metres.", "score": 0.9, "title": "Torque of pumps",
     "metadata": {"team": "hr", "url": "https://wiki.example.com/1"}},
    {"content": "Pump oil is changed yearly.", "score": 0.6, "title": "Pump oil",
     "metadata": {"team": "it", "url": "javascript:alert(1)"}},
]  # fmt: skip


@pytest.fixture
def wiki():
    """A server with two records."""
    with http_server(dify("kb-1", RECORDS, key="a-key-for-tests-9f2c")) as server:
        yield server


@pytest.fixture
def make_source(db, configure):
    """`make_source(server, groups={pk: values})`: a stored source; without groups one for all staff."""
    made = []

    def make(server, *, groups=None, name="Wiki", **changes):
        for user in User.objects.all():
            user.groups.add(all_staff())
        configure(INTERNAL_HOSTS, getattr(server, "address", server))
        url = getattr(server, "url", f"http://{server}")
        wanted = SourceInput(
            name=name,
            kind=SourceKind.DIFY,
            options={"url": url, "knowledge_id": "kb-1"},
            secret="a-key-for-tests-9f2c",
            access={all_staff().pk: ()} if groups is None else groups,
            **({"try_ms": 8000, "total_ms": 8000, "tries": 1} | changes),
        )
        source = create_source(actor=SYSTEM, wanted=wanted)
        made.append(source)
        return source

    yield make
    for source in made:
        forget(config_of(source).target)
