"""What goes wrong with calls, what the message says, and what is tried again."""

import asyncio
import contextlib
import json
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.llm import _chat, _failures
from giskard.checks.llm._addresses import Address
from giskard.checks.llm.errors import ModelCallError
from giskard.checks.llm.generator import Generator
from giskard.checks.llm.retry_after import backoff, retry_after
from giskard.checks.llm.types import Completion, Message
from tests.llm import server as serving
from tests.llm.server import ModelServer

KEY = "sk-test-0123456789abcdefghij"
HELLO = [Message("user", "Hello?")]
HERE = Address("openai", "gpt-4o-mini", "http://localhost:9/v1", KEY)


def asking(server: ModelServer, **fields) -> Generator:
    return Generator(**{"model": "openai/gpt-4o-mini", "base_url": server.url, "api_key": KEY} | fields)


def ask(generator: Generator) -> Completion:
    return asyncio.run(generator.complete(HELLO))


def failure(generator: Generator) -> ModelCallError:
    with pytest.raises(ModelCallError) as caught:
        ask(generator)
    assert KEY not in str(caught.value)
    assert caught.value.args == (caught.value.message,)
    return caught.value


# --- told apart, and not tried again -----------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (serving.error(401, f"Incorrect API key provided: {KEY}."), "authentication", "check the api_key"),
        (serving.error(403, "Country not supported"), "authentication", "Country not supported"),
        (serving.error(402, "Payment required"), "quota", "no credit is left"),
        (serving.out_of_credit(), "quota", "no credit is left"),
        (serving.error(404, "The model `gpt-9` does not exist"), "config", "`gpt-9` does not exist"),
        (serving.error(400, "too long", code="context_length_exceeded"), "model_error", "too long"),
        (
            serving.error(400, "Blocked by content management policy", code="content_filter"),
            "refused",
            "content filter",
        ),
        (serving.refusal("I cannot help with that."), "refused", "I cannot help with that."),
        (serving.content_filter("Well, first you"), "refused", "content filter"),
        (serving.malformed(), "model_error", "not JSON"),
        (serving.empty(), "model_error", "nothing at all"),
        (serving.page(200), "model_error", "502 Bad Gateway"),
        (serving.Reply({"detail": "odd"}), "model_error", "odd"),
        (serving.Reply({"choices": []}), "model_error", "no chat completion"),
        (serving.Reply([1, 2]), "model_error", "no chat completion"),
        (serving.Reply({"error": {"message": "gone", "code": 404}}), "config", "gone"),
        (serving.Reply(status=307, headers={"Location": "http://example.com/v1"}), "config", "http://example.com/v1"),
        (serving.error(501, "not implemented"), "model_error", "not implemented"),
        (serving.error(500, "no use", headers={"x-should-retry": "false"}), "model_error", "no use"),
    ],
)
def test_what_no_repetition_helps_against_is_told_at_once(server, reply, kind, words):
    server.script(reply)

    error = failure(asking(server))

    assert (error.kind, error.retryable) == (kind, False)
    assert words in str(error)
    assert str(error).startswith(f"the model 'gpt-4o-mini' at {server.url}")
    assert len(server.requests) == 1
    assert error.usage is not None
    assert error.usage.calls == 1


def test_a_server_that_is_not_there_is_named():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"

    error = failure(Generator(model="any", base_url=url, max_retries=0))

    assert (error.kind, error.retryable) == ("network", True)
    assert url in str(error)
    assert "is the server running?" in str(error)


def test_keys_that_a_server_echoes_are_taken_out(server):
    others = "sk-proj-ABCDEFGHIJKLMNOPQRSTUVWXYZ012345 Bearer abcdefghijklmnopqrstuvwx0123"
    server.script(serving.error(400, f"Your headers: Authorization: Bearer {KEY}; {others}"))

    words = str(failure(asking(server)))

    assert "ABCDEFGHIJ" not in words
    assert "abcdefghij" not in words


def test_a_long_text_of_a_server_is_cut(server):
    server.script(serving.error(400, "so long! " * 10_000))

    assert len(str(failure(asking(server)))) < 600


# --- streams that nobody asked for -------------------------------------------------------


def chunk(words: str | None = None, reason: str | None = None, **more) -> str:
    choice = {"index": 0, "delta": {"content": words}, "finish_reason": reason}
    return json.dumps({"id": "x", "model": "m", "choices": [choice]} | more)


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        ([chunk("Yes, "), '{"error": {"message": "the GPU is gone", "type": "server_error"}}'], "model_error", "GPU"),
        (
            [chunk("Yes", "stop"), '{"error": {"message": "too late", "code": 400}}', "[DONE]"],
            "model_error",
            "too late",
        ),
        ([chunk("Yes"), '{"object": "error", "message": "too long", "code": 400}'], "model_error", "too long"),
        ([chunk("Yes, it"), chunk(" is")], "network", "after: Yes, it is"),
        ([chunk("Yes, it"), chunk(" is")[:-9]], "network", "after: Yes, it"),
        ([chunk("Yes, it"), "{broken", chunk(" is", "stop")], "model_error", "not JSON"),
        (["[DONE]"], "model_error", "no chat completion"),
        ([chunk("", "content_filter"), "[DONE]"], "refused", "content filter"),
        (
            [json.dumps({"choices": [{"delta": {"refusal": "I won't."}, "finish_reason": "stop"}]})],
            "refused",
            "I won't",
        ),
    ],
)
def test_a_stream_that_breaks_is_no_answer(server, data, kind, words):
    server.script(serving.events(data))

    error = failure(asking(server, max_retries=0))

    assert error.kind == kind
    assert words in str(error)


@pytest.mark.parametrize("end", [[chunk("", "stop")], ["[DONE]"], [chunk("", "stop"), "[DONE]"]])
def test_a_stream_is_at_its_end_when_it_says_so(server, end):
    server.script(serving.events([chunk("one line\u2028and "), chunk("another", error=None), *end]))

    assert ask(asking(server)).text == "one line\u2028and another"


# --- tried again -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        serving.error(500),
        serving.error(503, "overloaded"),
        serving.error(409, "conflict"),
        serving.page(502),
        serving.dropped(40),
        serving.dropped(-1),
        serving.rate_limited(),
    ],
)
def test_what_may_be_gone_is_tried_again(server, reply):
    server.script(reply)

    assert ask(asking(server)).text == "Hello from the test server."
    assert len(server.requests) == 2


def test_the_waits_between_tries_grow(server):
    server.script(*[serving.error(500)] * 2)

    answer = ask(asking(server))

    first, second, third = (request.time for request in server.requests)
    assert second - first > 0.37
    assert third - second > 0.74
    assert answer.usage is not None
    assert answer.usage.calls == 3


def test_after_the_last_try_the_last_failure_is_told(server):
    server.default = serving.error(503, "overloaded")

    error = failure(asking(server, max_retries=1))

    assert (error.kind, error.retryable, error.status) == ("model_error", True, 503)
    assert "(2 tries)" in str(error)
    assert error.usage is not None
    assert error.usage.calls == 2


def test_the_server_says_how_long_to_wait(server):
    server.script(serving.rate_limited(1))

    answer = ask(asking(server))

    first, second = (request.time for request in server.requests)
    assert second - first >= 1
    assert answer.usage is not None
    assert answer.usage.calls == 2


def test_the_server_says_until_when_to_wait(server):
    server.script(lambda _: serving.rate_limited(serving.date_in(3600)))

    error = failure(asking(server, max_retries=0))

    assert error.retry_after is not None
    assert 3000 < error.retry_after <= 3600


@pytest.mark.parametrize(
    "after", [pytest.param(serving.date_in(-60), id="a date in the past"), "0", "-5", "soon", "nan", "inf"]
)
def test_what_is_no_time_to_wait_is_not_waited(server, after):
    server.script(serving.rate_limited(after))

    answer = ask(asking(server, timeout=60))

    first, second = (request.time for request in server.requests)
    assert second - first > 0.3
    assert answer.text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "1e9"}, 1e9),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 -0000"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": "Thu, 99 Jan 2030 00:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_a_time_to_wait_is_read_or_is_none(headers, seconds):
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("zone", ["GMT", "-0000", "+0000"])
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be changed here")
def test_a_date_is_in_utc_wherever_the_tests_run(monkeypatch, zone):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        found = retry_after({"retry-after": serving.date_in(3600).replace("GMT", zone)})
    finally:
        monkeypatch.undo()
        time.tzset()

    assert found is not None
    assert 3000 < found <= 3600


@pytest.mark.parametrize(
    ("after", "words"), [("60", "asks to wait 60 s"), ("1000000000", "asks to wait 1,000,000,000 s")]
)
def test_a_wait_that_is_longer_than_the_call_may_take_is_not_begun(server, after, words):
    server.script(serving.rate_limited(after))
    generator = asking(server, timeout=30)

    async def both():
        return await asyncio.gather(generator.complete(HELLO), return_exceptions=True) + await asyncio.gather(
            generator.complete(HELLO), return_exceptions=True
        )

    first, second = asyncio.run(both())
    assert (first.kind, first.retryable, first.retry_after) == ("rate_limit", True, float(after))
    assert words in str(first)
    assert second.kind == "rate_limit"
    assert second.retry_after <= 3600  # by then the server is asked again, whatever it said
    assert words in str(second)  # the cause
    assert len(server.requests) == 1  # the second call was not even sent
    assert second.usage is not None
    assert second.usage.calls == 0


def test_a_timeout_tells_what_the_tries_before_met(server):
    server.script(serving.error(500, "first trouble"), serving.held())

    error = failure(asking(server, timeout=4))

    assert error.kind == "timeout"
    assert "first trouble" in str(error)


def test_waits_are_bounded_and_vary():
    assert len({backoff(3) for _ in range(20)}) > 1
    assert all(0.375 <= backoff(1) <= 0.5 for _ in range(50))
    assert all(15 <= backoff(tries) <= 20 for tries in (7, 50, 200, 100_000))


# --- whatever comes ----------------------------------------------------------------------

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
MESSAGE = st.fixed_dictionaries({"content": st.text() | ANYTHING}, optional={"refusal": st.none() | ANYTHING})
CHOICE = st.fixed_dictionaries(
    {}, optional={"message": MESSAGE | ANYTHING, "delta": MESSAGE | ANYTHING, "finish_reason": ANYTHING}
)
USED = st.dictionaries(
    st.sampled_from(["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details"]),
    st.integers() | ANYTHING,
)
NEARLY = st.fixed_dictionaries(
    {"choices": st.lists(CHOICE, min_size=1, max_size=2) | ANYTHING},
    optional={"usage": USED | ANYTHING, "model": ANYTHING, "error": ANYTHING},
)


@given(ANYTHING | NEARLY)
def test_whatever_data_comes_is_an_answer_or_a_failure(data):
    try:
        answer = _chat._read(HERE, data, 1)
    except ModelCallError as error:
        assert error.message
    else:
        assert answer.text is None or isinstance(answer.text, str)
        assert answer.usage is not None
        assert answer.model is None or isinstance(answer.model, str)
        assert answer.finish_reason is None or isinstance(answer.finish_reason, str)


@given(st.text() | st.lists(NEARLY.map(lambda data: f"data: {json.dumps(data)}")).map("\n".join))
def test_whatever_stream_comes_is_an_answer_or_a_failure(text):
    try:
        data = _chat._joined(HERE, text)
    except (ValueError, TypeError, AttributeError, ModelCallError):  # the first three of which `send` makes a failure
        return
    with contextlib.suppress(ModelCallError):
        _chat._read(HERE, data, 1)


@given(
    st.integers(300, 999),
    ANYTHING | st.binary() | st.text().map(lambda text: text + KEY),
    st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "x-should-retry"]), st.text()),
)
def test_whatever_failure_comes_has_a_kind_and_words(status, body, headers):
    error = _failures.failed_call(HERE, status, body, headers)

    assert error.message.startswith("the model 'gpt-4o-mini' at http://localhost:9/v1")
    assert KEY not in error.message
    assert "\n" not in error.message
    assert error.retry_after is None or error.retry_after >= 0
    assert error.status == status


def test_an_address_is_shown_without_what_may_be_secret_in_it():
    address = Address("compatible", "m", "https://me:secret@example.com/v1?key=secret")

    assert str(address) == "the model 'm' at https://example.com/v1"
    assert "secret" not in _failures.no_key(address).message
