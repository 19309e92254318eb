import pytest

from kb_platform.models import AuditEntry, ConfigValue
from kb_platform.net.errors import AddressRefused
from kb_platform.runtime_config import declarations as declared
from kb_platform.runtime_config import services, store
from kb_platform.testing.http_server import http_server
from kb_platform.testing.rerank_server import KEY, reranking
from retrieval.reranking.configured import NotConfigured, is_chosen, reranker

pytestmark = pytest.mark.django_db


@pytest.fixture
def fake():
    with http_server(reranking) as server:
        yield server


@pytest.fixture
def chosen(configure, fake):
    configure(declared.RERANKER, "jina")
    configure(declared.RERANKER_URL, fake.url)
    configure(declared.INTERNAL_HOSTS, fake.address)


def test_none_is_chosen_at_first():
    assert not is_chosen()
    assert reranker() is None


def test_a_server_of_the_inner_network_must_be_allowed(chosen, configure, fake):
    assert reranker().scores("pump check", ["no", "pump check"]) == [0.0, 1.0]
    configure(declared.INTERNAL_HOSTS, "")
    with pytest.raises(AddressRefused):
        reranker().scores("q", ["a"])
    assert len(fake.received) == 1


def test_what_is_missing_is_said(configure):
    for kind in ("tei", "local"):
        configure(declared.RERANKER, kind)
        with pytest.raises(NotConfigured):
            reranker()


def save(client, **typed):
    page = client.get("/system/settings/models").content.decode()
    form = {f"seen.models.{name}": '""' for name in typed}
    assert 'name="seen.models.reranker_key" value="&quot;&quot;"' in page
    return client.post(
        "/system/settings/models", form | {f"models.{name}": value for name, value in typed.items()}
    )


def test_the_key_is_written_and_never_shown(chosen, administrator, browser, fake):
    client = browser(administrator)
    assert save(client, reranker_key=KEY).status_code == 302
    assert save(client, reranker_key="another-long-key-9f2c").status_code == 302
    assert save(client, reranker_key=KEY).status_code == 302
    assert save(client, reranker_key="").status_code == 302  # empty keeps it
    reranker().scores("q", ["a"])
    assert fake.received[-1].headers["Authorization"] == f"Bearer {KEY}"
    page = client.get("/system/settings/models").content.decode()
    stored = store.get(declared.RERANKER_KEY)
    assert "Set, ends in ests" in page
    assert KEY not in page
    assert stored not in page
    assert KEY not in str(list(ConfigValue.objects.values_list("value", "previous")))
    assert stored not in services.export_text()
    assert KEY not in services.export_text()
    audited = str(list(AuditEntry.objects.filter(action="setting.changed").values_list("detail")))
    assert KEY not in audited
    assert stored not in audited
    assert "models.reranker_key" not in services.read_import(b"{}")


def test_a_key_that_no_header_can_carry_is_refused(administrator, browser):
    response = save(browser(administrator), reranker_key="密钥")
    assert response.status_code == 400
    assert "密钥" not in response.content.decode()


def test_trying_it_says_what_it_got(chosen, administrator, browser, configure, fake):
    client = browser(administrator)
    form = {"question": "pump check", "passages": "about lunch\nthe pump check\n"}
    page = client.post("/system/settings/models/try", form).content.decode()
    assert "1.0000" in page
    assert page.index("1.0000") < page.index("0.0000")
    configure(declared.RERANKER_URL, f"{fake.url}/wrong")
    assert "status 422" in client.post("/system/settings/models/try", form).content.decode()
    configure(declared.RERANKER, "none")
    assert "No reranker is chosen" in client.post("/system/settings/models/try", form).content.decode()
    configure(declared.RERANKER, "tei")
    for hostile in ({"question": "\x00", "passages": "a"}, {"question": "x" * 9_000}, {}):
        assert client.post("/system/settings/models/try", hostile).status_code == 200
