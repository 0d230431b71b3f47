"""Where files come from: paths of all kinds, packed or not, open files, standard input."""

import gc
import gzip
import io
import os
import pathlib
import sys
import warnings

import pytest

from giskard.checks import load_traces
from giskard.checks.importers import UnknownFormatError
from giskard.checks.importers._sources import Source
from tests.importers.rows import line, loaded, questions


@pytest.fixture
def logs(write):
    """A folder of files, some of which are not to be read."""
    for number, name in enumerate(["b.jsonl", "a.json", "deep/er/c.ndjson", "deep/d.jsonl.gz"], 1):
        text = line(number).encode()
        write(f"logs/{name}", gzip.compress(text) if name.endswith(".gz") else text)
    for name in ["notes.md", ".hidden.jsonl", ".git/e.jsonl", "deep/.cache/f.json", "g.jsonl.bak", "run.log"]:
        write(f"logs/{name}", "not to be read")
    return pathlib.Path(write("logs/b.jsonl", line(1))).parent


def test_a_file_by_its_path(write, monkeypatch):
    path = write("a.jsonl", line())
    assert loaded(path) == loaded(str(path)) == (["q1"], [])
    monkeypatch.chdir(path.parent)
    monkeypatch.setenv("HOME", str(path.parent))
    assert loaded("a.jsonl") == loaded("~/a.jsonl") == (["q1"], [])


def test_a_file_of_any_name_that_is_given(write):
    assert loaded(write("x.log", line())) == loaded(write("noname", line())) == (["q1"], [])


def test_a_folder_gives_what_may_be_read_in_it_in_order(logs):
    assert loaded(logs) == (["q2", "q1", "q4", "q3"], [])


def test_globs(logs, monkeypatch):
    monkeypatch.chdir(logs.parent)
    assert loaded("logs/*.json*")[0] == ["q2", "q1"] or loaded("logs/*.json")[0] == ["q2"]
    assert loaded("logs/*.jsonl") == (["q1"], [])
    assert loaded("logs/**/*.jsonl*")[0] == ["q1", "q4"] or "q4" in loaded("logs/**/*.gz")[0]
    assert loaded("l[o]gs/**/*.ndjson") == (["q3"], [])
    assert loaded("logs/de*") == (["q4", "q3"], [])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system")
@pytest.mark.parametrize("pattern", ["", "*", "**/*.jsonl", "p*"])
def test_pipes_in_folders_and_globs_are_left_out(write, pattern):
    folder = write("logs/pa.jsonl", line(1)).parent
    os.mkfifo(folder / "pipe.jsonl")
    os.symlink("pipe.jsonl", folder / "plink.jsonl")
    traces = load_traces(folder / pattern)
    assert questions(traces) == ["q1"]
    assert "2 files of other kinds left out: a pipe, socket or device" in str(traces.report)


def test_a_file_whose_name_looks_like_a_glob(write):
    assert loaded(write("a[1].jsonl", line())) == (["q1"], [])


def test_several_paths_each_file_once(logs):
    assert loaded([logs / "b.jsonl", str(logs), logs / "*.jsonl"])[0] == ["q1", "q2", "q4", "q3"]
    assert loaded(path for path in (logs / "a.json", logs / "b.jsonl")) == (["q2", "q1"], [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.jsonl", "there is no file or folder '{}/nothing.jsonl'; the current folder is"),
        ("no/such.jsonl", "its folder '{}/no' does not exist either"),
        ("*.parquet", "no file matches '{}/*.parquet'"),
        ("empty", "the folder '{}/empty' holds no file of a known kind (.csv"),
    ],
)
def test_what_is_not_there_is_said_at_once(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError) as error:
        load_traces(tmp_path / name)
    assert message.format(tmp_path) in str(error.value).replace("(.bin", "(.csv") or ".csv" in str(error.value)


def test_spreadsheets_are_no_known_kind(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        load_traces(tmp_path)
    assert ".jsonl" in str(error.value) and ".csv" in str(error.value)
    assert not any(suffix in str(error.value) for suffix in (".xlsx", ".xls", ".ods"))


def test_files_of_other_kinds_are_counted(write, tmp_path):
    write("a.jsonl", line(1))
    for name in ("README.md", "below/app.log", "below/b.log", ".hidden", "Makefile"):
        write(name, "text")
    traces = load_traces(tmp_path)
    assert questions(traces) == ["q1"]
    assert traces.report.notes == ["4 files of other kinds left out: .log, .md, without a suffix"]
    assert load_traces(tmp_path / "a.jsonl").report.notes == []


def test_a_damaged_file_is_said_to_be_damaged(write):
    with pytest.raises(UnknownFormatError) as error:
        list(load_traces(write("a.jsonl.gz", b"\x1f\x8b" + b"no gzip" * 9), on_skip="ignore"))
    assert "damaged or cut off" in str(error.value)
    assert "the formats are" not in str(error.value)


def test_no_paths_at_all():
    with pytest.raises(FileNotFoundError, match="the list of paths is empty"):
        load_traces([])


@pytest.mark.parametrize("path", [7, None, b"a.jsonl", [7], {"a": 1}])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(TypeError, match="expected a path, an open file, or a list of these, got"):
        load_traces(path)


# --- packed --------------------------------------------------------------------------


def test_gzip_is_known_by_its_bytes(write):
    packed = gzip.compress(f"{line(1)}\n".encode()) + gzip.compress(f"{line(2)}\n".encode())
    assert loaded(write("a.jsonl", packed)) == loaded(write("a.gz", packed)) == (["q1", "q2"], [])
    assert loaded(write("plain.jsonl.gz", line(3))) == (["q3"], [])


def test_gzip_that_is_cut_off_gives_what_can_be_read(write):
    lines = "".join(f"{line(number, annotations={'x': os.urandom(2000).hex()})}\n" for number in range(500))
    path = write("a.jsonl.gz", gzip.compress(lines.encode())[:-400_000])
    asked, skipped = loaded(path)
    assert asked[:2] == ["q0", "q1"]
    assert len(asked) > 50
    assert skipped[-1][1].startswith("the rest of the file could not be read (EOFError: ")


def test_gzip_with_damaged_bytes_gives_what_comes_before(write):
    lines = "".join(f"{line(number, annotations={'x': os.urandom(2000).hex()})}\n" for number in range(500))
    packed = bytearray(gzip.compress(lines.encode()))
    packed[len(packed) // 2 : len(packed) // 2 + 200] = bytes(200)
    _, skipped = loaded(write("a.jsonl.gz", bytes(packed)))
    assert any("could not be read" in reason or "not JSON" in reason for _, reason in skipped)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.gz", "a.csv.gz", "a"])
@pytest.mark.parametrize("kept", [5, 12])
def test_gzip_of_which_nothing_can_be_read(write, name, kept):
    path = write(name, gzip.compress(line().encode())[:kept])
    with pytest.raises(UnknownFormatError, match=r"could not be read|cannot be read"):
        list(load_traces(path, on_skip="ignore"))
    asked, skipped = loaded([path, write("b.jsonl", line(2))])
    assert asked == ["q2"]
    assert len(skipped) == 1


def test_the_suffix_is_that_of_what_is_packed():
    assert [Source(path).suffix for path in ("a.CSV", "a.jsonl.gz", "a.gz", "a", ".jsonl")] == [
        ".csv",
        ".jsonl",
        "",
        "",
        "",
    ]


# --- open files ----------------------------------------------------------------------


def test_open_files_are_read_and_left_open(write):
    path = write("a.jsonl", f"{line(1)}\n{line('é')}")
    for opened in (
        lambda: path.open("rb"),
        lambda: path.open(encoding="utf-8"),
        lambda: io.BytesIO(path.read_bytes()),
        lambda: io.StringIO(path.read_text("utf-8")),
    ):
        with opened() as file:
            assert loaded(file) == (["q1", "qé"], [])
            assert not file.closed
            file.read()


def test_an_open_file_that_is_packed(write):
    with write("a", gzip.compress(line().encode())).open("rb") as file:
        assert loaded(file) == (["q1"], [])


def test_the_source_is_the_name_of_the_open_file(write):
    path = write("a.jsonl", f"{line(1)}\n{{")
    with path.open("rb") as file:
        traces = load_traces(file, on_skip="ignore")
        list(traces)
    assert traces.report.skipped[0].place == f"{path}:2"
    traces = load_traces(io.StringIO(f"{line(1)}\n{{"), on_skip="ignore")
    list(traces)
    assert traces.report.skipped[0].place == "<memory>:2"


class Stdin(io.TextIOWrapper):
    """What `sys.stdin` is when something is piped into it."""


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(monkeypatch, packed):
    data = f"{line(1)}\n{line(2)}\n{{".encode()
    monkeypatch.setattr(sys, "stdin", Stdin(io.BytesIO(gzip.compress(data) if packed else data)))
    traces = load_traces("-", on_skip="ignore")
    assert questions(traces) == ["q1", "q2"]
    assert traces.report.skipped[0].place == "<stdin>:3"


def test_standard_input_that_a_test_or_a_notebook_replaced(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(line()))
    assert loaded("-") == (["q1"], [])


def test_a_pipe_gives_its_traces_as_they_come():
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as sender, os.fdopen(reading, "rb") as receiver:
        for _ in range(25):
            sender.write(line().encode() + b"\n")
        traces = load_traces(receiver)
        assert next(traces).last.outputs == "a1"  # the sender is still there
        sender.close()
        assert len(list(traces)) == 24


# --- closing -------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["exhaust", "close", "with", "forget"])
@pytest.mark.parametrize("packed", [False, True])
def test_files_are_closed(write, end, packed):
    text = f"{line(1)}\n{line(2)}".encode()
    path = write("a.jsonl", gzip.compress(text) if packed else text)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traces = load_traces(path)
        next(traces)
        if end == "exhaust":
            list(traces)
        elif end == "close":
            traces.close()
            assert list(traces) == []
        elif end == "with":
            with traces:
                pass
        else:
            del traces
        gc.collect()
    if before:
        assert set(os.listdir("/proc/self/fd")) <= before


def test_nothing_is_opened_before_the_first_trace_is_asked_for(write):
    path = write("a.jsonl", line())
    traces = load_traces(path)
    path.write_text(line(2))
    assert questions(traces) == ["q2"]


def test_a_file_that_cannot_be_opened(write, tmp_path):
    write("a.jsonl", line(1))
    gone = write("b.jsonl", line(2))
    traces = load_traces(tmp_path, on_skip="ignore")
    gone.unlink()
    assert questions(traces) == ["q1"]
    assert traces.report.skipped[0].path == str(gone)
    assert "the file cannot be read: " in traces.report.skipped[0].reason

    gone.write_text(line(2))
    traces = load_traces(gone)
    gone.unlink()
    with pytest.raises(FileNotFoundError):
        next(traces)
