"""A file is replaced as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpsumm.basics.atomic import write_atomically
from dpsumm.errors import InvalidParameterError


def put(text: str):  # type: ignore[no-untyped-def]
    return lambda path: path.write_text(text) and None


def test_new_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert write_atomically(str(path), put("new")) == path
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_readers_see_the_old_contents_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(temporary: Path) -> None:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"

    write_atomically(path, write)
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_failure_keeps_the_old_file_and_leaves_no_other(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        raise error

    with pytest.raises(error):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_missing_directory_and_directory_as_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match=r"does not exist. Create it"):
        write_atomically(tmp_path / "none" / "a.txt", put(""))
    with pytest.raises(InvalidParameterError, match="is a directory"):
        write_atomically(tmp_path, put(""))


def test_permissions_of_the_replaced_file_and_links_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link.txt"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, put("new"))
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_is_its_users_alone(tmp_path: Path) -> None:
    old = os.umask(0o002)
    try:
        write_atomically(tmp_path / "a.txt", put(""))
    finally:
        os.umask(old)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o600
