"""Services over HTTP, asked on loopback."""

import asyncio
import gc
import gzip
import json
import threading
from email.utils import formatdate

import pytest
from pydantic import BaseModel

from giskard.checks import Interact, Scenario, StringMatching, Suite, Trace, from_fn
from giskard.checks.core.exceptions import ConfigurationError, LimitExceededError
from giskard.checks.targets import HTTPTarget, TargetError
from tests.targets.server import DROP, HANG, PAUSE, Server, chunked, gzipped, json_reply, reply, sse


def ask(target, inputs="hello", **context):
    return asyncio.run(target(inputs, **context))


def failure_of(target, inputs="hello", **context):
    with pytest.raises(TargetError) as caught:
        ask(target, inputs, **context)
    return caught.value


# --- the request -------------------------------------------------------------------------


def test_by_default_the_inputs_are_posted_as_json():
    with Server() as server:
        turn = ask(HTTPTarget(server.url + "/chat"))

    (request,) = server.requests
    assert (request.method, request.path, request.json) == ("POST", "/chat", {"inputs": "hello"})
    assert request.headers["content-type"] == "application/json"
    assert turn.inputs == "hello"
    assert turn.outputs["body"] == {"inputs": "hello"}
    call = turn.metadata["target"]
    assert call["kind"] == "http"
    assert call["http"] == {"status": 200, "headers": {"content-type": "application/json"}, "tries": 1}
    assert call["latency_ms"] > 0
    assert set(turn.metadata) == {"target"}


def test_the_body_is_data_with_placeholders():
    body = {
        "q": "{{ inputs.q }}",
        "n": ["{{trial}}", "try {{ trial }} of {{ inputs.max[0] }}"],
        "all": "{{ inputs }}",
        "x": None,
    }
    with Server() as server:
        ask(HTTPTarget(server.url, body=body), {"q": True, "max": [3]}, trial=2)

    assert server.requests[0].json == {"q": True, "n": [2, "try 2 of 3"], "all": {"q": True, "max": [3]}, "x": None}


def test_the_history_goes_with_it():
    trace = Trace(interactions=[{"inputs": "a", "outputs": "b"}, {"inputs": {"n": 1}, "outputs": None}])
    body = {"history": "{{ history }}", "messages": "{{ messages }}"}
    with Server() as server:
        ask(HTTPTarget(server.url, body=body), "c", trace=trace)

    said = [("user", "a"), ("assistant", "b"), ("user", '{"n": 1}'), ("assistant", "")]
    sent = server.requests[0].json
    assert [(m["role"], m["content"]) for m in sent["history"]] == said
    assert [(m["role"], m["content"]) for m in sent["messages"]] == [*said, ("user", "c")]


def test_a_text_as_body_is_sent_as_text_and_models_as_json():
    class Order(BaseModel):
        id: int

    with Server() as server:
        target = HTTPTarget(server.url, body="{{ inputs }}")
        ask(target, 'a "b" é')
        ask(target, Order(id=3))

    text, data = server.requests
    assert (text.body.decode(), text.headers["content-type"]) == ('a "b" é', "text/plain; charset=utf-8")
    assert (data.json, data.headers["content-type"]) == ({"id": 3}, "application/json")


def test_a_get_has_its_inputs_in_the_query_or_the_path():
    with Server() as server:
        query = HTTPTarget(
            server.url + "/s?lang=en", "get", params={"q": "{{ inputs }}", "tag": ["a", "b"], "no": None}
        )
        ask(query, "a&b=c/ü")
        ask(HTTPTarget(server.url + "/s/{{ inputs }}", "GET"), "../a b?c#d")

    assert [request.path for request in server.requests] == [
        "/s?lang=en&q=a%26b%3Dc%2F%C3%BC&tag=a&tag=b",
        "/s/..%2Fa%20b%3Fc%23d",
    ]
    assert [request.body for request in server.requests] == [b"", b""]


def test_headers_take_variables_of_the_environment_when_they_are_sent(monkeypatch):
    with Server() as server:
        target = HTTPTarget(server.url, headers={"Authorization": "Bearer ${MY_API_KEY}", "X-Team": "qa"})
        monkeypatch.setenv("MY_API_KEY", "first-key")
        ask(target)
        monkeypatch.setenv("MY_API_KEY", "second-key")
        ask(target)
        monkeypatch.delenv("MY_API_KEY")
        with pytest.raises(
            ConfigurationError, match=r"header 'Authorization' asks for .* MY_API_KEY, which is not set"
        ):
            ask(target)

    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer first-key",
        "Bearer second-key",
    ]
    assert server.requests[0].headers["x-team"] == "qa"


@pytest.mark.parametrize("value", ["line\r\nX-Injected: 1", "schlüssel", "nul\0"])
def test_what_no_header_can_hold_is_refused_without_being_shown(value, monkeypatch):
    monkeypatch.setattr("os.environ", {"MY_API_KEY": value})
    with Server() as server, pytest.raises(ConfigurationError) as caught:
        ask(HTTPTarget(server.url, headers={"Authorization": "Bearer ${MY_API_KEY}"}))

    assert value not in str(caught.value)
    assert server.requests == []


def test_inputs_that_are_no_json_are_an_error_of_their_own():
    with Server() as server:
        assert "cannot be sent as JSON" in str(failure_of(HTTPTarget(server.url), object()))
        assert "JSON" in str(failure_of(HTTPTarget(server.url), float("nan")))
        missing = failure_of(HTTPTarget(server.url, body={"q": "{{ inputs.quest }}"}), {"question": 1})

    assert "did you mean 'question'?" in str(missing)
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "http://["}, "expected one that begins with http"),
        ({"url": "localhost:80"}, "expected one that begins with http"),
        ({"url": "ftp://host/x"}, "expected one that begins with http"),
        ({"url": "http://me:secret-word@host"}, "name or a password in it"),
        ({"body": {"q": "{{ input }}"}}, "did you mean 'inputs'?"),
        ({"body": {"q": "hello"}}, "says where the inputs go"),
        ({"body": {"{{ inputs }}": 1}}, "has the key"),
        ({"body": {"q": {1, object()}}}, "no JSON data"),
        ({"method": "GET"}, "says where the inputs go"),
        ({"response_path": "$..["}, "is no path into a reply"),
        ({"conversation_id": "x-session"}, "expected 'header:NAME'"),
        ({"conversation_id": "body:id", "body": "{{ inputs }}"}, "the body is no dictionary"),
        ({"conversation_id_from": "header:x-id"}, "is sent nowhere"),
        ({"timeout": 0}, "positive"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError) as caught:
        HTTPTarget(**{"url": "http://localhost", **options})

    assert message in str(caught.value)
    assert "secret-word" not in str(caught.value)


# --- the answer --------------------------------------------------------------------------


def test_a_path_leads_to_the_outputs():
    data = {"choices": [{"message": {"content": "hi"}}]}
    with Server(default=lambda _: json_reply(data)) as server:
        outputs = [
            ask(HTTPTarget(server.url, response_path=path)).outputs
            for path in ("$.choices[0].message.content", "choices[0].message", "$..content", "$")
        ]

    assert outputs == ["hi", {"content": "hi"}, ["hi"], data]


def test_a_path_into_a_list():
    with Server(json_reply([{"text": "a"}, {"text": "b"}])) as server:
        assert ask(HTTPTarget(server.url, response_path="$[1].text")).outputs == "b"


def test_a_path_that_leads_nowhere_says_where_it_ends():
    with Server(json_reply({"data": {"reply": "hi"}})) as server:
        error = failure_of(HTTPTarget(server.url, response_path="$.data.replay"))

    assert "$.data has no 'replay'; did you mean 'reply'?" in str(error)
    assert error.kind == "missing_value"


@pytest.mark.parametrize(
    ("answer", "outputs"),
    [
        (reply("plain"), "plain"),
        (reply(""), ""),
        (reply("", 204, None), None),
        (json_reply({"a": [1, None]}), {"a": [1, None]}),
        (json_reply("text"), "text"),
        (reply('{"a": 1}', content_type="application/problem+json"), {"a": 1}),
        (reply("\ufeff[1]".encode(), content_type="application/json"), [1]),
        (reply("é".encode("latin-1"), content_type="text/plain; charset=ISO-8859-1"), "é"),
        (reply("é", content_type="text/plain; charset=no-such-thing"), "é"),
        (reply(b"a\xffb"), "a\ufffdb"),
        (reply("\u20acé".encode("cp1252"), content_type='text/plain; charset="Windows-1252"'), "\u20acé"),
        (reply("日本".encode("shift_jis"), content_type="text/plain; charset=Shift_JIS"), "日本"),
        (reply("é".encode("utf-16"), content_type="text/plain; charset=UTF-16"), "é"),
        (reply(b"\x00\xd8", content_type="text/plain; charset=UTF-16LE"), "\ufffd"),
        *(
            (reply(b"a\\ud800\xc3\xa9", content_type=f"text/plain; charset={name}"), "a\\ud800é")
            for name in (
                "punycode",
                "idna",
                "undefined",
                "unicode_escape",
                "raw-unicode-escape",
                "zlib",
                "rot13",
                "utf-7",
            )
        ),
        (gzipped("small " * 1000), "small " * 1000),
        (reply("no type", content_type=None), "no type"),
    ],
)
def test_bodies_of_all_kinds(answer, outputs):
    with Server(answer) as server:
        assert ask(HTTPTarget(server.url)).outputs == outputs


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (reply('{"a": ', content_type="application/json"), "is no JSON"),
        (reply("<html>Oh no</html>", content_type="application/json"), "'<html>Oh no</html>'"),
        (reply("", content_type="application/json"), "with an empty body"),
        (reply("[" * 100_000, content_type="application/json"), "nested too deeply"),
        (reply(b"not gzip", headers={"Content-Encoding": "gzip"}), "cannot be unpacked"),
    ],
)
def test_bodies_that_cannot_be_read(answer, message):
    with Server(answer) as server:
        assert message in str(failure_of(HTTPTarget(server.url)))


def test_no_charset_takes_long():
    body = b"a" * 100_000 + b"-" + b"a" * 1_900_000  # this takes Python's punycode a minute
    with Server(reply(body, content_type="text/plain; charset=punycode")) as server:
        assert len(ask(HTTPTarget(server.url, timeout=10)).outputs) == 2_000_001


def test_an_answer_that_is_too_large_is_not_read_to_its_end():
    endless = chunked(*["x" * 1000] * 20, HANG, content_type="text/plain")
    with Server(endless, gzipped("0" * 1_000_000)) as server:
        assert "more than 10,000 bytes" in str(failure_of(HTTPTarget(server.url, max_bytes=10_000)))
        assert "more than 10,000 bytes" in str(failure_of(HTTPTarget(server.url, max_bytes=10_000)))


@pytest.mark.parametrize("kind", ["text/plain", "text/event-stream", "application/x-ndjson"])
def test_what_unpacks_to_more_than_that_is_not_either(kind):
    text = {"text/plain": "0" * 5_000_000, "text/event-stream": "data: 000000\n\n" * 400_000}.get(
        kind, "0\n" * 2_500_000
    )
    bomb = reply(gzip.compress(text.encode()), content_type=kind, headers={"Content-Encoding": "gzip"})
    assert len(bomb) < 50_000
    with Server(bomb) as server:
        assert "more than 1,000,000 bytes" in str(failure_of(HTTPTarget(server.url, max_bytes=1_000_000)))


def test_a_bomb_that_is_an_error_is_shown_by_its_beginning():
    bomb = reply(gzip.compress(b"0" * 5_000_000), 500, headers={"Content-Encoding": "gzip"})
    with Server(bomb) as server:
        assert len(str(failure_of(HTTPTarget(server.url, max_bytes=1000)))) < 800


def test_a_server_of_the_first_version_ends_its_answer_with_the_connection():
    head = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
    events = b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\ndata: b\n\n"
    with Server([head, b'{"a": ', b"1}", DROP], [head, b'{"a": ', DROP], [events, DROP]) as server:
        target = HTTPTarget(server.url)
        assert ask(target).outputs == {"a": 1}
        assert "is no JSON" in str(failure_of(target))
        assert ask(target).outputs == "ab"


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "crash", False),
        (401, "authentication", False),
        (404, "crash", False),
        (418, "crash", False),
        (500, "crash", False),
    ],
)
def test_other_statuses_are_errors_with_the_beginning_of_the_body(status, kind, retryable):
    with Server(reply("It broke. " + "x" * 2000, status)) as server:
        error = failure_of(HTTPTarget(server.url + "/v1?key=abcdef", max_retries=5))

    assert f"POST {server.url}/v1?key=… answered {status} Status: 'It broke. xxx" in str(error)
    assert "abcdef" not in str(error)
    assert len(str(error)) < 800
    assert (error.status, error.kind, error.retryable) == (status, kind, retryable)
    assert len(server.requests) == 1


def test_a_status_can_be_an_answer():
    with Server(json_reply({"refused": True}, 403)) as server:
        turn = ask(HTTPTarget(server.url, accept=(403,)))

    assert (turn.outputs, turn.metadata["target"]["http"]["status"]) == ({"refused": True}, 403)


def test_a_key_that_the_service_echoes_is_not_shown(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sesame-open")
    with Server(reply("bad key sesame-open", 401), reply("bad key swordfish-1", 401)) as server:
        first = failure_of(HTTPTarget(server.url, headers={"X-Api-Key": "${MY_API_KEY}"}))
        second = failure_of(HTTPTarget(server.url, headers={"Authorization": "Bearer swordfish-1"}))

    assert str(first).endswith("'bad key [secret]'")
    assert str(second).endswith("'bad key [secret]'")


def test_headers_that_are_asked_for_are_noted():
    with Server(reply("x", headers={"X-Request-Id": "r1", "Set-Cookie": "a=b"})) as server:
        turn = ask(HTTPTarget(server.url, keep_headers=("X-Request-Id", "x-none")))

    assert turn.metadata["target"]["http"]["headers"] == {"x-request-id": "r1"}


# --- trying again ------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("after", ["0", "0.01", formatdate(0, usegmt=True)])
def test_what_was_not_taken_is_sent_again(status, after):
    busy = reply("busy", status, headers={"Retry-After": after})
    with Server(busy, busy, reply("fine")) as server:
        turn = ask(HTTPTarget(server.url))

    assert turn.outputs == "fine"
    assert turn.metadata["target"]["http"]["tries"] == 3
    assert [request.body for request in server.requests] == [b'{"inputs": "hello"}'] * 3


def test_it_ends_after_so_many_tries():
    with Server(default=lambda _: reply("busy", 429, headers={"Retry-After": "0"})) as server:
        error = failure_of(HTTPTarget(server.url, max_retries=2))

    assert (error.kind, error.status, error.retryable, error.retry_after) == ("rate_limit", 429, True, 0)
    assert "(3 tries)" in str(error)
    assert len(server.requests) == 3


def test_nobody_waits_for_a_try_that_the_timeout_does_not_leave():
    with Server(reply("busy", 503, headers={"Retry-After": "3600"})) as server:
        error = failure_of(HTTPTarget(server.url, timeout=30))

    assert "the next try would be in 3.6e+03 s" in str(error)
    assert len(server.requests) == 1


def test_without_retry_after_the_waits_are_short_and_grow(monkeypatch):
    monkeypatch.setattr("giskard.checks.targets._http.backoff", lambda tries: tries / 1000)
    with Server(reply("", 503), reply("fine")) as server:
        assert ask(HTTPTarget(server.url)).outputs == "fine"


@pytest.mark.parametrize(("method", "count"), [("GET", 2), ("PUT", 2), ("POST", 1), ("PATCH", 1)])
@pytest.mark.parametrize("lost", [[DROP], reply("abc", length=100), reply("", 502)], ids=["dropped", "cut", "gateway"])
def test_a_lost_answer_is_asked_for_again_only_when_that_is_safe(method, count, lost, monkeypatch):
    monkeypatch.setattr("giskard.checks.targets._http.backoff", lambda tries: tries / 1000)
    if isinstance(lost, bytes) and b"502" not in lost:
        lost = [lost, DROP]
    with Server(lost, reply("fine")) as server:
        target = HTTPTarget(server.url + "/{{ inputs }}", method)
        if count == 2:
            assert ask(target).outputs == "fine"
        else:
            error = failure_of(target)
            assert "502" in str(error) or "dropped the connection" in str(error)
            assert error.kind == "network" or error.status == 502

    assert len(server.requests) == count


def test_a_service_that_is_not_there(monkeypatch):
    monkeypatch.setattr("giskard.checks.targets._http.backoff", lambda tries: tries / 1000)
    with Server() as server:
        url = server.url
    error = failure_of(HTTPTarget(url, max_retries=1))

    assert "could not be reached" in str(error)
    assert "(2 tries)" in str(error)
    assert (error.kind, error.retryable) == ("network", True)


# --- time --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "slow",
    [[HANG], [reply("abc", length=100), HANG], chunked("data: a\n\n", HANG)],
    ids=["no answer", "half a body", "half a stream"],
)
def test_a_slow_service_is_given_up(slow):
    with Server(slow) as server:
        with pytest.raises(LimitExceededError, match=r"timeout after 0.3 s: POST .* gave no complete answer"):
            ask(HTTPTarget(server.url, timeout=0.3))
        assert server.gone.wait(10)  # the connection is not kept


def test_a_drip_is_no_progress():
    drip = chunked(*[".", PAUSE] * 100, content_type="text/plain")
    with Server(drip) as server, pytest.raises(LimitExceededError):
        ask(HTTPTarget(server.url, timeout=0.3))
    assert server.gone.is_set()


@pytest.mark.parametrize("piece", ["data: a\n\n", ": nothing to tell\n\n", "data: a\n"])
def test_an_endless_stream_ends_with_the_timeout(piece):
    with Server(chunked(*[piece, PAUSE] * 1000)) as server:
        with pytest.raises(LimitExceededError, match=r"timeout after 0\.3 s"):
            ask(HTTPTarget(server.url, timeout=0.3))
        assert server.gone.wait(10)


def test_the_limit_of_the_interaction_ends_the_call():
    with Server([HANG]) as server:
        case = Scenario("slow").add_interaction(Interact(inputs="hi", outputs=HTTPTarget(server.url), timeout=0.2))
        result = asyncio.run(case.run(return_exception=True))
        assert server.gone.wait(10)

    assert result.steps[0].error.message == "timeout after 0.2 s in the target, turn 1"


# --- redirects ---------------------------------------------------------------------------


def test_redirects_are_followed_with_everything_on_the_same_host():
    with Server(
        reply("", 307, headers={"Location": "/new?x=1", "Set-Cookie": "seen=1"}),
        reply("", 303, headers={"Location": "/done"}),
        reply("fine"),
    ) as server:
        assert ask(HTTPTarget(server.url + "/old", headers={"X-Api-Key": "k1"})).outputs == "fine"

    seen = [(r.method, r.path, r.body, r.headers["x-api-key"], r.headers.get("cookie")) for r in server.requests]
    assert seen == [
        ("POST", "/old", b'{"inputs": "hello"}', "k1", None),
        ("POST", "/new?x=1", b'{"inputs": "hello"}', "k1", "seen=1"),
        ("GET", "/done", b"", "k1", "seen=1"),
    ]
    assert "content-length" not in server.requests[2].headers


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_host_is_not_asked(method, status):
    with Server(reply("never")) as other, Server() as server:
        server.script.append(reply("", status, headers={"Location": other.url + "/result?x=1"}))
        error = failure_of(HTTPTarget(server.url, method, params={"q": "{{ inputs }}"}))

    assert f"redirects to another server, {other.url}/result?x=…, which was not asked" in str(error)
    assert (error.kind, error.status) == ("config", status)
    assert other.connections == 0


def test_a_circle_of_redirects_ends():
    with Server(default=lambda _: reply("", 302, headers={"Location": "/again"})) as server:
        assert "more than 10 times" in str(failure_of(HTTPTarget(server.url)))


@pytest.mark.parametrize("location", ["http://[", "mailto:someone@example.com"])
def test_a_redirect_to_no_address(location):
    with Server(reply("", 302, headers={"Location": location})) as server:
        assert "which is no address" in str(failure_of(HTTPTarget(server.url)))


# --- streams -----------------------------------------------------------------------------


def test_server_sent_events_are_joined_by_a_path():
    chunks = [json.dumps({"delta": {"text": text}}) for text in ("Hel", "lo ", "wörld")]
    with Server(sse('{"delta": {"role": "x"}}', *chunks, '{"delta": {}}')) as server:
        turn = ask(HTTPTarget(server.url, stream_path="$.delta.text"))

    assert turn.outputs == "Hello wörld"
    assert 0 < turn.metadata["time_to_first_chunk"] * 1000 <= turn.metadata["target"]["latency_ms"]


def test_events_without_a_path():
    with Server(sse("Hello", " world"), sse('{"a": 1}', '"text"', "{no json")) as server:
        target = HTTPTarget(server.url)
        assert ask(target).outputs == "Hello world"
        assert ask(target).outputs == [{"a": 1}, "text", "{no json"]


def test_nothing_is_read_after_done():
    with Server([*sse("a")[:-1], HANG]) as server:
        assert ask(HTTPTarget(server.url, timeout=30)).outputs == "a"


def test_events_in_odd_pieces():
    body = ": a comment\r\n\r\nid: 7\r\ndata: on\r\ndata: e\r\n\r\nevent: x\rdata: two\r\rdata\n\ndata:three\n\n"
    with Server(chunked(*body)) as server:
        assert ask(HTTPTarget(server.url)).outputs == "on\netwothree"


def test_events_are_utf_8_whatever_they_call_themselves():
    events = chunked("\ufeffdata: a-\\ud800\n\n", "data: é\n\n", content_type="text/event-stream; charset=punycode")
    with Server(events) as server:
        assert ask(HTTPTarget(server.url)).outputs == "a-\\ud800é"


def test_lines_of_json_are_a_stream_too():
    lines = '{"response": "a"}\n\n{"response"', ': "b"}\n{"done": true}'
    with Server(chunked(*lines, content_type="application/x-ndjson")) as server:
        assert ask(HTTPTarget(server.url, response_path="response")).outputs == "ab"


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (chunked("event: error\ndata: out of memory\n\n"), "broke off with an error event: 'out of memory'"),
        (sse("no json"), "an event of .* is no JSON"),
        (sse('{"txt": "a"}'), "no event of .* has anything at"),
        ([*chunked('data: {"text": "a"}\n\n', ends=False), DROP], "dropped the connection"),
    ],
)
def test_streams_that_fail(stream, message):
    with Server(stream) as server, pytest.raises(TargetError, match=message):
        ask(HTTPTarget(server.url, response_path="text"))


def test_a_stream_that_is_too_large():
    with Server(chunked(*["data: " + "x" * 90 + "\n\n"] * 200, HANG)) as server:
        assert "more than 10,000 bytes" in str(failure_of(HTTPTarget(server.url, max_bytes=10_000)))


def test_an_empty_stream_is_an_empty_text():
    with Server(sse()) as server:
        turn = ask(HTTPTarget(server.url))

    assert turn.outputs == ""
    assert "time_to_first_chunk" not in turn.metadata


# --- conversations -----------------------------------------------------------------------


def run(target, turns=2, **options):
    case = Scenario("talk", **options)
    for number in range(turns):
        case.interact(f"turn {number + 1}")
    return asyncio.run(case.run(target=target))


@pytest.mark.parametrize(
    ("place", "read"),
    [
        ("header:X-Session", lambda request: request.headers["x-session"]),
        ("cookie:sid", lambda request: request.headers["cookie"].removeprefix("sid=")),
        ("body:meta.session", lambda request: request.json["meta"]["session"]),
    ],
)
def test_each_attempt_is_a_conversation(place, read):
    with Server() as server:
        target = HTTPTarget(server.url, conversation_id=place)
        first, second = run(target), run(target)

    sent = [read(request) for request in server.requests]
    assert sent == [first.conversation_id] * 2 + [second.conversation_id] * 2
    assert first.conversation_id != second.conversation_id


def test_the_id_can_stand_in_the_url_and_the_body():
    with Server() as server:
        result = run(
            HTTPTarget(server.url + "/{{ conversation_id }}", body={"id": "{{ conversation_id }}", "q": "{{inputs}}"})
        )

    assert {request.path for request in server.requests} == {f"/{result.conversation_id}"}
    assert {request.json["id"] for request in server.requests} == {result.conversation_id}


def sessions(where):
    """Answers that give a session of their own to whoever comes without one."""
    numbers = iter(range(1, 100))

    def answer(request):
        known = request.json.get("session") or request.headers.get("x-session") or request.headers.get("cookie", "")[4:]
        if known:
            return json_reply({"session": None})
        new = f"s{next(numbers)}"
        headers = {"header": {"X-Session": new}, "cookie": {"Set-Cookie": f"sid={new}; Path=/; HttpOnly"}}.get(
            where, {}
        )
        return json_reply({"session": new if where == "body" else None}, headers=headers)

    return answer


@pytest.mark.parametrize(
    ("where", "options", "read"),
    [
        (
            "header",
            {"conversation_id": "header:X-Session", "conversation_id_from": "header:X-Session"},
            lambda r: r.headers.get("x-session"),
        ),
        ("cookie", {"conversation_id_from": "cookie:sid"}, lambda r: r.headers.get("cookie")),
        ("cookie", {}, lambda r: r.headers.get("cookie")),
        (
            "body",
            {"conversation_id": "body:session", "conversation_id_from": "body:$.session"},
            lambda r: r.json.get("session"),
        ),
    ],
)
def test_an_id_of_the_service_is_taken_from_its_first_answer(where, options, read):
    with Server(default=sessions(where)) as server:
        target = HTTPTarget(server.url, **options)
        results = [run(target, turns=3), run(target, turns=3)]

    prefix = "sid=" if where == "cookie" else ""
    assert [read(request) for request in server.requests] == [
        None, f"{prefix}s1", f"{prefix}s1", None, f"{prefix}s2", f"{prefix}s2",
    ]  # fmt: skip
    noted = results[0].final_trace.interactions[0].metadata.get("conversation_id")
    assert noted == (None if where == "cookie" else "s1")  # a cookie lets others in


def test_an_id_that_is_not_there_is_an_error():
    with Server() as server:
        target = HTTPTarget(server.url, conversation_id="header:X-Id", conversation_id_from="header:X-Id")
        assert "gave no conversation id at 'header:X-Id'" in str(failure_of(target))


def test_conversations_that_run_at_once_do_not_mix():
    with Server(default=sessions("cookie")) as server:
        suite = Suite(
            "many", [Scenario(f"talk {n}").interact(f"{n}").interact(f"{n}").interact(f"{n}") for n in range(20)]
        )
        asyncio.run(suite.run(target=HTTPTarget(server.url), parallel=True, verbose=False))

    cookies = {}
    for request in server.requests:
        cookies.setdefault(request.json["inputs"], []).append(request.headers.get("cookie"))
    assert all(seen[0] is None and len(set(seen[1:])) == 1 for seen in cookies.values())
    assert len({seen[1] for seen in cookies.values()}) == 20


def test_a_cookie_of_ones_own_goes_with_those_of_the_service():
    with Server(reply("", headers={"Set-Cookie": "sid=1"}), reply("")) as server:
        run(HTTPTarget(server.url, headers={"Cookie": "beta=on"}))

    assert [request.headers["cookie"] for request in server.requests] == ["beta=on", "beta=on; sid=1"]


def test_a_cookie_that_is_no_ascii_is_sent_back():
    with Server(reply("x", headers={"Set-Cookie": "name=caf\u00e9"})) as server:
        target = HTTPTarget(server.url)
        for _ in range(2):
            ask(target, conversation_id="c")

    assert server.requests[1].headers["cookie"].encode("latin-1").decode() == "name=café"


def test_calls_outside_of_a_run_stand_alone():
    with Server(default=sessions("cookie")) as server:
        target = HTTPTarget(server.url)
        ask(target)
        ask(target)

    assert [request.headers.get("cookie") for request in server.requests] == [None, None]


def test_what_is_kept_of_conversations_is_bounded(monkeypatch):
    monkeypatch.setattr("giskard.checks.targets.http._MAX_CONVERSATIONS", 3)
    with Server() as server:
        target = HTTPTarget(server.url)
        for number in range(10):
            ask(target, conversation_id=f"c{number}")

    assert list(target._conversations) == ["c7", "c8", "c9"]


# --- clients -----------------------------------------------------------------------------


def test_a_run_uses_one_connection_and_closes_it():
    with Server() as server:
        run(HTTPTarget(server.url), turns=5)
        assert server.gone.wait(10)
        assert server.connections == 1
    gc.collect()  # a socket that was left open would warn


def test_loops_in_several_threads_share_a_target():
    with Server() as server:
        target = HTTPTarget(server.url, response_path="$.body.inputs")
        found = []
        threads = [threading.Thread(target=lambda n=n: found.append(ask(target, n).outputs)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert sorted(found) == list(range(8))
    gc.collect()


# --- scenarios ---------------------------------------------------------------------------


def test_it_is_a_target_like_any_other():
    target = None
    with Server() as server:
        target = HTTPTarget(server.url, response_path="$.body.inputs")
        own = (
            Scenario("own").interact("hi", target).check(StringMatching(keyword="hi", target_key="trace.last.outputs"))
        )
        of_the_suite = Scenario("of the suite").interact("hi").check(from_fn(lambda trace: trace.last.outputs == "hi"))
        result = asyncio.run(Suite("s", [own, of_the_suite], target=target).run(verbose=False))

    assert result.passed_count == 2


def test_the_time_to_the_first_chunk_is_in_the_timing():
    with Server(sse("a")) as server:
        result = run(HTTPTarget(server.url), turns=1)

    assert result.timing.time_to_first_chunk == result.final_trace.last.metadata["time_to_first_chunk"]


def test_a_scenario_with_a_target_is_saved_and_loaded():
    target = HTTPTarget(
        "http://localhost:1/x",
        headers={"Authorization": "Bearer ${MY_API_KEY}"},
        accept=[404],
        body={"q": "{{ inputs }}"},
    )
    case = Scenario("s", target=target).interact("hi")

    assert Scenario.model_validate_json(case.model_dump_json()).target == target
    assert hash(target) == hash(Scenario.model_validate_json(case.model_dump_json()).target)


@pytest.mark.parametrize(
    "header", [("Authorization", "Bearer abc"), ("X-Api-Key", "abc"), ("X-Any", "sk-abcdefgh"), ("Cookie", "a=b")]
)
def test_a_key_is_neither_saved_nor_shown(header):
    name, value = header
    target = HTTPTarget("http://localhost:1/x?token=t0ken", headers={name: value})

    assert repr(target) == f"HTTPTarget('http://localhost:1/x', 'POST', headers={name}, params=token)"
    with pytest.raises(Exception, match="a secret; what is to be saved names a variable") as caught:
        Scenario("s", target=target).model_dump_json()
    assert value not in str(caught.value)


def test_certificates_that_are_not_there():
    with Server() as server:
        with pytest.raises(ConfigurationError, match=r"verify is 'no-such\.pem', expected a file of certificates"):
            ask(HTTPTarget(server.url, verify="no-such.pem"))
        assert ask(HTTPTarget(server.url, verify=False)).outputs["method"] == "POST"


def test_a_failure_whose_body_breaks_off_is_told_all_the_same():
    with Server([reply("half a page", 500, length=100), DROP]) as server:
        error = failure_of(HTTPTarget(server.url))

    assert "answered 500 Status: 'half a page (and then the connection was dropped)'" in str(error)


def test_the_kind_of_an_error_reaches_the_result():
    with Server(reply("", 401)) as server:
        case = Scenario("s").interact("hi")
        result = asyncio.run(case.run(target=HTTPTarget(server.url), return_exception=True))

    assert result.steps[0].error.error_kind == "authentication"
    assert result.steps[0].error.retryable is False


def test_what_the_spec_says_of_a_turn_is_kept_beside_what_the_target_says():
    with Server(json_reply({"answer": "a"})) as server:
        scenario = Scenario("s").interact("q", HTTPTarget(server.url), metadata={"context": ["c"], "http": "mine"})
        metadata = scenario.run_sync().final_trace.last.metadata

    assert metadata["context"] == ["c"]
    assert metadata["http"] == "mine"
    assert metadata["target"]["http"]["status"] == 200
