"""Text from outside: shown, bounded, never obeyed."""

import math
import sys
import unicodedata

import pytest

from giskard.checks.utils.text import cut, plain_text, quoted, visible


def test_every_character_that_is_obeyed_or_not_seen_is_shown():
    kept = {
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and visible(char) == char
    }

    assert kept >= {"\n", "\t", "\u200c", "\u200d"}
    assert {char for char in kept if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}} == {"\n", "\t"}
    assert not kept & set("\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31m", r"\x1b[31m"),
        ("a\u202eb", r"a\u202eb"),
        ("\ud83d", r"\ud83d"),
        ("\U000e0041", r"\U000e0041"),
        ("a\r\nb", "a\nb"),
        ("a\rb", r"a\x0db"),
        ("tab\tand 漢字 👩‍👩‍👧‍👦 café", "tab\tand 漢字 👩‍👩‍👧‍👦 café"),
    ],
)
def test_as_in_a_python_literal(text, expected):
    assert visible(text) == expected


def test_what_is_cut_is_noted():
    assert cut("abc", 3) == "abc"
    assert cut("a" * 60 + "b" * 40, 40) == "a" * 30 + " … [60 of 100 characters cut] … " + "b" * 10
    assert cut("abc", 0) == " … [3 of 3 characters cut] … "


class Odd:
    def __repr__(self):
        return "<Odd>"


class Silent:
    def __repr__(self):
        raise RuntimeError("no")


def test_any_value_has_a_text():
    cyclic: list = []
    cyclic.append(cyclic)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]

    assert plain_text("as [it] is") == "as [it] is"
    assert quoted("as [it] is") == '"as [it] is"'
    assert plain_text({"a": [1, None, True], "é": 1.5}) == '{"a": [1, null, true], "é": 1.5}'
    assert plain_text(Odd()) == "<Odd>"
    assert plain_text({"x": Odd()}) == '{"x": "<Odd>"}'
    assert "repr raises RuntimeError" in plain_text([Silent()])
    assert "cycle" in plain_text(cyclic)
    assert plain_text(math.nan) == "NaN"
    assert plain_text(deep)
    assert plain_text({(1, 2): 3})
    assert plain_text(10**5_000)
