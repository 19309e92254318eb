"""The proxy of the compose file, run by this machine's nginx with the configuration of its image."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kb_platform.testing.compose import ROOT, image_environment
from kb_platform.testing.site import free_port

MAIN = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    access_log {folder}/access.log;
    include {folder}/conf.d/*.conf;
}}
"""
PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


@contextmanager
def nginx(folder: Path, *, port: int = 0, **environment: str) -> Iterator[str]:
    """Its address while it runs. port: 0 for a free one; environment: over that of the image, fills the template;
    what else is in `conf.d` of the folder is used too."""
    port = port or free_port()
    variables = {**image_environment("proxy"), **environment}
    variables["KB_LISTEN"] = variables["KB_LISTEN"].replace("8080", f"127.0.0.1:{port}")
    template = (ROOT / "kb_platform/deploy/nginx/default.conf.template").read_text(encoding="utf-8")
    filled = re.sub(r"\$\{(KB_\w+)\}", lambda found: variables[found[1]], template)
    (folder / "conf.d").mkdir(exist_ok=True)
    (folder / "conf.d/default.conf").write_text(filled, encoding="utf-8")
    user = "user root;" if folder.owner() == "root" else ""
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder, user=user))
    assert PROGRAM, "nginx is not installed"
    with (folder / "error.log").open("w") as log:
        process = subprocess.Popen(
            [PROGRAM, "-c", folder / "nginx.conf"], stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        _wait(port, process, folder / "error.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        assert process.wait(10) == 0, (folder / "error.log").read_text()


def _wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nginx did not start: {log.read_text()}")
