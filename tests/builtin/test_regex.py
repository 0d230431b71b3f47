"""Regular expressions that end."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.builtin._regex import BadPattern, check_flags, compile_pattern, find


def test_search_and_full_match():
    assert find("b+", "abbc")[0] == "bb"
    assert find("x", "abc") is None
    assert find("ab", "abc", full=True) is None
    assert find("a|ab", "ab", full=True)[0] == "ab"
    assert find("", "")[0] == ""


@pytest.mark.parametrize(
    ("pattern", "text", "flags", "found"),
    [
        ("ABC", "xabcx", "i", True),
        ("ABC", "xabcx", "", False),
        ("^b$", "a\nb\nc", "m", True),
        ("^b$", "a\nb\nc", "", False),
        ("a.b", "a\nb", "s", True),
        ("a.b", "a\nb", "", False),
        ("a b # words", "ab", "x", True),
        ("^B . C$", "a\nb\nC", "imsx", True),
        ("größe", "GRÖSSE GRÖßE", "i", True),
    ],
)
def test_flags(pattern, text, flags, found):
    assert (find(pattern, text, flags=flags) is not None) is found


@pytest.mark.parametrize("flags", ["z", "ii", "I", "im-", "a", "L", " "])
def test_unknown_flags_are_refused(flags):
    with pytest.raises(ValueError, match="imsx"):
        check_flags(flags)
    assert check_flags("xs") == "xs" and check_flags("") == ""


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*", "a{2,1}", r"\p{Nope}", "\\", "(?<x", "(" * 5000, "a{99999999999999}"]
)
def test_bad_patterns(pattern):
    for _ in range(2):
        with pytest.raises(BadPattern, match="is not a regular expression") as caught:
            find(pattern, "text")
        assert len(str(caught.value)) < 800


def test_a_runaway_search_ends_near_its_limit():
    start = time.process_time()
    with pytest.raises(TimeoutError):
        find(r"(a|aa)+$", "a" * 4000 + "!", seconds=0.2)
    assert 0.1 < time.process_time() - start < 2


@pytest.mark.parametrize("seconds", [float("inf"), 1e12])
def test_a_limit_beyond_any_clock_is_none(seconds):
    assert find("a", "ba", seconds=seconds)


def test_patterns_are_compiled_once_and_kept_within_bounds():
    assert compile_pattern("a+b") is compile_pattern("a+b")
    assert compile_pattern("a+b") is not compile_pattern("a+b", "i")
    for i in range(3000):
        compile_pattern(f"a{i}")


def test_the_library_is_told_to_do_as_re_does(monkeypatch):
    import regex

    monkeypatch.setattr(regex, "DEFAULT_VERSION", regex.VERSION1)
    assert find("(?i)ss", "ß") is None  # version 1 folds fully
    assert find("[[a]", "[")


atoms = st.sampled_from(["a", "b", ".", r"\w", r"\d", r"\s", "[ab]", "[^a]", "ß", "é", r"\b", "^", "$", " ", "(?:ab)"])
patterns = st.recursive(
    st.lists(atoms, min_size=1, max_size=4).map("".join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("|".join),
        inner.map(lambda p: f"({p})"),
        st.tuples(inner, st.sampled_from("*+?")).map(lambda p: f"(?:{p[0]}){p[1]}"),
        inner.map(lambda p: f"(?={p})"),
    ),
    max_leaves=4,
)


@given(patterns, st.text("ab ß\né1", max_size=12), st.sampled_from(["", "i", "s", "m"]), st.booleans())
def test_as_the_standard_library(pattern, text, flags, full):
    number = sum((re.RegexFlag[f.upper()] for f in flags), re.NOFLAG)
    want = (re.fullmatch if full else re.search)(pattern, text, number)
    got = find(pattern, text, flags=flags, full=full)
    assert (got is None) is (want is None)
    if got is not None:
        assert got.span() == want.span()
