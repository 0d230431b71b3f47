"""Numbers that no figure can be, and things of another type where a name is looked for."""

import copy
import io
import json

import pytest

from giskard.checks import load_traces
from giskard.checks.importers._cells import number_in
from giskard.checks.importers._lenient import moment, number
from tests.importers.conftest import EXAMPLES
from tests.importers.reading import example

FILES = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix != ".csv")
HUGE = 10**400


def places(value):
    """Where each value stands, at any depth."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from places(item)


def changed(values, wanted, other):
    """Copies of `values`, each with another value in one of the places that are `wanted`."""
    found = [at for at, (holder, key) in enumerate(places(values)) if wanted(key, holder[key])]
    for at in found:
        copied = copy.deepcopy(values)
        holder, key = list(places(copied))[at]
        holder[key] = other(holder[key])
        yield copied


def is_figure(key, value):
    """Whether it is a number, and not that of a version."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and key != "lc"


def load(values):
    traces = load_traces(io.StringIO("\n".join(map(json.dumps, values))), on_skip="ignore")
    return list(traces), traces.report.skipped


@pytest.mark.parametrize("name", FILES)
def test_a_huge_number_leaves_the_record_as_it_is(name):
    values = example(name)
    before = len(load(values)[0])
    for spoiled in changed(values, is_figure, lambda _: HUGE):
        traces, skipped = load(spoiled)
        assert not [skip for skip in skipped if "Error" in skip.reason]
        assert len(traces) == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"type": value}], ids=["list", "object"])
def test_types_and_roles_that_are_none(name, wrap):
    names = ("type", "role", "name", "id", "kind", "level", "key")
    for spoiled in changed(example(name), lambda key, _: key in names, wrap):
        try:
            _, skipped = load(spoiled)
        except ValueError as error:  # that no record is of a known format
            assert "of a known format" in str(error)
        else:
            assert not [skip for skip in skipped if "Error" in skip.reason]


@pytest.mark.parametrize("value", [HUGE, -HUGE, float("inf"), float("nan"), True, "3", None])
def test_what_is_no_figure(value):
    assert number(value) is None
    assert moment(value) is None or isinstance(value, str)


def test_cells_with_huge_numbers():
    assert number_in(HUGE) is None and number_in(str(HUGE)) is None and number_in("9" * 5_000) is None
    assert number_in(2**70) == 2**70 and number_in("1.5") == 1.5 and number_in("007") is None
