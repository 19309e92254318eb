"""Programs see only the folders they are given."""

import subprocess
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
