"""The compose file and the Dockerfile, as far as they can be judged without running them."""

import fnmatch
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from kb_platform.testing.compose import ROOT, compose, dockerfile, image_environment, variables

SERVICE_FIELDS = {
    "build", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image", "init", "logging",
    "mem_limit", "networks", "ports", "restart", "secrets", "security_opt", "shm_size", "stop_grace_period",
    "stop_signal", "volumes",
}  # fmt: skip
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
OURS = {"prepare", "web", "worker", "embed", "beat"}
DURATION, SIZE = re.compile(r"(\d+(ms|s|m|h))+"), re.compile(r"\d+[bkmg]")


@pytest.fixture(scope="module")
def file():
    return compose()


@pytest.fixture(scope="module")
def services(file):
    return file["services"]


def test_only_fields_of_the_specification_are_used(file, services):
    assert {key for key in file if not key.startswith("x-")} == {
        "name", "services", "networks", "volumes", "secrets",
    }  # fmt: skip
    for name, service in services.items():
        assert set(service) <= SERVICE_FIELDS, name
        assert set(service.get("healthcheck", {})) <= {
            "test", "interval", "timeout", "retries", "start_period", "disable",
        }  # fmt: skip


def test_every_part_is_there_and_waits_for_what_it_needs(services):
    assert set(services) == OURS | {"postgres", "valkey", "nginx"}
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in services
            assert how["condition"] in CONDITIONS
            if how["condition"] == "service_healthy":
                has_probe = "test" in services[other].get("healthcheck", {}) or other == "web"
                assert has_probe, f"{name} waits for {other}, which is never healthy"
    for name in OURS - {"prepare"}:
        assert services[name]["depends_on"]["prepare"]["condition"] == "service_completed_successfully"
    assert services["prepare"]["restart"] == "no"


def test_whatever_is_referred_to_is_defined(file, services):
    for service in services.values():
        assert set(service["networks"]) <= set(file["networks"])
        assert set(service.get("secrets", ())) <= set(file["secrets"])
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in file["volumes"] or (ROOT / source).is_dir(), source


def test_every_part_is_limited_restarted_and_bounded_in_its_logs(services):
    for name, service in services.items():
        assert SIZE.fullmatch(service["mem_limit"]), name
        assert service["logging"]["options"]["max-size"]
        assert service["restart"] == ("no" if name == "prepare" else "unless-stopped")
        for duration in ("interval", "timeout", "start_period"):
            assert DURATION.fullmatch(service.get("healthcheck", {}).get(duration, "1s"))
        assert DURATION.fullmatch(service.get("stop_grace_period", "1s"))


def test_only_nginx_can_be_reached_and_by_default_from_this_machine_alone(file, services):
    assert [name for name, service in services.items() if "ports" in service] == ["nginx"]
    assert services["nginx"]["ports"] == ["127.0.0.1:8000:8080"]
    assert [name for name, service in services.items() if "outside" in service["networks"]] == ["nginx"]
    assert file["networks"]["inside"]["internal"] is True


def test_every_image_is_pinned(services):
    images = [service["image"] for service in services.values()]
    images += [each.arguments.split()[0] for each in dockerfile() if each.name == "FROM"]
    for image in images:
        assert re.search(r":v?\d+\.\d+", image), image


def test_every_variable_is_documented():
    documented = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert [name for name in variables() if f"{name}=" not in documented] == []
    ours = {
        name for service in compose()["services"].values() for name in service.get("environment", ())
    } | set(image_environment("app"))
    inside_only = {"PATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "HF_HUB_OFFLINE",
                   "POSTGRES_PASSWORD_FILE", "KB_DATABASE_PASSWORD_FILE"}  # fmt: skip
    missing = [name for name in ours - inside_only if f"{name.removesuffix('_FILE')}" not in documented]
    assert missing == []


def test_no_secret_is_written_down(file):
    for name, secret in file["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    assert subprocess.run(["git", "check-ignore", "-q", "secrets/x"], cwd=ROOT).returncode == 0
    written = yaml.safe_dump(file["services"])
    assert not re.search(r"(?i)password: [^'\n]", written), "passwords come from files"
    assert "://zhiku:" not in written


def test_every_command_exists(services):
    known = get_commands()
    for name in OURS:
        command = services[name]["command"]
        assert command[:2] == ["python", "manage.py"]
        assert known[command[2]] == "kb_platform"
        parser = load_command_class("kb_platform", command[2]).create_parser("manage.py", command[2])
        parser.parse_args(command[3:])


def copied_sources():
    for each in dockerfile():
        if each.name == "COPY" and "--from" not in each.arguments:
            yield from each.arguments.split()[:-1]


def test_what_the_image_copies_exists_and_is_not_left_out():
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = [rule[1:] for rule in rules if rule.startswith("!")]
    assert rules[1] == "*"
    for source in copied_sources():
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source.split("/")[0], rule) for rule in let_in), source
    assert sorted(let_in) == sorted({source.split("/")[0] for source in copied_sources()})


def test_the_image_has_a_user_of_its_own_and_everything_the_product_imports():
    app = [each for each in dockerfile() if each.stage == "app"]
    names = [each.name for each in app]
    assert app[names.index("USER")].arguments not in ("root", "0")
    assert names.index("USER") < names.index("CMD")
    assert "HEALTHCHECK" in names
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks"}
    assert packages | {"manage.py", "locale", "static", "templates"} <= set(copied_sources())


@pytest.mark.parametrize("pattern", ["**/tests", "**/*.mo", "**/__pycache__"])
def test_nothing_the_product_needs_is_called_like_what_is_left_out(pattern):
    assert pattern in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    imports = subprocess.run(
        ["git", "grep", "-nE", r"^\s*(from|import) [a-z_.]+\.tests\b", "--", "*.py", ":!*/tests/*", ":!conftest.py", ":!docs", ":!benchmarks"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert imports.stdout == ""


@pytest.mark.skipif(not shutil.which("bash"), reason="the image of PostgreSQL has bash")
def test_scripts_parse():
    for script in (ROOT / "kb_platform/deploy/postgres").glob("*.sh"):
        assert os.access(script, os.X_OK)
        subprocess.run(["bash", "-n", script], check=True)


def test_the_units_name_commands_that_exist():
    known = get_commands()
    for unit in (ROOT / "kb_platform/deploy/systemd").glob("*.service"):
        for command in re.findall(r"(?m)^Exec\w+=.*manage\.py (\w+)", unit.read_text()):
            assert command in known, unit
    assert len(list((ROOT / "kb_platform/deploy/systemd").glob("*.service"))) >= 1
    assert Path(ROOT / "docs/running.md").read_text(encoding="utf-8").count("kb_platform/deploy/systemd") >= 1
