"""One owner per data folder."""

import os
from pathlib import Path

import pytest

from kb_platform.embedded.lock import FolderInUseError, FolderLock


def test_the_second_owner_is_refused_and_told_who_has_the_folder(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.take(command="manage.py up", has_workers=True)
    with pytest.raises(
        FolderInUseError, match=rf"process {os.getpid()} \(manage.py up\).*KB_DATA_DIR"
    ) as refused:
        second.take(command="manage.py ask", has_workers=False)
    assert refused.value.holder
    assert refused.value.holder.has_workers


def test_a_released_folder_can_be_taken_and_names_its_new_owner(tmp_path: Path) -> None:
    first, second, third = FolderLock(tmp_path), FolderLock(tmp_path), FolderLock(tmp_path)
    first.take(command="a command with a much longer name", has_workers=True)
    first.release()
    second.take(command="short", has_workers=False)
    with pytest.raises(FolderInUseError, match="short"):
        third.take(command="third", has_workers=False)


def test_a_lock_file_without_a_readable_owner_still_refuses(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    first.take(command="up", has_workers=True)
    (tmp_path / "lock").write_text("{")
    with pytest.raises(FolderInUseError, match="another process"):
        FolderLock(tmp_path).take(command="up", has_workers=True)


def test_the_data_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "below" / "data"
    FolderLock(folder).take(command="up", has_workers=True)
    assert folder.stat().st_mode & 0o777 == 0o700
