"""Files that are there as a whole or not at all, and one writer at a time."""

import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from giskard.checks.utils.files import locked, write_atomically


def test_what_is_written_is_there_as_a_whole(tmp_path):
    path = tmp_path / "a" / "b.txt"

    assert write_atomically(path, "é\r\n\ud800") == path
    assert path.read_bytes() == b"\xc3\xa9\r\n\\ud800"
    assert os.listdir(path.parent) == ["b.txt"]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)

    def fails(*_):
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, "new")
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["a.txt"])

    monkeypatch.undo()
    write_atomically(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_atomically(tmp_path, "x")


def test_of_many_threads_one_has_the_lock(tmp_path):
    path, inside = tmp_path / "x", []

    def work(_):
        with locked(path):
            inside.append(1)
            alone = len(inside) == 1
            inside.pop()
        return alone

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(500)))
    assert os.listdir(tmp_path) == []


def test_nothing_is_left_of_a_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with locked("x"):
        assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_two_names_of_a_file_have_one_lock_and_two_files_have_two(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "x")
    got = threading.Event()

    def work():
        with locked(tmp_path / "link"):
            got.set()

    thread = threading.Thread(target=work)
    with locked(tmp_path / "x"), locked(tmp_path / "y"):
        thread.start()
        assert not got.wait(0.05)
    thread.join()
    assert got.is_set()


def test_who_crashes_lets_go(tmp_path):
    code = (
        "import sys\nfrom giskard.checks.utils.files import locked\n"
        "with locked(sys.argv[1]):\n    print('has it', flush=True)\n    input()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "x")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"has it\n"
    process.kill()
    process.communicate()

    with locked(tmp_path / "x"):
        pass
