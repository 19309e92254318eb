"""The proxy's configuration in a real nginx, before a web server that tells what reached it."""

import gzip
import http.client
import json
import re
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from kb_platform.testing.compose import ROOT
from kb_platform.testing.nginx import nginx
from kb_platform.testing.site import free_port

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("needs_nginx")]
HASHED = "kb.0123456789ab.css"


class Upstream(BaseHTTPRequestHandler):
    """Echoes the request as JSON; /stream sends its second event only when `went_on` is set."""

    protocol_version = "HTTP/1.1"
    went_on = threading.Event()

    def do_GET(self):
        if self.path == "/stream":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("X-Accel-Buffering", "no")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"event: stage\n\n")
            self.wfile.flush()
            self.went_on.wait(10)
            self.wfile.write(b"event: done\n\n")
            self.close_connection = True
            return
        self.answer(0)

    def do_POST(self):
        self.answer(len(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, received):
        told = {"path": self.path, "received": received, **{k.lower(): v for k, v in self.headers.items()}}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def upstream():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def proxy(tmp_path, upstream):
    static = tmp_path / "static"
    static.mkdir()
    (static / HASHED).write_text("body{}")
    (static / f"{HASHED}.gz").write_bytes(gzip.compress(b"body{}"))
    (static / "app.mjs").write_text("export {}")
    (static / "staticfiles.json").write_text("{}")
    with nginx(tmp_path, KB_WEB=upstream, KB_STATIC_ROOT=str(tmp_path), KB_MAX_UPLOAD_MB="2") as address:
        yield urlsplit(address).netloc


def ask(proxy, path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection(proxy, timeout=10)
    connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
    return connection.getresponse()


def test_an_event_arrives_before_the_next_is_made(proxy):
    Upstream.went_on.clear()
    stream = ask(proxy, "/stream")
    assert stream.readline() == b"event: stage\n"
    Upstream.went_on.set()
    assert stream.read() == b"\nevent: done\n\n"


def test_the_web_server_learns_who_asks_and_no_stranger_decides_that(proxy):
    told = json.load(ask(proxy, "/a%2Fb?q=%E7%9F%A5", Host="kb.example.com:8000", X_Forwarded_For="6.6.6.6"))
    assert told["path"] == "/a%2Fb?q=%E7%9F%A5"
    assert told["host"] == "kb.example.com:8000"
    assert told["x-forwarded-for"] == "127.0.0.1"
    assert told["x-forwarded-proto"] == "http"
    assert json.load(ask(proxy, "/", X_Forwarded_Proto="https"))["x-forwarded-proto"] == "https"
    assert json.load(ask(proxy, "/", X_Forwarded_Proto="evil"))["x-forwarded-proto"] == "http"


def test_uploads_pass_up_to_the_limit_and_above_it_are_told_so(proxy):
    assert json.load(ask(proxy, "/up", "POST", b"x" * 2_000_000))["received"] == 2_000_000
    refused = ask(proxy, "/up", "POST", b"x" * 2_200_000)
    said = refused.read().decode()
    assert refused.status == 413
    assert "2 MB" in said
    assert "不能超过" in said


def test_measurements_are_not_public(proxy):
    for path in ("/metrics", "//metrics", "/%6detrics", "/static/../metrics", "/metrics?x=1"):
        assert ask(proxy, path).status == 404, path


def test_static_files_come_compressed_and_hashed_ones_stay_for_a_year(proxy):
    hashed = ask(proxy, f"/static/{HASHED}", Accept_Encoding="gzip")
    assert hashed.headers["Content-Type"] == "text/css"
    assert hashed.headers["Content-Encoding"] == "gzip"
    assert hashed.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    plain = ask(proxy, "/static/app.mjs")
    assert plain.headers["Content-Type"] == "text/javascript"
    assert plain.headers["Cache-Control"] == "public, max-age=300"
    assert plain.headers["X-Content-Type-Options"] == "nosniff"
    assert ask(proxy, "/static/staticfiles.json").status == 404
    assert ask(proxy, "/static/missing.css").status == 404


def test_the_documented_way_to_https_works(tmp_path, upstream):
    (block,) = re.findall(r"(?s)```nginx\n(.*?)```", (ROOT / "docs/running.md").read_text(encoding="utf-8"))
    listen = re.search(r'KB_LISTEN: "8443( ssl)"', (ROOT / "docs/running.md").read_text(encoding="utf-8"))
    plain = free_port()
    tls = tmp_path / "tls"
    tls.mkdir()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-keyout", tls / "privkey.pem", "-out", tls / "fullchain.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d/a-tls.conf").write_text(
        block.replace("/etc/nginx/tls", str(tls)).replace("8080", f"127.0.0.1:{plain}")
    )
    trusting = ssl.create_default_context(cafile=str(tls / "fullchain.pem"))
    with nginx(tmp_path, KB_WEB=upstream, KB_LISTEN=f"8080{listen[1]}") as address:
        connection = http.client.HTTPSConnection("localhost", urlsplit(address).port, context=trusting)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert json.load(answer)["x-forwarded-proto"] == "https"
        assert answer.headers["Strict-Transport-Security"]
        moved = ask(f"127.0.0.1:{plain}", "/x", Host="kb.example.com")
        assert (moved.status, moved.headers["Location"]) == (301, "https://kb.example.com/x")
