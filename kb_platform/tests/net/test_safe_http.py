import gzip
import socket
import time

import pytest

from kb_platform.net import safe_http
from kb_platform.net.addresses import read_hosts
from kb_platform.net.errors import (
    AddressRefused,
    AnswerTooLarge,
    BadAnswer,
    BadStatus,
    Late,
    OutboundError,
    Unreachable,
)
from kb_platform.net.safe_http import Call, Door, Limits, joined, open_door, post_json
from kb_platform.runtime_config.declarations import INTERNAL_HOSTS
from kb_platform.testing.http_server import Reply, free_port, http_server, trickling_headers

FINE = Limits(total_s=10, max_bytes=10_000)  # also on a busy machine
QUICK = Limits(total_s=0.4, max_bytes=10_000)


def door_to(*servers):
    return Door(internal=read_hosts("\n".join(getattr(server, "address", str(server)) for server in servers)))


def test_an_allowed_server_is_called_by_its_own_name():
    with http_server(lambda request: Reply.json(request.json())) as server:
        call = post_json(
            f"{server.url}/path?x=1", {"question": "为什么"}, headers={"Authorization": "Bearer k"}
        )
        assert door_to(server).send(call, FINE).json() == {"question": "为什么"}
    [request] = server.received
    assert (request.method, request.path) == ("POST", "/path?x=1")
    assert request.headers["Host"] == server.address
    assert request.headers["Authorization"] == "Bearer k"
    assert request.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://2130706433:{port}/", "http://0x7f.1:{port}/",
     "http://0177.0.0.1:{port}/", "http://127.1:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "http://0:{port}/",
     "http://127.0.0.1.:{port}/", "http://①②⑦.0.0.1:{port}/"],
)  # fmt: skip
def test_inner_addresses_are_refused_in_every_spelling(url):
    with http_server(Reply()) as server:
        with pytest.raises(OutboundError):
            Door().send(Call(url=url.format(port=server.port)), FINE)
        assert server.received == []


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "gopher://127.0.0.1:70/", "ftp://example.com/", "data:text/plain,x", "//example.com/", "example.com",
     "", "http://", "http:///x", "http://user:key@example.com/", "http://a b/", "http://exa\nmple.com/", "http://[fe80::1%25eth0]/",
     "http://example.com:99999/", "http://exam\x00ple.com/", "http://" + "a" * 3000, "javascript:alert(1)"],
)  # fmt: skip
def test_only_plain_web_addresses_are_called(url):
    with pytest.raises(AddressRefused):
        Door().send(Call(url=url), FINE)


@pytest.mark.parametrize("port", [22, 25, 6379, 5432])
def test_a_public_host_is_called_on_web_ports(port, monkeypatch):
    monkeypatch.setattr(safe_http, "_resolve", lambda *_: ["93.184.216.34"])
    if port < 1024:
        with pytest.raises(AddressRefused):
            Door().checked("example.com", port)
    else:
        assert Door().checked("example.com", port).address == "93.184.216.34"


def test_one_inner_address_among_public_ones_refuses_the_name(monkeypatch):
    monkeypatch.setattr(safe_http, "_resolve", lambda *_: ["93.184.216.34", "10.0.0.1"])
    with pytest.raises(AddressRefused):
        Door().checked("example.com", 443)


def test_the_cloud_metadata_address_stays_closed_although_it_is_allowed():
    with pytest.raises(AddressRefused):
        door_to("169.254.169.254:80").checked("169.254.169.254", 80)


def test_the_name_is_looked_up_once_and_the_connection_goes_to_what_was_checked(monkeypatch):
    looked_up = []
    real = socket.getaddrinfo

    def rebinding(host, *rest, **named):
        if host in ("rebind.example.lan", b"rebind.example.lan"):
            looked_up.append(host)
            host = "127.0.0.1" if len(looked_up) == 1 else "127.0.0.99"
        return real(host, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with http_server(Reply.json({})) as server:
        door = door_to(f"rebind.example.lan:{server.port}")
        door.send(Call(url=f"http://rebind.example.lan:{server.port}/"), FINE)
    assert looked_up == ["rebind.example.lan"]
    assert server.received[0].headers["Host"] == f"rebind.example.lan:{server.port}"


def test_a_redirect_to_an_address_that_is_not_allowed_is_refused():
    with http_server(Reply.json({"secret": 1})) as inner:
        away = Reply(status=302, headers={"Location": f"{inner.url}/admin"})
        with http_server(away) as outer, pytest.raises(AddressRefused):
            door_to(outer).send(Call(url=outer.url), FINE)
        assert inner.received == []


def test_a_redirect_within_the_allowed_is_followed_without_the_key():
    with http_server(Reply.json({"found": 1})) as second:
        away = Reply(status=307, headers={"Location": f"{second.url}/there"})
        with http_server(away) as first:
            call = post_json(first.url, {"q": 1}, headers={"Authorization": "Bearer k"})
            assert door_to(first, second).send(call, FINE).json() == {"found": 1}
    [request] = second.received
    assert request.json() == {"q": 1}
    assert "Authorization" not in request.headers


def test_a_post_never_becomes_a_get_and_circles_end():
    with http_server(Reply(status=302, headers={"Location": "/again"})) as server:
        with pytest.raises(BadStatus):
            door_to(server).send(post_json(server.url, {}), QUICK)
        assert len(server.received) == 1
        with pytest.raises(BadStatus):
            door_to(server).send(Call(url=server.url), Limits(total_s=10, max_redirects=3))
        assert len(server.received) == 5


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_of_the_server_is_told_without_what_it_says(status):
    with (
        http_server(Reply(status=status, body=b"internal secret")) as server,
        pytest.raises(BadStatus) as caught,
    ):
        door_to(server).send(Call(url=server.url), FINE)
    assert str(status) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.is_retryable == (status in (429, 500, 503))


def test_a_closed_port_and_an_unknown_name_are_unreachable():
    port = free_port()
    for host in ("127.0.0.1", "no-such-host.invalid"):
        with pytest.raises(Unreachable):
            door_to(f"{host}:{port}").send(Call(url=f"http://{host}:{port}/"), Limits(total_s=10))


@pytest.mark.parametrize("reply", [Reply(wait_s=9), Reply(body=b"x" * 100, byte_pause_s=0.1)])
def test_time_is_capped_to_the_last_byte(reply):
    with http_server(reply) as server:
        begun = time.monotonic()
        with pytest.raises(Late):
            door_to(server).send(Call(url=server.url), QUICK)
        assert time.monotonic() - begun < 3.0


def test_a_header_that_never_ends_is_late():
    with trickling_headers() as port:
        begun = time.monotonic()
        with pytest.raises(OutboundError):
            door_to(f"127.0.0.1:{port}").send(Call(url=f"http://127.0.0.1:{port}/"), QUICK)
        assert time.monotonic() - begun < 3.0


def test_a_slow_resolver_is_late(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_n: time.sleep(0.5))
    with pytest.raises(Late):
        Door().checked("example.com", 443, timeout_s=0.05)


def test_size_is_capped_declared_or_not():
    large = b"x" * 20_000
    with http_server(Reply(body=large)) as server, pytest.raises(AnswerTooLarge):
        door_to(server).send(Call(url=server.url), FINE)
    lying = Reply(body=large, headers={"Content-Length": "", "Transfer-Encoding": "identity"})
    with http_server(lying) as server, pytest.raises(OutboundError):
        door_to(server).send(Call(url=server.url), FINE)


def test_a_packed_answer_is_not_unpacked():
    packed = Reply(body=gzip.compress(b"0" * 1_000_000), headers={"Content-Encoding": "gzip"})
    with http_server(packed) as server, pytest.raises(BadAnswer):
        door_to(server).send(Call(url=server.url), FINE)


@pytest.mark.parametrize(
    "body", [b"<html>", b"", b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000, b'{"a": Infinity}']
)
def test_what_is_no_json_is_a_bad_answer(body):
    with http_server(Reply(body=body)) as server, pytest.raises(BadAnswer):
        door_to(server).send(Call(url=server.url), Limits(total_s=10)).json()


def test_a_key_cannot_add_header_lines():
    with http_server(Reply.json({})) as server:
        for key in ("k\r\nX-Evil: 1", "k\x00", "密钥"):
            with pytest.raises(OutboundError):
                door_to(server).send(Call(url=server.url, headers={"Authorization": key}), FINE)
        assert server.received == []


@pytest.mark.django_db
def test_the_door_opens_to_what_an_administrator_allowed(configure):
    assert not open_door().internal.allowed
    configure(INTERNAL_HOSTS, "search.example.lan:9200")
    assert open_door().internal.permit("search.example.lan", 9200)


def test_a_path_is_added_to_the_address():
    assert joined("http://h:1/base/", "v1/rerank") == "http://h:1/base/v1/rerank"
