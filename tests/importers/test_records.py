"""Files of JSON in all the shapes that they have, whole and broken."""

import io
import json
import tracemalloc

import pytest

from giskard.checks import load_traces
from giskard.checks.importers import UnknownFormatError, _text, _values
from giskard.checks.importers._text import PieceByPiece
from giskard.checks.importers._values import Array, Unread, Value, values_of
from tests.importers.rows import line, loaded, questions, row

THREE = ["q1", "q2", "q3"]
ROWS = [row(1), row(2), row(3)]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(line, (1, 2, 3))),
        "\r\n".join(map(line, (1, 2, 3))) + "\r\n",
        "\n\n".join(map(line, (1, 2, 3))) + "\n\n\n",
        "".join(map(line, (1, 2, 3))),
        ",\n".join(map(line, (1, 2, 3))),
        "".join(f"\x1e{line(n)}\n" for n in (1, 2, 3)),
        "\n".join(json.dumps(r, indent=2) for r in ROWS),
        json.dumps(ROWS),
        json.dumps(ROWS, indent=1),
        "[\n" + ",\n".join(map(line, (1, 2, 3))) + "\n]\n",
        "[" + ",".join(map(line, (1, 2, 3))) + ",]",
        json.dumps([[row(1)], [row(2), row(3)]]),
        "\n".join(json.dumps([r]) for r in ROWS),
        json.dumps({"data": ROWS, "has_more": False}),
        json.dumps({"meta": {"n": 3}, "result": 1, "rows": [{"row_idx": n, "row": r} for n, r in enumerate(ROWS)]}),
        json.dumps({"data": {"traces": ROWS}}),
        "\n".join(json.dumps({"data": [r]}) for r in ROWS),
        "\n".join(json.dumps({"time": 1, "record": r}) for r in ROWS),
        "\n".join(["\ufeff" + line(1), line(2), "\ufeff" + line(3)]),
    ],
)
def test_the_shapes_that_files_have(write, text):
    assert loaded(write("a.json", text)) == (THREE, [])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_encodings_are_known_by_their_marks(write, encoding):
    text = "\n".join(json.dumps(row("é漢\U0001f600"), ensure_ascii=False) for _ in range(2))
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    assert loaded(write("a.jsonl", mark + text.encode(encoding))) == (["qé漢\U0001f600"] * 2, [])


def test_an_encoding_without_a_mark_has_to_be_named(write):
    path = write("a.jsonl", b"\n".join([line(1).encode(), json.dumps(row("é"), ensure_ascii=False).encode("cp1252")]))
    asked, skipped = loaded(path)
    assert asked == ["q1"]
    assert skipped == [(2, "not UTF-8: it holds the byte 0xe9; say how it was written, encoding='cp1252' say")]
    assert loaded(path, encoding="cp1252") == (["q1", "qé"], [])


def test_utf_16_that_is_cut_off_gives_what_comes_before(write):
    text = f"{line(1)}\n{line(2)}\n{line(3)}\n"
    asked, skipped = loaded(write("a.jsonl", text.encode("utf-16")[:-1]))
    assert asked == ["q1", "q2", "q3"]
    assert skipped[0][1].startswith("the rest of the file could not be read (UnicodeDecodeError: ")
    path = write("b.jsonl", text.encode("utf-16") + b"\x00\xdc\x00" + text.encode("utf-16-le"))
    asked, skipped = loaded(path)
    assert asked[:3] == ["q1", "q2", "q3"]
    assert skipped


def test_what_a_line_holds_of_lone_surrogates_is_kept(write):
    assert loaded(write("a.jsonl", line("\ud800") + "\n" + line("\udc80"))) == (["q\ud800", "q\udc80"], [])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"interactions": [', "cut off: it does not end"),
        (line(2)[:-1], "not JSON: "),
        (line(2)[:30], "not JSON: "),
        ("{not json}", "not JSON: a key in double quotes was expected, at character 2"),
        ("INFO starting", "not JSON: a value was expected, at character 1"),
        ('"a text"', "of no known format: a text"),
        ("17", "of no known format: a number"),
        ('{"interactions": [\0\0]}', "not JSON: it holds NUL bytes"),
        ("\0\0\0", "NUL bytes where a value should be"),
        ('{"a": ' + "9" * 5000 + "}", "not readable: Exceeds the limit"),
        ('{"some": "thing"}', "of no known format: an object with the keys 'some'"),
        ("}", "not JSON: a value was expected"),
        ('{"a": "b\x01"}', "not JSON: a text holds a line break or another control character, at character 9"),
        ('{"a" 1}', "not JSON: a colon was expected after the key, at character 6"),
        ('{"a": 1 "b": 2}', "not JSON: a comma was expected, or the end of the list or object, at character 9"),
    ],
)
def test_a_bad_line_does_not_stop_the_others(write, bad, reason):
    asked, skipped = loaded(write("a.jsonl", f"{line(1)}\n{bad}\n{line(3)}\n"))
    assert asked == ["q1", "q3"]
    assert [place for place, _ in skipped] == [2]
    assert skipped[0][1].startswith(reason)


def test_deep_nesting_is_skipped_or_read(write):
    deep = '{"a": ' * 100_000 + "1" + "}" * 100_000
    asked, skipped = loaded(write("a.jsonl", f"{line(1)}\n{deep}\n{line(3)}"))
    assert asked == ["q1", "q3"]
    assert [place for place, _ in skipped] == [2]


@pytest.mark.parametrize("piece", ["[", '[{"a":'])
def test_brackets_without_end_stop_at_the_line(write, piece):
    asked, skipped = loaded(write("a.jsonl", f"{line(1)}\n{piece * 1_000_000}\n{line(3)}\n{line(4)}"))
    assert asked == ["q1", "q3", "q4"]
    assert skipped[0] == (2, "nested too deeply to be read")


def test_behind_an_item_that_is_too_deep_the_list_goes_on(write):
    deep = "[" * 50_000 + "]" * 50_000
    asked, skipped = loaded(write("a.json", f"[{line(1)}, {deep}, {line(3)}]"))
    assert (asked, skipped) == (["q1", "q3"], [(1, "nested too deeply to be read")])
    asked, skipped = loaded(write("b.json", f"[\n {line(1)},\n {'[' * 200_000},\n  {{\n {line(3)}\n]"))
    assert (asked, skipped) == (["q1", "q3"], [(3, "nested too deeply to be read (up to line 4)")])


def test_a_last_line_that_is_cut_off(write):
    asked, skipped = loaded(write("a.jsonl", f"{line(1)}\n{line(2)}\n{line(3)[:-5]}"))
    assert (asked, skipped) == (["q1", "q2"], [(3, "cut off: it does not end")])


def test_zeros_before_a_value_do_not_hide_it(write):
    asked, skipped = loaded(write("a.jsonl", b"\0" * 1_000_000 + f"{line(1)}\n{line(2)}".encode()))
    assert (asked, skipped) == (["q1", "q2"], [(1, "NUL bytes where a value should be")])


def test_a_broken_value_of_several_lines_is_skipped_as_one(write):
    broken = json.dumps(row(2), indent=2).replace('"q2"', "q2")
    text = f"{json.dumps(row(1), indent=2)}\n{broken}\n{json.dumps(row(3), indent=2)}"
    asked, skipped = loaded(write("a.json", text))
    assert asked == ["q1", "q3"]
    assert skipped == [(9, "not JSON: a value was expected, on line 12 (up to line 16)")]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace('"q2"', "q2"),
        lambda text: text.replace('"a2"', '"a2",,'),
        lambda text: text.replace('"a2"', '"a\\x2"'),
    ],
)
def test_in_a_list_a_broken_item_does_not_stop_the_others(write, indent, spoil):
    asked, skipped = loaded(write("a.json", spoil(json.dumps(ROWS, indent=indent))))
    assert asked == ["q1", "q3"]
    assert len(skipped) == 1
    assert skipped[0][0] == (1 if indent is None else 10)


@pytest.mark.parametrize("indent", [2, "lines"])
def test_in_a_list_an_item_that_does_not_close_ends_where_the_next_one_begins(write, indent):
    text = "[\n" + ",\n".join(map(line, (1, 2, 3))) + "\n]" if indent == "lines" else json.dumps(ROWS, indent=indent)
    torn = text.replace('"a2"}', '"a2"').replace('"outputs": "a2"\n', '"outputs": "a2"')
    start = torn.index("a2")
    torn = torn[: start + 3] + torn[start + 3 :].replace("}", "", 1).replace("]", "", 1)
    asked, skipped = loaded(write("a.json", torn))
    assert (asked[0], asked[-1]) == ("q1", "q3")
    assert len(skipped) == 1


def test_where_a_list_cannot_be_read_on_the_report_says_so(write):
    torn = json.dumps(ROWS).replace('"a2"}]', '"a2"')
    asked, skipped = loaded(write("a.json", torn))
    assert asked == ["q1"]
    assert [place for place, _ in skipped] == [1]
    assert "nothing of the list was read from here on" in skipped[0][1]


def test_a_list_that_does_not_end(write):
    assert loaded(write("a.json", f"[\n{line(1)},\n{line(2)}\n")) == (
        ["q1", "q2"],
        [(4, "cut off: the list that begins on line 1 does not end")],
    )
    asked, skipped = loaded(write("b.json", json.dumps(ROWS, indent=1)[:-40]))
    assert (asked, skipped) == (
        ["q1", "q2"],
        [(18, "cut off: it does not end; nothing of the list was read from here on")],
    )


@pytest.mark.parametrize("dump", [json.dumps, lambda rows: json.dumps(rows, indent=1)])
def test_each_record_knows_its_line(dump):
    text = dump(ROWS)
    entries = values_of(PieceByPiece(io.BytesIO(text.encode())), lambda _: True)
    lines = [item.line for entry in entries for item in (entry.items if isinstance(entry, Array) else [entry])]
    expected = [text[: text.index(f'"q{n}"')].count("\n") - 3 for n in (1, 2, 3)]
    assert lines == ([1] if "\n" not in text else [number + 1 for number in expected])


class Drop(io.RawIOBase):
    """Gives a few bytes at a time."""

    def __init__(self, data, size):
        self.data, self.size = data, size

    def readable(self):
        return True

    def readinto(self, buffer):
        part, self.data = self.data[: (n := min(self.size, len(buffer)))], self.data[n:]
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("text", [json.dumps(ROWS, indent=1), "\n".join(map(line, (1, 2, 3))), json.dumps(ROWS)])
def test_where_the_pieces_end_does_not_matter(text, size):
    text = text.replace("q1", "qé漢\\u00e9")
    found = loaded(io.BufferedReader(Drop(text.encode(), size), 16))
    assert found == (["qé漢é", "q2", "q3"], [])


BROKEN = [
    json.dumps(ROWS).replace('"q2"', "q2"),
    json.dumps(ROWS, indent=2).replace('"a2"', '"a2",,'),
    "[\n" + ",\n".join([line(1), line(2)[:-9], line(3)]) + "\n]",
    json.dumps(ROWS).replace('"a2"}]', '"a2"'),
    json.dumps(ROWS)[:-9],
    f"[{line(1)}, nonsense, {line(2)}, tru",
    f"[{line(1)}, nonsense\n, {line(2)}]",
    f"[{line(1)}, 7 8, {line(2)}] and more\n{line(3)}",
    f'{{"data": [{line(1)}, {line(2)}], "x": nonsense}}\n{line(3)}',
    f'{{"data": [{line(1)}, {line(2)}], "x"}}',
    f'{{"data": [{line(1)}, {line(2)}],',
    f'{{"data": [{line(1)}, {line(2)}], "x":',
    f"{{x: 1}}\n{line(1)}\n\0\0{line(2)}",
    f"{line(1)}\nword word\n123",
]


@pytest.mark.parametrize("text", BROKEN)
def test_where_the_pieces_of_something_broken_end_does_not_matter(monkeypatch, text):
    whole = loaded(io.BytesIO(text.encode()))
    assert whole[1]
    for piece in (1, 5, 33):
        monkeypatch.setattr(_text, "_PIECE", piece)
        assert loaded(io.BufferedReader(Drop(text.encode(), piece), 16)) == whole


@pytest.mark.parametrize("text", BROKEN)
def test_something_broken_that_is_long(short, text):
    asked, skipped = loaded(io.BytesIO((text[:1] + " " * 600 + text[1:]).encode()))
    assert asked[:1] == ["q1"]
    assert skipped


def test_what_is_too_long_for_any_memory_is_skipped(short, monkeypatch):
    monkeypatch.setattr(_values, "_LONGEST", 2_000)
    big = row(2, annotations={"big": ["x"] * 3_000})
    asked, skipped = loaded(io.BytesIO(json.dumps([row(1), big, row(3)]).encode()))
    assert (asked, skipped) == (["q1", "q3"], [(1, "longer than 2,000 characters")])


BIG = "x" * 20_000


def _sizes(text, is_record=lambda _: False):
    return [
        (type(entry).__name__, sum(isinstance(item, Value) for item in entry.items))
        if isinstance(entry, Array)
        else type(entry).__name__
        for entry in values_of(PieceByPiece(io.BytesIO(text.encode())), is_record)
    ]


@pytest.fixture
def short(monkeypatch):
    """What is long is not: a small file will do."""
    monkeypatch.setattr(_values, "LONG_LIST", 100)
    monkeypatch.setattr(_values, "LONG_OBJECT", 500)
    monkeypatch.setattr(_text, "_PIECE", 64)


def test_long_lists_and_wrappers_are_taken_apart_as_they_are_read(short):
    rows = [row(n) for n in range(600)]
    assert _sizes(json.dumps(rows)) == [("Array", 600)]
    assert _sizes(json.dumps({"n": 1, "data": rows, "after": [1]})) == [("Array", 600)]
    assert _sizes(json.dumps({"other": rows})) == ["Value"]
    # One that is a record, although it has such a key, stays whole.
    assert _sizes(json.dumps({"n": 1, "data": rows}), lambda value: "n" in value) == ["Value"]
    assert _sizes(json.dumps({"n": 1, "data": rows})[:-50]) == [("Array", 599), "Unread"]


def test_the_same_from_the_outside(write, short):
    rows = [row(n) for n in range(600)]
    for data in (rows, {"n": 1, "data": rows}):
        asked, skipped = loaded(write("a.json", data))
        assert (len(asked), asked[-1], skipped) == (600, "q599", [])


@pytest.mark.parametrize("shape", ["lines", "list", "pretty", "wrapped"])
def test_memory_does_not_grow_with_the_file(tmp_path, shape):
    path = tmp_path / "a.json"
    one = json.dumps(row(1, annotations={"big": BIG}), indent=1 if shape == "pretty" else None)
    with path.open("w") as file:
        file.write({"lines": "", "list": "[", "pretty": "[\n", "wrapped": '{"data": ['}[shape])
        for number in range(1_500):
            file.write(("" if shape == "lines" else ", " * (number > 0)) + one + ("\n" if shape == "lines" else ""))
        file.write({"lines": "", "list": "]", "pretty": "\n]", "wrapped": "]}"}[shape])
    traces = load_traces(path)
    next(traces)
    tracemalloc.start()
    try:
        count = sum(1 for _ in traces)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 1_499
    assert peak < 12e6 < path.stat().st_size / 2


def test_a_file_without_anything_known_is_an_error_that_shows_its_shape(write):
    traces = load_traces(write("a.jsonl", '{"chat_id": 1, "body": {"text": "secret"}}\n' * 3), on_skip="ignore")
    with pytest.raises(UnknownFormatError) as error:
        next(traces)
    assert "a.jsonl:1: no record is of a known format" in str(error.value)
    assert "an object with the keys 'chat_id', 'body'" in str(error.value)
    assert "secret" not in str(error.value)


def test_the_nearest_formats_are_named(write):
    with pytest.raises(UnknownFormatError, match="nearest are openai_chat"):
        next(load_traces(write("a.jsonl", {"chat": {"messages": [{"from_role": 1, "role": 2, "content": 3}]}})))


def test_a_file_that_is_no_json_is_an_error(write):
    with pytest.raises(UnknownFormatError, match=r"a\.txt:1: this is no JSON: the file begins with 'Dear all,'$"):
        list(load_traces(write("a.txt", "Dear all,\nthis is a letter.\n")))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.log", b"2025-10-09 INFO " + b"x" * 5000, f"begins with '2025-10-09 INFO {'x' * 24}...'"),
        ("a.jsonl", "\N{LATIN SMALL LETTER E WITH ACUTE}".encode() * 500, "begins with '\u00e9\u00e9"),
        ("a.jsonl", b"\x1b[31mred", r"begins with '\x1b[31mred'"),
        ("a.jsonl", b"\x89PNG\r\n\x1a\n\0\0", r"begins with b'\x89PNG"),
        ("a.json", b"a\0b\0", r"begins with b'a\x00b\x00'"),
        ("a.json", '{"messages": [', "no JSON was found here: cut off"),
    ],
)
def test_what_is_no_json_is_shown_by_its_beginning(write, name, content, said):
    with pytest.raises(UnknownFormatError) as error:
        list(load_traces(write(name, content), on_skip="ignore"))
    assert said in str(error.value)
    assert "the formats are" not in str(error.value)
    assert len(str(error.value)) < 300


def test_an_empty_file_is_no_error_but_said(write):
    assert loaded(write("a.jsonl", "")) == ([], [(None, "there is no conversation in it")])
    assert loaded(write("b.jsonl", "\n \n")) == ([], [(None, "there is no conversation in it")])


def test_an_empty_list_is_no_conversation(write):
    asked, skipped = loaded([write("a.json", "[]"), write("b.json", line(1))])
    assert asked == ["q1"]
    assert skipped == [(None, "there is no conversation in it")]


def test_what_is_shown_of_unread_places():
    assert Unread(3, "why", 5).last == 5
    assert questions([]) == []
