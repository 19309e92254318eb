"""Programs see only the folders they are given."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ingestion.parsing.confinement import CannotConfine, confinement

SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache")


def test_a_confined_program_reaches_its_folders_and_no_other_file(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "secret.txt"
    inside.mkdir()
    outside.write_text("secret")
    try:
        confine = confinement(read=SYSTEM, write=(str(inside),))
    except CannotConfine:
        pytest.skip("this machine has no Landlock")
    script = f"echo mine > {inside}/a; cat {inside}/a; cat {outside}; echo x > {tmp_path}/b; ls {tmp_path}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, preexec_fn=confine)
    assert done.stdout == "mine\n"
    assert done.stderr.count("Permission denied") == 3
    assert not (tmp_path / "b").exists()


def test_a_confined_program_reaches_no_network(tmp_path: Path) -> None:
    try:
        confine = confinement(read=("/",), write=(str(tmp_path),))
    except CannotConfine:
        pytest.skip("this machine has no Landlock")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        command = [sys.executable, "-I", "-S", "-c", script]
        assert subprocess.run(command, capture_output=True).returncode == 0
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=confine)
    if done.returncode == 0:
        pytest.skip("this Landlock knows nothing of networks")
    assert "PermissionError" in done.stderr
