import pytest

from kb_platform.inference.rerank import RerankServer, RerankShape, logistic
from kb_platform.net.addresses import read_hosts
from kb_platform.net.errors import BadAnswer, BadStatus, Late, OutboundError, Unreachable
from kb_platform.net.guard import Bounds
from kb_platform.net.safe_http import Door
from kb_platform.testing.http_server import Reply, free_port, http_server
from kb_platform.testing.rerank_server import KEY, reranking

pytestmark = pytest.mark.usefixtures("services")
TEXTS = ["about the weather", "the torque of the pump", "pump"]


def server_at(fake, shape="tei", **more):
    given = {
        "url": fake.url,
        "key": KEY,
        "model": "m",
        "bounds": Bounds(try_s=10, total_s=10, tries=1),
    } | more
    return RerankServer(shape=RerankShape(shape), door=Door(internal=read_hosts(fake.address)), **given)


@pytest.mark.parametrize(
    ("shape", "path"), [("tei", "/rerank"), ("cohere", "/v2/rerank"), ("jina", "/v1/rerank")]
)
def test_each_shape_gives_the_scores_in_the_order_of_the_texts(shape, path):
    with http_server(reranking) as fake:
        assert server_at(fake, shape).scores("pump torque", TEXTS) == [0.0, 1.0, 0.5]
    [request] = fake.received
    assert request.path == path
    assert request.headers["Authorization"] == f"Bearer {KEY}"


def test_the_whole_address_or_its_version_may_be_given():
    with http_server(reranking) as fake:
        for url in (f"{fake.url}/v1/rerank", f"{fake.url}/v1", f"{fake.url}/"):
            assert server_at(fake, "jina", url=url).scores("pump", ["pump"]) == [1.0]
    assert {request.path for request in fake.received} == {"/v1/rerank"}


def test_raw_logits_are_brought_to_probabilities():
    rows = [{"index": 0, "score": -3.0}, {"index": 1, "score": 4.0}]
    with http_server(Reply.json(rows)) as fake:
        scores = server_at(fake).scores("q", ["a", "b"])
    assert scores == [logistic(-3.0), logistic(4.0)]
    assert 0 < scores[0] < scores[1] < 1


@pytest.mark.parametrize(
    "body",
    [b"<html>gateway</html>", b"{}", b"[]", b'{"results": []}', b'[{"index": 0}]', b'[{"index": 0, "score": "0.9"}]',
     b'[{"index": 0, "score": NaN}]', b'[{"index": 0, "score": 1e999}]', b'[{"index": 5, "score": 0.5}]',
     b'[{"index": true, "score": 0.5}]', b'[{"index": 0, "score": 0.5}, {"index": 0, "score": 0.4}]',
     b'[{"index": 0, "score": null}]', b"[0.5]", b'"x"'],
)  # fmt: skip
def test_an_answer_that_is_not_a_score_for_each_text_is_refused(body):
    with http_server(Reply(body=body)) as fake, pytest.raises(BadAnswer):
        server_at(fake).scores("q", ["a"])


def test_faults_of_the_server_have_names():
    with http_server(reranking) as fake, pytest.raises(BadStatus, match="401"):
        server_at(fake, key="wrong").scores("q", ["a"])
    with http_server(Reply(wait_s=5)) as fake, pytest.raises(Late):
        server_at(fake, bounds=Bounds(try_s=0.2, total_s=0.2)).scores("q", ["a"])
    gone = RerankServer(
        shape=RerankShape.TEI, url=f"http://127.0.0.1:{(port := free_port())}",
        door=Door(internal=read_hosts(f"127.0.0.1:{port}")),
    )  # fmt: skip
    with pytest.raises(Unreachable):
        gone.scores("q", ["a"])
    with http_server(Reply(body=b"x" * 2_000_000)) as fake, pytest.raises(OutboundError):
        server_at(fake).scores("q", ["a"])


def test_nothing_to_score_calls_nobody():
    with http_server(reranking) as fake:
        assert server_at(fake).scores("q", []) == []
    assert fake.received == []


def test_the_key_is_in_no_printed_form():
    with http_server(reranking) as fake:
        assert KEY not in repr(server_at(fake))
        assert KEY not in server_at(fake).target
