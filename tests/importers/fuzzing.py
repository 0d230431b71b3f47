"""Examples with something wrong in them, of which loading must make traces, a report, or one clear error.

usage: python -m tests.importers.fuzzing [--count 10000] [--seed 1]
"""

from __future__ import annotations

import argparse
import collections
import copy
import gzip
import io
import json
import random
import re
import signal
import sys
import time
from contextlib import contextmanager

from giskard.checks import load_traces
from giskard.checks.importers import UnknownFormatError
from tests.importers.conftest import EXAMPLES

SECONDS = 20  # for one file; all of them are small
FILES = {path.name: path.read_bytes() for path in sorted(EXAMPLES.iterdir())}
_CRASH = re.compile(r"[A-Z]\w*(Error|Exception|Iteration): ")


# --- what goes wrong -------------------------------------------------------------------


def flip_bytes(source, data):
    out = bytearray(data)
    for _ in range(source.choice([1, 1, 2, 8])):
        out[source.randrange(len(out))] ^= 1 << source.randrange(8)
    return bytes(out)


def any_bytes(source, data):
    place = source.randrange(len(data))
    return data[:place] + source.randbytes(source.choice([1, 4, 40])) + data[place + source.choice([0, 4, 40]) :]


def cut_off(source, data):
    return data[: source.randrange(len(data))]


def span(source, data):
    start = source.randrange(len(data))
    return start, min(len(data), start + int(source.expovariate(1 / 60)) + 1)


def leave_out(source, data):
    start, end = span(source, data)
    return data[:start] + data[end:]


def repeat(source, data):
    start, end = span(source, data)
    return data[:start] + data[start:end] * source.choice([2, 2, 3, 50]) + data[end:]


def join_files(source, data):
    return data + source.choice([b"", b"\n", b",", b"\x1e", b"\0\0"]) + source.choice(list(FILES.values()))


def encode_otherwise(source, data):
    return data.decode().encode(source.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7"]))


def pack(source, data):
    packed = gzip.compress(data, source.choice([0, 6]))
    return packed if source.random() < 0.3 else flip_bytes(source, packed)[: source.choice([5, 15, -1, 10_000])]


BYTES = [flip_bytes, any_bytes, cut_off, leave_out, repeat, join_files, encode_otherwise, pack]

_LITERALS = [
    "1e400",
    "-1e-400",
    "NaN",
    "Infinity",
    "9" * 400,
    "9" * 5000,
    '"\\ud800"',
    '"\\udc80x"',
    "[" * 400 + "]" * 400,
]
_VALUES = [
    None,
    True,
    False,
    0,
    -1,
    2**70,
    0.5,
    "",
    " ",
    "text",
    "\0",
    "[]",
    "{}",
    '{"a": ',
    "null",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": {}},
]
_MARK = "\x01literal\x01"


def other_value(source, value):
    """Something else in a value's place."""
    kind = source.randrange(6)
    if kind == 0:
        return [value]
    if kind == 1:
        return {"type": value}
    if kind == 2:
        return json.dumps(value)
    if kind == 3:
        return _MARK
    return copy.deepcopy(source.choice(_VALUES))


def places(value):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from places(item)


def change_node(source, value):
    holder, key = source.choice(list(places(value)) or [([None], 0)])
    kind = source.randrange(6)
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[source.choice(["type", "role", "content", "id", "parts", "messages", ""])] = holder.pop(key)
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(source.choice([*holder, None])))
    elif kind == 3 and isinstance(holder, list):
        source.shuffle(holder)
    else:
        holder[key] = other_value(source, holder[key])


def change_values(source, data):
    """Other values at places of the JSON data; a table is changed as bytes."""
    text = data.decode()
    try:
        values, pretty = [json.loads(text)], True
    except ValueError:
        try:
            values, pretty = [json.loads(line) for line in text.splitlines()], False
        except ValueError:
            return flip_bytes(source, data)
    top = [values]
    for _ in range(source.choice([1, 1, 1, 2, 5])):
        change_node(source, source.choice(top))
    indent = 1 if pretty and source.random() < 0.5 else None
    changed = "\n".join(json.dumps(value, indent=indent) for value in values)
    return changed.replace(json.dumps(_MARK), source.choice(_LITERALS)).encode()


class Named(io.BytesIO):
    """An open file with a name."""

    name = ""


def mutant(source):
    """A spoiled example, as an open file."""
    name = source.choice(list(FILES))
    data = FILES[name]
    for _ in range(source.choice([1, 1, 1, 2])):
        change = change_values if source.random() < 0.5 else source.choice(BYTES)
        try:
            data = change(source, data) or b" "
        except (UnicodeDecodeError, RecursionError):  # changed by a change before
            data = flip_bytes(source, data)
    file = Named(data)
    file.name = name
    return file


# --- what must hold --------------------------------------------------------------------


@contextmanager
def limited():
    """Raise when it takes too long, where the platform can tell."""

    def stop(*_):
        raise TimeoutError(f"not done after {SECONDS} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def load(file):
    """The reasons for which something of a file was skipped; whatever is not as promised raises."""
    with limited():
        traces = load_traces(file, on_skip="ignore")
        count = 0
        try:
            for trace in traces:
                count += 1
                trace.model_dump_json()
                assert "source" in trace.annotations or file.name == "expected_trace.json" or count
        except UnknownFormatError as error:
            assert str(error)
            return ["unknown format"]
    report = traces.report
    assert report.read == count == sum(report.formats.values())
    assert report.skipped_count == len(report.skipped) == sum(reason.count for reason in report.reasons)
    assert all(skip.reason for skip in report.skipped)
    assert count or report.skipped
    assert max(map(len, str(report).splitlines())) <= 80
    return [f"{skip.format}: {skip.reason}" for skip in report.skipped]


def fuzz(count, seed):
    """Load so many spoiled files; gives how often each format failed in a way that it did not foresee."""
    crashes = collections.Counter()
    for number in range(count):
        source = random.Random(f"{seed}-{number}")
        file = mutant(source)
        try:
            reasons = load(file)
        except BaseException as error:
            error.add_note(f"file {number} of seed {seed}, made of {file.name}: {file.getvalue()[:300]!r}")
            raise
        crashes.update(reason[:120] for reason in reasons if _CRASH.search(reason))
    return crashes


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.importers.fuzzing", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    args = parser.parse_args()
    start = time.perf_counter()
    crashes = fuzz(args.count, args.seed)
    print(f"{args.count:,} spoiled files loaded in {time.perf_counter() - start:.0f} s; nothing broke a promise")
    if crashes:
        print("Records that were skipped since their format did not foresee their shape:")
        for reason, times in crashes.most_common(30):
            print(f"{times:6}  {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
