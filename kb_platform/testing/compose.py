"""docker-compose.yml and the Dockerfile as tests read them, and their commands run on this machine instead of in containers.

A command runs exactly as written, with the environment of its container; only names of hosts, ports and folders, which
a container has for itself, are translated to free ones of this machine.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\})")


def compose(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The compose file with its variables filled in from this environment (default: none is set)."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    return dict(_filled(yaml.safe_load(text), environment or {}))


def variables() -> set[str]:
    """Names of the variables that the compose file takes from .env."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    return {found["name"] for found in VARIABLE.finditer(text) if found["name"]}


def _filled(value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(part, environment) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, environment) for part in value]
    if not isinstance(value, str):
        return value
    return VARIABLE.sub(
        lambda found: "$" if found["dollar"] else environment.get(found["name"]) or found["rest"] or "", value
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction of the Dockerfile; stage: the name after AS of the stage it stands in."""

    stage: str
    name: str
    arguments: str


def dockerfile() -> list[Instruction]:
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    found, stage = [], ""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            if name == "FROM":
                stage = arguments.rpartition(" AS ")[2]
            found.append(Instruction(stage=stage, name=name, arguments=arguments.strip()))
    return found


def image_environment(stage: str) -> dict[str, str]:
    """What ENV of this stage of the Dockerfile sets."""
    pairs = [
        part.split("=", 1)
        for each in dockerfile()
        if (each.stage, each.name) == (stage, "ENV")
        for part in each.arguments.split()
    ]
    return dict(pairs)


@dataclass(slots=True, kw_only=True)
class Machine:
    """This machine in the place of a Docker host. translations: (what a container calls it, what it is here)."""

    services: Mapping[str, Any]
    ports: Mapping[str, str]
    translations: Sequence[tuple[str, str]]
    path: Sequence[Path] = ()
    started: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def here(self, text: str) -> str:
        for container, this in self.translations:
            text = re.sub(rf"{re.escape(container)}(?!\w)", this.replace("\\", r"\\"), text)
        return text

    def environment(self, service: str, **more: str) -> dict[str, str]:
        """Nothing of this process's own environment comes along but where programs are."""
        own = {key: str(value) for key, value in (self.services[service].get("environment") or {}).items()}
        image = image_environment("app") if "image" in self.services[service] else {}
        own = {key: self.here(value) for key, value in {**image, **own}.items()}
        here = [*map(str, self.path), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        return {**own, "PATH": os.pathsep.join(here), "HOME": "/nonexistent", **more}

    def run(self, service: str, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
        """As `docker compose run --rm SERVICE COMMAND` or `exec` would."""
        return subprocess.run(
            [self.here(part) for part in command],
            cwd=ROOT,
            env=self.environment(service, **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def start(self, service: str, log: Path, **popen: Any) -> None:
        """The service's own command, its output in a file."""
        command = [self.here(part) for part in self.services[service]["command"]]
        popen = {"env": self.environment(service), "cwd": ROOT, **popen}
        with log.open("w") as output:
            self.started[service] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                text=True,
                start_new_session=True,
                **popen,
            )

    def stop(self, service: str) -> int:
        """Its stop signal, then at most its grace period. Returns the exit code; raises if it is late."""
        settings, process = self.services[service], self.started[service]
        process.send_signal(signal.Signals[settings.get("stop_signal", "SIGTERM")])
        code = process.wait(float(settings.get("stop_grace_period", "10s").removesuffix("s")))
        del self.started[service]
        return code

    def kill(self) -> None:
        """End what a failed test left."""
        for process in self.started.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
