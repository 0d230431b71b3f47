"""StringMatching and RegexMatching."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks import Check, Interaction, Not, RegexMatching, StringMatching, TestCase, Trace

KEY = "trace.last.outputs"
BOTH = [lambda **k: StringMatching(keyword="hello", **k), lambda **k: RegexMatching(pattern="hello", **k)]


def T(outputs=None, **metadata):
    return Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])


def run(check, outputs=None, **metadata):
    return asyncio.run(check.run(T(outputs, **metadata)))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


# --- both --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", BOTH)
def test_pass_and_fail(make):
    assert status(make(), "say hello") == "pass"
    result = run(make(), "say nothing")
    assert result.failed and "hello" in result.message and "say nothing" in result.message


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("output", [None, ["hello"], {"a": "hello"}, b"hello", 5, ("hello",), {"hello"}])
def test_what_is_no_text_is_an_error(make, output):
    result = run(make(), output)
    assert result.errored and result.error_kind == "bad_type"
    assert type(output).__name__ in result.message and KEY in result.message
    assert status(Not(check=make()), output) == "error"


@pytest.mark.parametrize("make", BOTH)
def test_a_missing_text_is_an_error(make):
    for trace, key in [
        (T({"other": "hello"}), "trace.last.outputs.typo"),
        (Trace(interactions=[]), KEY),
        (T("hello"), "trace.interactions[5].outputs"),
    ]:
        result = asyncio.run(make(target_key=key).run(trace))
        assert result.errored and key in result.message and result.error_kind == "missing_value"


@pytest.mark.parametrize("make", BOTH)
def test_a_literal_text_wins_over_the_path(make):
    check = make(text="hello there", target_key="trace.last.outputs.absent")
    assert status(check, 5) == "pass"
    assert asyncio.run(check.run(Trace(interactions=[]))).passed
    assert status(make(text=""), "hello") == "fail"


@pytest.mark.parametrize("cls, name", [(StringMatching, "keyword"), (RegexMatching, "pattern")])
def test_exactly_one_of_the_literal_and_the_path(cls, name):
    with pytest.raises(ValidationError, match="neither was given"):
        cls()
    with pytest.raises(ValidationError, match="both were given"):
        cls(**{name: "x", f"{name}_key": KEY})
    check = cls(**{f"{name}_key": "trace.last.metadata.want"})
    assert status(check, "a cat", want="cat") == "pass"
    assert status(check, "a cat", want="dog") == "fail"
    for metadata in ({}, {"want": None}, {"want": ["cat"]}):
        result = run(check, "a cat", **metadata)
        assert result.errored and "trace.last.metadata.want" in result.message and f"{name}_key" in result.message


@pytest.mark.parametrize("cls, name", [(StringMatching, "keyword"), (RegexMatching, "pattern")])
def test_paths_and_fields_are_checked_when_built(cls, name):
    for field in ("target_key", f"{name}_key"):
        with pytest.raises(ValidationError, match=field):
            cls(**({name: "x"} if field == "target_key" else {}), **{field: "last.outputs"})
    with pytest.raises(ValidationError, match="did you mean"):
        cls(**{name: "x"}, target_kye=KEY)
    with pytest.raises(ValidationError):
        cls(**{name: 5})
    with pytest.raises(ValidationError):
        cls(**{name: "x"}, normalization_form="NFX")


@pytest.mark.parametrize("make", BOTH)
def test_messages_stay_short_and_details_are_whole(make):
    text = "x" * 100_000
    result = run(make(), text)
    assert len(result.message) < 500 and "100,000 characters" in result.message
    assert result.details["text"] == text
    assert len(run(StringMatching(keyword="k" * 100_000), "a").message) < 500
    assert len(run(RegexMatching(pattern="k" * 10_000), "a").message) < 500


def test_a_text_of_a_subclass_of_str():
    class Text(str):
        __slots__ = ()

    assert status(StringMatching(keyword="a"), Text("abc")) == "pass"
    assert status(RegexMatching(pattern="a"), Text("abc")) == "pass"


@pytest.mark.parametrize(
    "check",
    [
        StringMatching(keyword="a"),
        StringMatching(keyword_key="trace.last.metadata.k", case_sensitive=False, normalization_form=None, name="n"),
        StringMatching(text="abc", keyword="b", target_key="trace.interactions[0].outputs"),
        RegexMatching(pattern=r"\d+"),
        RegexMatching(pattern="("),
        RegexMatching(
            pattern_key="trace.last.metadata.p", flags="is", full_match=True, match_timeout_seconds=0.5, text="x"
        ),
        RegexMatching(pattern="é", normalization_form="NFC", description="d", severity="warning"),
    ],
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is type(check) and loaded == check


# --- StringMatching ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "keyword", "options", "found"),
    [
        ("Card 5 is free.", "free", {}, True),
        ("Card 5 is free.", "Free", {}, False),
        ("Card 5 is free.", "FREE", {"case_sensitive": False}, True),
        ("HAUPTSTRASSE 7", "Hauptstraße", {"case_sensitive": False}, True),
        ("hauptstraße 7", "HAUPTSTRASSE", {"case_sensitive": False}, True),
        ("HAUPTSTRASSE 7", "Hauptstraße", {}, False),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευς", {"case_sensitive": False}, True),
        ("cafe\u0301", "caf\u00e9", {}, True),
        ("caf\u00e9", "cafe\u0301", {}, True),
        ("cafe\u0301", "cafe", {}, False),
        ("cafe\u0301", "cafe", {"normalization_form": None}, True),
        ("cafe\u0301", "caf\u00e9", {"normalization_form": None}, False),
        ("CAFE\u0301", "caf\u00e9", {"case_sensitive": False}, True),
        ("the \ufb01ne", "fine", {}, True),
        ("the \ufb01ne", "fine", {"normalization_form": "NFC"}, False),
        ("a \n\t b", "a b", {}, True),
        ("a \n\t b", "a b", {"normalization_form": None}, False),
        ("a b", " a  b\n", {}, True),
        ("a\u00a0b", "a b", {}, True),
        ("abc", " b", {}, True),
        ("a b", "ab", {}, False),
        ("", "a", {}, False),
    ],
)
def test_where_a_keyword_is_found(text, keyword, options, found):
    assert status(StringMatching(keyword=keyword, **options), text) == ("pass" if found else "fail")


def test_an_empty_keyword_of_the_trace_is_an_error():
    check = StringMatching(keyword_key="trace.last.metadata.want")
    for empty in ("", " \n"):
        result = run(check, "text", want=empty)
        assert result.errored and result.error_kind == "missing_value" and "empty" in result.message


def test_a_failure_without_case_says_so():
    assert "letter case" in run(StringMatching(keyword="b", case_sensitive=False), "a").message


@given(st.text(), st.text().filter(str.strip), st.sampled_from([None, "NFC", "NFD", "NFKC", "NFKD"]), st.booleans())
def test_containing_laws(before, keyword, form, case_sensitive):
    def contains(text, word):
        check = StringMatching(keyword=word, normalization_form=form, case_sensitive=case_sensitive)
        return status(check, text) == "pass"

    assert contains(keyword, keyword)
    assert contains(f"{before} {keyword} {before}", keyword)
    if contains(before, keyword) and case_sensitive:
        assert status(StringMatching(keyword=keyword, normalization_form=form, case_sensitive=False), before) == "pass"


@given(st.text("aAb \n\té\u0301"), st.text("aAb \n\té\u0301", max_size=4).filter(str.strip))
def test_the_fast_way_is_the_long_way(text, keyword):
    from giskard.checks.utils.normalization import normalize_string

    want = normalize_string(keyword) in normalize_string(text)
    assert (status(StringMatching(keyword=keyword), text) == "pass") is want


# --- RegexMatching -----------------------------------------------------------------------


def test_the_raw_text_is_searched():
    assert status(RegexMatching(pattern="a  b"), "xa  bx") == "pass"
    assert status(RegexMatching(pattern="^a"), "b\na") == "fail"
    assert status(RegexMatching(pattern="fi"), "\ufb01") == "fail"


@pytest.mark.parametrize(
    ("pattern", "text", "options", "found"),
    [
        ("ABC", "abc", {"flags": "i"}, True),
        ("^a$", "b\na", {"flags": "m"}, True),
        ("a.b", "a\nb", {"flags": "s"}, True),
        ("a  b  # c", "ab", {"flags": "x"}, True),
        ("b", "abc", {"full_match": True}, False),
        ("a.c", "abc", {"full_match": True}, True),
        ("a b", "a \n b", {"normalization_form": "NFKC"}, True),
        ("fi", "\ufb01", {"normalization_form": "NFKC"}, True),
        ("cafe\u0301", "caf\u00e9", {"normalization_form": "NFC"}, True),
        ("cafe\u0301", "caf\u00e9", {}, False),
    ],
)
def test_options(pattern, text, options, found):
    assert status(RegexMatching(pattern=pattern, **options), text) == ("pass" if found else "fail")


def test_the_match_is_in_the_result():
    result = run(RegexMatching(pattern=r"AB-\d+"), "see AB-0107.")
    assert result.details["match"] == "AB-0107" and "'AB-0107'" in result.message
    assert "match" not in run(RegexMatching(pattern="x"), "a").details
    assert "as a whole" in run(RegexMatching(pattern="a", full_match=True), "ab").message


@pytest.mark.parametrize("pattern", ["(", "[", "*", r"\p{Nope}", "(" * 3000])
def test_a_bad_pattern_is_an_error(pattern):
    result = run(RegexMatching(pattern=pattern), "text")
    assert result.errored and result.error_kind == "config" and "regular expression" in result.message
    assert status(Not(check=RegexMatching(pattern=pattern)), "text") == "error"
    assert run(RegexMatching(pattern_key="trace.last.metadata.p"), "text", p=pattern).errored


def test_bad_options_are_refused():
    for options in ({"flags": "iz"}, {"flags": "ii"}, {"match_timeout_seconds": 0}, {"match_timeout_seconds": -1}):
        with pytest.raises(ValidationError):
            RegexMatching(pattern="a", **options)


def test_a_runaway_search_is_an_error_near_its_limit():
    check = RegexMatching(pattern=r"(a|aa)+$", match_timeout_seconds=0.2)
    start = time.monotonic()
    result = run(check, "a" * 4000 + "!")
    assert time.monotonic() - start < 10
    assert result.errored and result.error_kind == "timeout" and "0.2 s" in result.message
    case = TestCase(trace=T("a" * 4000 + "!"), checks=[check, StringMatching(keyword="a")])
    assert [r.status.value for r in asyncio.run(case.run()).results] == ["error", "pass"]


@pytest.mark.parametrize("keyword", ["", "  ", "\u3000"])
def test_a_keyword_that_every_text_contains_is_refused(keyword):
    with pytest.raises(ValidationError, match="every text contains it"):
        StringMatching(keyword=keyword)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(hello){e}", "HXLLO", False),
        ("total {d}", "total", False),
        ("total {d}", "total {d}", True),
        ("{e}x", "{e}x", True),
        ("a{2}", "aa", True),
        ("[{e}]+", "{e}", True),
        (r"\p{Lu}{2}", "AB", True),
    ],
)
def test_braces_are_what_they_are_in_re(pattern, text, found):
    assert status(RegexMatching(pattern=pattern), text) == ("pass" if found else "fail")


@pytest.mark.parametrize("make", BOTH)
def test_what_is_no_text_is_in_the_details(make):
    result = run(make(), 5)
    assert result.details == {"target_key": "trace.last.outputs", "value": 5}
    assert result.error_kind == "bad_type"
