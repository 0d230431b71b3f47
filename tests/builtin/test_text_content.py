"""ContainsAny, ContainsAll, StartsWith and WordCount."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from giskard.checks import (
    Check,
    ContainsAll,
    ContainsAny,
    EditDistance,
    Interaction,
    IsRefusal,
    JsonDiff,
    JsonValid,
    LanguageIs,
    ListContains,
    NoPII,
    NoRepetition,
    Not,
    Readability,
    RegexMatching,
    StartsWith,
    StringMatching,
    Trace,
    WordCount,
)

KEY = "trace.last.outputs"
ALL = [
    ContainsAny(values=["a"]),
    ContainsAll(values=["a"]),
    StartsWith(prefix="a"),
    WordCount(min_words=1),
]


def run(check, outputs=None, **metadata):
    trace = Trace(interactions=[Interaction(inputs="q", outputs=outputs, metadata=metadata)])
    return asyncio.run(check.run(trace))


def status(check, outputs=None, **metadata):
    return run(check, outputs, **metadata).status.value


# --- all ---------------------------------------------------------------------------------


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.kind)
@pytest.mark.parametrize("output", [None, ["a"], {"a": "a"}, b"a", 5])
def test_what_is_no_text_is_an_error(check, output):
    result = run(check, output)
    assert result.errored and result.error_kind == "bad_type"
    assert type(output).__name__ in result.message and KEY in result.message
    assert status(Not(check=check), output) == "error"


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.kind)
def test_a_missing_text_is_an_error(check):
    for trace in (Trace(), Trace(interactions=[Interaction(inputs="q", outputs={"b": "a"})])):
        there = check.model_copy(update={"target_key": "trace.last.outputs.typo"})
        result = asyncio.run(there.run(trace))
        assert result.error_kind == "missing_value" and "trace.last.outputs.typo" in result.message


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.kind)
def test_a_literal_text_wins_over_the_path(check):
    literal = check.model_copy(update={"text": "a b", "target_key": "trace.last.outputs.absent"})
    assert asyncio.run(literal.run(Trace())).passed
    assert status(check.model_copy(update={"text": ""}), "a") == "fail"


@pytest.mark.parametrize(
    "check",
    [
        ContainsAny(values=["a", "b"], case_sensitive=False, normalization_form=None),
        ContainsAll(values_key="trace.last.metadata.words", text="x", name="n"),
        StartsWith(prefix="a"),
        StartsWith(prefix=["a", "b"], target_key="trace.last.inputs"),
        StartsWith(prefix_key="trace.last.metadata.p"),
        WordCount(min_words=1, max_words=9),
        WordCount(max_words=0, severity="warning"),
    ],
    ids=repr,
)
def test_save_and_load(check):
    for loaded in (Check.model_validate_json(check.model_dump_json()), Check.model_validate(check.model_dump())):
        assert type(loaded) is type(check) and loaded == check


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ContainsAny(), "neither was given"),
        (lambda: ContainsAll(values=["a"], values_key=KEY), "both were given"),
        (lambda: ContainsAny(values=[]), "the list is empty"),
        (lambda: ContainsAll(values=["a", " \n"]), "stands in every text"),
        (lambda: ContainsAny(values="abc"), "valid list"),
        (lambda: ContainsAny(values=[5]), "valid string"),
        (lambda: StartsWith(), "neither was given"),
        (lambda: StartsWith(prefix=""), "stands in every text"),
        (lambda: StartsWith(prefix=[]), "the list is empty"),
        (lambda: StartsWith(prefix=["a", ""]), "stands in every text"),
        (lambda: StartsWith(prefix=5), "valid string"),
        (lambda: StartsWith(prefix_key="last"), "starts with 'trace.'"),
        (lambda: WordCount(), "give min_words or max_words"),
        (lambda: WordCount(min_words=0), "every text has at least 0 words"),
        (lambda: WordCount(min_words=5, max_words=3), "min_words 5 is greater than max_words 3"),
        (lambda: WordCount(max_words=-1), "greater than or equal to 0"),
        (lambda: WordCount(max_words=True), "valid integer"),
        (lambda: WordCount(max_word=1), "did you mean 'max_words'"),
    ],
)
def test_what_is_refused_when_it_is_built(make, words):
    with pytest.raises(ValidationError, match=words):
        make()


@pytest.mark.parametrize("unit", ["a", "\ud800", "\u200b", "\u202eא", "e\u0301", "word ", "漢"])
def test_long_and_odd_texts_get_a_verdict(unit):
    text = unit * ((5_000_000 if unit in ("a", "漢") else 500_000) // len(unit))
    checks = [
        ContainsAny(values=["needle", "a needle"]),
        ContainsAll(values=["needle"], case_sensitive=False),
        StartsWith(prefix="needle"),
        WordCount(max_words=10_000_000),
    ]
    start = time.process_time()
    results = [run(check, text) for check in checks]

    assert [result.status.value for result in results] == ["fail", "fail", "fail", "pass"]
    assert all(len(result.message) < 2_000 for result in results)
    assert time.process_time() - start < 60


# --- ContainsAny, ContainsAll ------------------------------------------------------------


def test_some_and_all():
    text = "Your account is free."
    some = run(ContainsAny(values=["fee", "free", "account"]), text)
    assert some.passed and some.message == "the text contains 2 of 3 keywords: 'free', 'account'"
    assert some.details["found"] == ["free", "account"] and some.details["missing"] == ["fee"]
    assert [(metric.name, metric.value) for metric in some.metrics] == [("keywords_found", 2)]

    every = run(ContainsAll(values=["fee", "free", "loan"]), text)
    assert every.failed
    assert every.message == f"2 of 3 keywords are missing: 'fee', 'loan'; the text: {text!r}"
    none = run(ContainsAny(values=["fee"], case_sensitive=False), text)
    assert none.message == f"1 of 1 keyword is missing, in whatever letter case: 'fee'; the text: {text!r}"
    assert status(ContainsAll(values=["free", "account"]), text) == "pass"


@pytest.mark.parametrize(
    ("text", "value", "options", "found"),
    [
        ("The FEE", "fee", {}, False),
        ("The FEE", "fee", {"case_sensitive": False}, True),
        ("HAUPTSTRASSE", "straße", {"case_sensitive": False}, True),
        ("cafe\u0301", "caf\u00e9", {}, True),
        ("cafe\u0301", "caf\u00e9", {"normalization_form": None}, False),
        ("a \n b", "a b", {}, True),
        ("\ufb01ne", "fine", {"normalization_form": "NFC"}, False),
    ],
)
def test_texts_are_compared_in_one_spelling(text, value, options, found):
    for cls in (ContainsAny, ContainsAll):
        assert (status(cls(values=[value], **options), text) == "pass") is found


def test_the_values_of_the_trace():
    check = ContainsAll(values_key="trace.last.metadata.words")
    assert status(check, "a b", words=["a", "b"]) == "pass"
    assert status(check, "a b", words=("a", "c")) == "fail"
    assert status(check, "a b", words="a") == "pass"
    assert (
        status(ContainsAny(values_key="trace.last.metadata.words[*].w"), "a", words=[{"w": "a"}, {"w": "x"}]) == "pass"
    )
    for words, kind in ([], "missing_value"), (["a", " "], "missing_value"), (["a", 5], "bad_type"), (5, "bad_type"):
        result = run(check, "a b", words=words)
        assert result.error_kind == kind and "values_key" in result.message
    assert run(check, "a b").error_kind == "missing_value"


def test_many_keywords_are_named_in_part():
    result = run(ContainsAll(values=[f"word{n}" for n in range(500)]), "nothing")
    assert "500 of 500 keywords are missing" in result.message and "and 490 more" in result.message
    assert len(result.message) < 500 and len(result.details["missing"]) == 500


@given(
    st.text(),
    st.lists(st.text().filter(str.strip), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([None, "NFC", "NFKC"]),
)
def test_all_implies_any(text, values, case_sensitive, form):
    options = {"case_sensitive": case_sensitive, "normalization_form": form}
    every = run(ContainsAll(values=values, **options), text)
    some = run(ContainsAny(values=values, **options), text)
    assert not (every.passed and some.failed)
    assert every.details["found"] == some.details["found"]
    assert every.passed == (not every.details["missing"])
    assert status(ContainsAll(values=values, **options), " ".join(values)) == "pass"


# --- StartsWith --------------------------------------------------------------------------


def test_how_a_text_starts():
    assert run(StartsWith(prefix="Dear"), "Dear Ada").message == "the text starts with 'Dear'"
    assert status(StartsWith(prefix="Dear"), " \n Dear Ada") == "pass"
    assert status(StartsWith(prefix="Dear", normalization_form=None), " Dear Ada") == "fail"
    assert run(StartsWith(prefix="dear"), "Dear").message == "the text does not start with 'dear': 'Dear'"
    several = StartsWith(prefix=["dear", "hello"], case_sensitive=False)
    assert run(several, "HELLO!").details["found"] == "hello"
    assert run(several, "Hi").message == "the text starts with none of 'dear', 'hello', in whatever letter case: 'Hi'"
    assert status(StartsWith(prefix="cafe"), "cafe\u0301") == "fail"
    assert status(StartsWith(prefix="caf\u00e9"), "cafe\u0301s") == "pass"
    assert status(StartsWith(prefix="straße", case_sensitive=False), "STRASSE 7") == "pass"


def test_the_prefix_of_the_trace():
    check = StartsWith(prefix_key="trace.last.metadata.p")
    assert status(check, "abc", p="ab") == status(check, "abc", p=["x", "a"]) == "pass"
    assert status(check, "abc", p="b") == "fail"
    for p in ("", [], [" "], None, 5):
        assert status(check, "abc", p=p) == "error"


@given(st.text(), st.text().filter(str.strip))
def test_a_text_starts_with_its_beginning(rest, prefix):
    assert status(StartsWith(prefix=prefix, normalization_form=None), prefix + rest) == "pass"
    assert status(StartsWith(prefix=prefix), f"{prefix} {rest}") == "pass"


# --- WordCount ---------------------------------------------------------------------------


def test_the_number_of_words():
    text = "word " * 134
    result = run(WordCount(max_words=120), text)
    assert result.failed and result.message == "word count is 134, at most 120 were expected"
    assert [(metric.name, metric.value) for metric in result.metrics] == [("word_count", 134)]
    assert run(WordCount(min_words=200), text).message == "word count is 134, at least 200 were expected"
    assert run(WordCount(min_words=134, max_words=134), text).message == "word count is 134"
    assert run(WordCount(max_words=1), "a b").message == "word count is 2, at most 1 was expected"


def test_texts_without_words():
    assert run(WordCount(min_words=1), "").message == "word count is 0, at least 1 was expected"
    assert status(WordCount(max_words=0), "👍 !") == "pass"


def test_scripts_without_spaces():
    assert run(WordCount(max_words=3), "今天天气很好").details["word_count"] == 6


_KEYS = ["trace.last.outputs", "trace.interactions[2].outputs", "trace.interactions[-1].outputs"]


@pytest.mark.parametrize("key", _KEYS)
@pytest.mark.parametrize(
    "check",
    [
        StringMatching(keyword="x"),
        RegexMatching(pattern="x"),
        ContainsAny(values=["x"]),
        EditDistance(expected_text="x", max_distance=1),
        IsRefusal(),
        LanguageIs(language="en"),
        NoPII(),
        NoRepetition(),
        Readability(min_score=1),
        JsonValid(),
        JsonValid(parse=False),
        JsonDiff(expected={}),
        ListContains(values=[1]),
    ],
    ids=lambda check: check.kind,
)
def test_an_answer_that_was_not_recorded_is_told_as_such(check, key):
    turns = [Interaction(inputs="q", outputs=text) for text in ("a", "b")]
    last = Interaction(inputs="q", outputs=None, metadata={"incomplete": True})
    result = asyncio.run(check.model_copy(update={"target_key": key}).run(Trace(interactions=[*turns, last])))

    assert result.errored
    told = "; no answer was recorded in that turn (it is incomplete)"
    assert result.message.endswith(f"{told}; the last answer is at 'trace.interactions[1].outputs'")
    alone = asyncio.run(check.run(Trace(interactions=[last])))
    assert alone.errored and alone.message.endswith(told)


def test_an_answer_that_is_none_without_a_word_is_no_missing_one():
    check = StringMatching(keyword="x")
    result = asyncio.run(check.run(Trace(interactions=[Interaction(inputs="q", outputs=None)])))

    assert result.message == "expected a text at 'trace.last.outputs' (target_key), got NoneType: None"
