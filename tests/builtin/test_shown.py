"""Values in messages."""

import pytest

from giskard.checks.builtin._shown import shown, type_name
from giskard.checks.utils.frozen import freeze


@pytest.mark.parametrize("value", [None, True, 1, -2.5, "it's", "", "a\nb", [1], {"a": (1, None)}])
def test_small_values_are_shown_whole(value):
    assert shown(value) == repr(value)
    assert shown(freeze(value)) == repr(value)


def test_large_values_are_cut():
    assert shown("a" * 200) == repr("a" * 200)
    assert shown("a" * 201) == repr("a" * 200) + "… (201 characters)"
    assert shown(["abc"] * 1000).endswith("… (list)") and len(shown(["abc"] * 1000)) < 220
    assert shown(freeze({"a": "b" * 500})).endswith("… (dict)")
    assert len(shown(10**5000)) < 300 and len(shown(10**4000)) < 220


def test_values_that_cannot_be_shown():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    deep: list = []
    for _ in range(5000):
        deep = [deep]
    loop: list = []
    loop.append(loop)
    assert "Broken" in shown(Broken())
    assert "list" in shown(deep)
    assert shown(loop) == "[[...]]"


def test_names_of_types():
    assert [type_name(v) for v in (None, True, 1.5, [1], freeze([1]), freeze({}), freeze({1}), freeze([object()]))] == [
        "NoneType", "bool", "float", "list", "list", "dict", "set", "list",
    ]  # fmt: skip
