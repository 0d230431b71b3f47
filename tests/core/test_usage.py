"""Tokens, as frameworks and providers tell of them."""

from types import SimpleNamespace

import pytest

from giskard.checks import Usage
from giskard.checks.core.usage import usage_of

WHOLE = Usage(input_tokens=3, output_tokens=2, total_tokens=5, calls=1)


@pytest.mark.parametrize("kind", [dict, SimpleNamespace])
@pytest.mark.parametrize("sent", ["input_tokens", "prompt_tokens"])
@pytest.mark.parametrize("made", ["output_tokens", "completion_tokens"])
def test_all_ways_to_tell_of_usage_are_read_alike(kind, sent, made):
    told = {sent: 3, made: 2}

    assert usage_of(kind(**told)) == usage_of(kind(**told, total_tokens=5)) == WHOLE


def test_a_total_is_what_was_told_and_else_the_sum_of_both():
    assert usage_of({"input_tokens": 3, "output_tokens": 2, "total_tokens": 9}) == Usage(
        input_tokens=3, output_tokens=2, total_tokens=9, calls=1
    )
    assert usage_of({"input_tokens": 3}) == Usage(input_tokens=3, calls=1)
    assert usage_of({"output_tokens": 2}) == Usage(output_tokens=2, calls=1)
    assert usage_of({"total_tokens": 5}) == Usage(total_tokens=5, calls=1)


@pytest.mark.parametrize("name", ["requests", "successful_requests"])
@pytest.mark.parametrize("calls", [0, 4])
def test_requests_that_are_told_count_as_calls(name, calls):
    assert usage_of({"total_tokens": 5, name: calls}) == Usage(total_tokens=5, calls=calls)


@pytest.mark.parametrize("odd", [None, "7", 7.0, True, [7]])
def test_what_is_no_whole_number_is_no_count(odd):
    assert usage_of({"input_tokens": odd, "prompt_tokens": 3, "output_tokens": 2, "requests": odd}) == WHOLE
    assert usage_of({"input_tokens": odd, "output_tokens": odd, "total_tokens": odd}) is None


@pytest.mark.parametrize("nothing", [None, {}, {"requests": 2}, SimpleNamespace(), "text"])
def test_without_tokens_nothing_is_known(nothing):
    assert usage_of(nothing) is None


def test_none_is_told_apart_from_zero():
    assert usage_of({"input_tokens": 0, "prompt_tokens": 3, "output_tokens": 2}) == Usage(
        input_tokens=0, output_tokens=2, total_tokens=2, calls=1
    )
