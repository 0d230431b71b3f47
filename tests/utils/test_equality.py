"""Equality that has an answer for values of any type."""

import numpy as np
import pytest

from giskard.checks import Interaction, Trace
from giskard.checks.utils.equality import equal


class Refuses:
    def __eq__(self, other):
        raise RuntimeError("no comparing")

    __hash__ = None


SAME = Refuses()


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        (1, 1.0, True),
        ([1], (1,), False),
        (np.array([1, 2]), np.array([1, 2]), True),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.array([1, 2]), np.array([1, 2, 3]), False),
        ({"a": np.array([1, 2])}, {"a": np.array([1, 2])}, True),
        ({"a": np.array([1, 2])}, {"b": np.array([1, 2])}, False),
        ([1, np.array([1, 2])], [1, np.array([1, 2])], True),
        ([np.array([1, 2])], [np.array([1, 2]), 3], False),
        ([SAME], [SAME], True),
        (SAME, SAME, True),
        (SAME, Refuses(), False),
    ],
)
def test_there_is_always_an_answer(one, other, answer):
    assert equal(one, other) is answer


def test_turns_and_traces_with_arrays_compare_by_value():
    def recorded(last):
        return Trace(interactions=[Interaction(inputs="q", outputs={"scores": np.array([1, last])})])

    assert recorded(2) == recorded(2)
    assert recorded(2) != recorded(3)
    assert recorded(2).last == recorded(2).last
