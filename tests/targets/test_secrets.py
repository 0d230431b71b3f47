"""Keys: read when they are sent, and neither shown nor saved."""

import asyncio
import os
import sys

import pytest

from giskard.checks import Scenario
from giskard.checks.core.exceptions import ConfigurationError, LimitExceededError
from giskard.checks.llm import cassette
from giskard.checks.targets import CommandTarget, HTTPTarget, OpenAITarget, TargetError
from giskard.checks.targets._secrets import Secret, is_secret_name, protected, protected_data
from tests.targets.server import HANG, Server, json_reply, reply

KEY = "k/1+ 2&x"


def ask(target, inputs="hello"):
    return asyncio.run(target(inputs))


def failure_of(target):
    with pytest.raises(TargetError) as caught:
        ask(target)
    return str(caught.value)


# --- references --------------------------------------------------------------------------


def test_a_variable_can_stand_wherever_something_is_sent(monkeypatch):
    with Server() as server:
        target = HTTPTarget(
            server.url + "/bot${SHOP_KEY}/ask?key=${SHOP_KEY}&lang=en",
            headers={"X-Key": "Key ${SHOP_KEY}"},
            params={"token": "${SHOP_KEY}", "many": ["<${SHOP_KEY}>", "b"]},
            body={"q": "{{ inputs }}", "auth": {"key": "${SHOP_KEY}", "all": ["{{ inputs }}: ${SHOP_KEY}"]}},
        )
        for key in (KEY, "other-key"):
            monkeypatch.setenv("SHOP_KEY", key)
            ask(target)

    first, second = server.requests
    assert first.path == (
        "/botk%2F1%2B%202%26x/ask?key=k%2F1%2B%202%26x&lang=en&token=k%2F1%2B+2%26x&many=%3Ck%2F1%2B+2%26x%3E&many=b"
    )
    assert first.headers["x-key"] == f"Key {KEY}"
    assert first.json == {"q": "hello", "auth": {"key": KEY, "all": [f"hello: {KEY}"]}}
    assert second.json["auth"]["key"] == "other-key"


def test_an_input_names_no_variable(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", KEY)
    with Server() as server:
        body = {"q": "{{ inputs }}", "t": "<{{ inputs }}>"}
        ask(HTTPTarget(server.url + "/{{ inputs }}", params={"q": "{{ inputs }}"}, body=body), "${SHOP_KEY}")
        ask(HTTPTarget(server.url, body="{{ inputs }}"), "${SHOP_KEY}")

    assert server.requests[0].json == {"q": "${SHOP_KEY}", "t": "<${SHOP_KEY}>"}
    assert server.requests[0].path == "/%24%7BSHOP_KEY%7D?q=%24%7BSHOP_KEY%7D"
    assert server.requests[1].body == b"${SHOP_KEY}"


def test_what_only_looks_like_a_variable_can_be_sent():
    with Server() as server:
        ask(HTTPTarget(server.url, headers={"X-A": "$${A}"}, body={"q": "{{ inputs }}", "js": "`$${a}` ${ } $a ${1}"}))

    assert server.requests[0].json["js"] == "`${a}` ${ } $a ${1}"
    assert server.requests[0].headers["x-a"] == "${A}"


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"params": {"key": "${NO_SUCH_KEY}"}}, "params asks for"),
        ({"body": {"q": "{{ inputs }}", "key": "${NO_SUCH_KEY}"}}, "body asks for"),
        ({"headers": {"X-Key": "${NO_SUCH_KEY}"}}, "the header 'X-Key' asks for"),
    ],
)
def test_a_variable_that_is_not_set(options, place):
    with Server() as server:
        with pytest.raises(ConfigurationError, match="environment variable NO_SUCH_KEY, which is not set") as caught:
            ask(HTTPTarget(server.url, **options))
        with pytest.raises(ConfigurationError, match="url asks for"):
            ask(HTTPTarget(server.url + "?key=${NO_SUCH_KEY}"))

    assert place in str(caught.value)
    assert server.requests == []


def test_a_variable_is_no_host():
    with pytest.raises(ValueError, match="not for the host"):
        HTTPTarget("https://${SHOP_HOST}/ask")


def test_the_params_of_a_model_too(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", KEY)
    answer = json_reply({"choices": [{"message": {"content": "x"}}]})
    with Server(answer, answer) as server:
        ask(OpenAITarget("m", server.url, params={"extra": {"api_key": "${SHOP_KEY}"}}), "${SHOP_KEY}")
        given = OpenAITarget("m", server.url, params={"api_key": "given", "max_tokens": 3})
        ask(given)

    assert server.requests[0].json["extra"] == {"api_key": KEY}
    assert server.requests[0].json["messages"][0]["content"] == "${SHOP_KEY}"
    assert server.requests[1].json["api_key"] == "given"
    with pytest.raises(Exception, match="a secret; what is to be saved"):
        Scenario("s", target=given).model_dump_json()


# --- keys that were read from a file -----------------------------------------------------


def test_white_space_around_a_key_is_left_out(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "\tzz-secret \r\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh\n")
    answer = json_reply({"choices": [{"message": {"content": "x"}}]})
    with Server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ask(HTTPTarget(server.url + "/${SHOP_KEY}", headers={"X-Key": "Bearer ${SHOP_KEY}", "X-Team": "qa "}))
        ask(
            HTTPTarget(
                server.url, headers={"Authorization": "Bearer zz-secret\n"}, body=["{{ inputs }}", "${SHOP_KEY}"]
            )
        )
        server.script += [answer, answer]
        ask(OpenAITarget("m", server.url, "sk-abcdefgh\n"))
        ask(OpenAITarget("m"))

    first, second, *others = server.requests
    assert first.path == "/zz-secret"
    assert (first.headers["x-key"], first.headers["x-team"]) == ("Bearer zz-secret", "qa")
    assert (second.headers["authorization"], second.json) == ("Bearer zz-secret", ["hello", "zz-secret"])
    assert [each.headers["authorization"] for each in others] == ["Bearer sk-abcdefgh"] * 2


@pytest.mark.parametrize("inside", ["\n", "\r\nX-Injected: 1\r\n", "\x7f", "\x1b", "ü"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(inside, monkeypatch):
    key = f"zz-secret{inside}zz-end"
    monkeypatch.setenv("SHOP_KEY", key)
    with Server() as server:
        for target in (
            HTTPTarget(server.url, headers={"X-Key": "Bearer ${SHOP_KEY}"}),
            HTTPTarget(server.url, headers={"X-Key": f"Bearer {key}"}),
            OpenAITarget("m", server.url, key),
            OpenAITarget("m", server.url, "${SHOP_KEY}"),
        ):
            with pytest.raises(ConfigurationError, match="has characters that no header can hold") as caught:
                ask(target)
            assert "zz-" not in str(caught.value)
    assert server.requests == []


def test_what_the_http_library_says_of_a_request_is_not_passed_on():
    with Server() as server, pytest.raises(ConfigurationError) as caught:
        ask(HTTPTarget(server.url, headers={"Transfer-Encoding": "zz-secret"}))

    assert str(caught.value) == (
        f"POST {server.url} cannot be sent as HTTP; look at its headers: 'Transfer-Encoding', 'Content-Type'"
    )


# --- what is not shown, and not saved ----------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"url": "?api_key=s3cr3t-value&lang=en"},
        {"url": "?lang=en&client%5Fsecret=s3cr3t%2Dvalue"},
        {"params": {"token": "s3cr3t-value"}},
        {"params": {"access-token": ["s3cr3t-value", "b"]}},
        {"params": {"x": "sk-s3cr3t-value"}},
        {"body": {"q": "{{ inputs }}", "auth": {"password": "s3cr3t-value"}}},
        {"body": {"q": "{{ inputs }}", "x": ["ghp_s3cr3tvalue"]}},
    ],
)
def test_a_key_that_is_given_as_such_is_sent_and_not_saved(options):
    with Server(reply("", 401), reply("")) as server:
        target = HTTPTarget(**{**options, "url": server.url + "/ask" + options.get("url", "")})
        shown = repr(target) + failure_of(target)
        with pytest.raises(Exception, match="a secret; what is to be saved names a variable") as caught:
            Scenario("s", target=target).model_dump_json()
        ask(target)

    sent = server.requests[1]
    assert "s3cr3t" in sent.path + sent.body.decode()
    assert "s3cr3t" not in shown + str(caught.value) + repr(vars(target))


@pytest.mark.parametrize("path", ["/v1/sk-s3cr3t-value/ask", "/xoxb-s3cr3t-0123/x?q=1", "/a,ghp_s3cr3tvalue"])
def test_a_key_in_an_address_is_refused_without_being_shown(path):
    for make in (HTTPTarget, lambda url: OpenAITarget("m", url)):
        with pytest.raises(ValueError, match="a key") as caught:
            make("http://localhost:1" + path)
        assert "s3cr3t" not in str(caught.value)


def test_a_path_that_only_begins_like_a_key_is_none():
    assert HTTPTarget("http://localhost:1/sk-bratislava/ask").url == "http://localhost:1/sk-bratislava/ask"


@pytest.mark.parametrize("name", ["max_tokens", "keyword", "author", "tokenizer", "keys", "lang", "monitor"])
def test_what_is_no_key_is_saved(name):
    target = HTTPTarget(f"http://localhost:1/x?{name}=abc", params={name: "sk-SK"}, body={"q": "{{ inputs }}", name: 1})

    assert target.url.endswith(f"?{name}=abc")
    assert not is_secret_name(name)
    assert Scenario.model_validate_json(Scenario("s", target=target).model_dump_json()).target == target


def test_names_of_variables_and_placeholders_are_saved():
    target = HTTPTarget(
        "http://localhost:1/x?key=${K}",
        params={"token": "{{ annotations.token }}"},
        body={"password": "${P}", "key": "{{ inputs }}"},
    )
    saved = Scenario("s", target=target).model_dump_json()

    assert Scenario.model_validate_json(saved).target == target
    assert "${K}" in saved
    assert "${P}" in saved


def test_a_key_in_the_path_is_not_shown(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", KEY)
    with Server(reply(f"no {KEY}, no k%2F1%2B%202%26x", 500), [HANG], json_reply([])) as server:
        target = HTTPTarget(server.url + "/bot${SHOP_KEY}/ask", timeout=0.3, max_retries=0, response_path="$.a")
        first = failure_of(target)
        with pytest.raises(LimitExceededError) as second:
            ask(target)
        third = failure_of(target)

    assert "/bot[secret]/ask answered 500 Status: 'no [secret], no [secret]'" in first
    for text in (first, str(second.value), third):
        assert "/bot[secret]/ask" in text
        assert KEY not in text


def test_a_recording_holds_no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOP_KEY", KEY)

    def target(url, given):
        return HTTPTarget(
            url + f"/bot${{SHOP_KEY}}?key=${{SHOP_KEY}}&token={given}",
            headers={"X-Key": "${SHOP_KEY}"},
            body={"q": "{{ inputs }}", "key": "${SHOP_KEY}", "password": given},
        )

    with Server(json_reply("fine")) as server:
        with cassette(tmp_path / "tape.json"):
            ask(target(server.url, "s3cr3t-value"))
        monkeypatch.delenv("SHOP_KEY")  # as for whoever has no key
        with cassette(tmp_path / "tape.json", "strict"):
            assert ask(target(server.url, "another-one")).outputs == "fine"

    tape = (tmp_path / "tape.json").read_text(encoding="utf-8")
    assert "s3cr3t" not in tape
    assert "1+ 2" not in tape
    assert "${SHOP_KEY}" in tape


def echoes(request):
    """A service that says back whatever it was told, in its answer and in a header."""
    said = f"{request.path} {request.headers}"
    return json_reply({"text": said, request.headers["x-key"]: [said]}, headers={"X-Echo": request.headers["x-key"]})


def test_a_recording_holds_no_key_that_the_service_says_back(monkeypatch, tmp_path):
    def talk(url, given, mode):
        target = HTTPTarget(
            f"{url}/{{{{ trial }}}}?token=query-{given}",
            headers={"X-Key": "Key ${SHOP_KEY}", "Authorization": f"Bearer given-{given}"},
            keep_headers=("x-echo",),
        )
        with cassette(tmp_path / "tape.json", mode) as tape:
            case = Scenario("s").interact(lambda: f"my key is {os.environ.get('SHOP_KEY', '[secret]')}").interact("2")
            return asyncio.run(case.run(target=target)), tape

    with Server(default=echoes) as server:
        monkeypatch.setenv("SHOP_KEY", KEY)
        live, _ = talk(server.url, "s3cr3t", "auto")
        assert len(server.requests) == 2
        monkeypatch.setenv("SHOP_KEY", "another-one")
        other, tape = talk(server.url, "different-1", "strict")
        monkeypatch.delenv("SHOP_KEY")
        without_key, _ = talk(server.url, "different-1", "strict")
        assert len(server.requests) == 2

    assert KEY in live.final_trace.last.outputs["text"]  # a run is told what the service said
    assert tape.replayed and not tape.missing
    written = (tmp_path / "tape.json").read_text(encoding="utf-8")
    for text in (KEY, "k%2F1", "1+ 2", "s3cr3t", "query-"):
        assert text not in written
    replayed = other.final_trace.last
    assert "'x-key': 'Key [secret]'" in replayed.outputs["text"]
    assert replayed.outputs["Key [secret]"]
    assert replayed.metadata["target"]["http"]["headers"] == {"x-echo": "Key [secret]"}
    assert without_key.final_trace.last == replayed


def test_a_recording_of_a_model_holds_no_key_that_it_says_back(monkeypatch, tmp_path):
    def answer(request):
        return json_reply({"choices": [{"message": {"content": f"you sent {request.headers['authorization']}"}}]})

    case = Scenario("s").interact("1").interact("2")
    with Server(default=answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "zz-secret-own")
        targets = [
            OpenAITarget("a", server.url, "zz-secret-given"),
            OpenAITarget("b", server.url, "${SHOP_KEY}"),
            OpenAITarget("c"),
        ]
        monkeypatch.setenv("SHOP_KEY", "zz-secret-named")
        with cassette(tmp_path / "tape.json"):
            for target in targets:
                assert "Bearer zz-secret" in asyncio.run(case.run(target=target)).final_trace.last.outputs
        monkeypatch.delenv("SHOP_KEY")
        monkeypatch.delenv("OPENAI_API_KEY")
        with cassette(tmp_path / "tape.json", "strict"):
            for target in targets:
                outputs = asyncio.run(case.run(target=target)).final_trace.last.outputs
                assert outputs == "you sent Bearer [secret]"

    assert "zz-secret" not in (tmp_path / "tape.json").read_text(encoding="utf-8")


def test_a_recording_of_a_command_holds_no_key_that_it_writes(monkeypatch, tmp_path):
    code = "import os; print(os.environ['GIVEN_KEY'], os.environ['NAMED'])"
    target = CommandTarget([sys.executable, "-c", code], env={"GIVEN_KEY": "zz-secret-1", "NAMED": "${SHOP_THING}"})
    case = Scenario("s").interact("1").interact("2")
    monkeypatch.setenv("SHOP_THING", "zz-secret-2\n")
    with cassette(tmp_path / "tape.json"):
        assert asyncio.run(case.run(target=target)).final_trace.last.outputs == "zz-secret-1 zz-secret-2"
    monkeypatch.delenv("SHOP_THING")
    with cassette(tmp_path / "tape.json", "strict"):
        assert asyncio.run(case.run(target=target)).final_trace.last.outputs.split() == ["[secret]"] * 2

    assert "zz-secret" not in (tmp_path / "tape.json").read_text(encoding="utf-8")


def test_a_recording_holds_no_cookie_of_a_conversation(tmp_path):
    def answer(request):
        return json_reply("fine", headers={"Set-Cookie": "sid=s3cr3t-sid"})

    case = Scenario("s").interact("1").interact("2")
    with Server(default=answer) as server:
        target = HTTPTarget(server.url, conversation_id="header:X-Sid", conversation_id_from="cookie:sid")
        with cassette(tmp_path / "tape.json"):
            asyncio.run(case.run(target=target))
        assert server.requests[1].headers["x-sid"] == "s3cr3t-sid"
        with cassette(tmp_path / "tape.json", "strict"):
            asyncio.run(case.run(target=target))

    assert "s3cr3t" not in (tmp_path / "tape.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["test", "password", "EMPTY", "1234567"])
def test_a_key_that_may_stand_in_any_text_changes_no_recording(word, monkeypatch, tmp_path):
    target = HTTPTarget("http://localhost:1", headers={"X-Key": "${SHOP_KEY}"})
    monkeypatch.setenv("SHOP_KEY", word)
    with Server(reply(f"the {word} is fine")) as server, cassette(tmp_path / "tape.json"):
        ask(HTTPTarget(server.url, headers={"X-Key": "${SHOP_KEY}"}), f"a {word}?")
    monkeypatch.setenv("SHOP_KEY", "s3cr3t-value")
    with cassette(tmp_path / "tape.json", "strict"):
        assert ask(target, f"a {word}?").outputs == f"the {word} is fine"


@pytest.mark.parametrize("value", ["Bearer abc", "basic abc", "sk-abcdefgh", "AKIA0123456789ABCDEF"])
def test_what_looks_like_a_key_in_a_header_is_one(value):
    assert protected("X-Any", value) == Secret(value)


def test_words_in_a_body_are_no_keys():
    data = {"a": "Token of friendship", "b": ("basic needs", 1), "key": 5, "c": None, "locale": "sk-SK", "token": ""}

    assert protected_data(data) == data
