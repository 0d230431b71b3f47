"""Identities."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.utils.ids import new_id, stable_ids


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], []),
        (["a", "b"], ["a", "b"]),
        (["x", "y", "x", "x", "y"], ["x", "y", "x#2", "x#3", "y#2"]),
        (["x", "x", "x#2"], ["x", "x#3", "x#2"]),
        (["x#2", "x", "x", "x"], ["x#2", "x", "x#3", "x#4"]),
        (["x#2", "x#2", "x", "x"], ["x#2", "x#2#2", "x", "x#3"]),
    ],
)
def test_the_second_of_a_name_has_its_number(names, expected):
    assert stable_ids(iter(names)) == expected


@given(st.lists(st.sampled_from(["x", "x#2", "x#3", "x#2#2", "", "#2", "##2"])))
def test_no_two_are_alike_and_the_first_of_a_name_has_it(names):
    ids = stable_ids(names)

    assert len(set(ids)) == len(ids) == len(names)
    assert all(ids[names.index(name)] == name for name in names)


def test_new_ones_are_new():
    assert len({new_id() for _ in range(1000)}) == 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is a copy of another one there")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_copy_of_the_process_gives_others():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, new_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as told:
        assert told.read().rpartition("-")[0] != new_id().rpartition("-")[0]
