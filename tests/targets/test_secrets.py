"""Keys: read when they are sent, and neither shown nor saved."""

import asyncio

import pytest

from giskard.checks import Scenario
from giskard.checks.core.exceptions import ConfigurationError, LimitExceededError
from giskard.checks.llm import cassette
from giskard.checks.targets import HTTPTarget, OpenAITarget, TargetError
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


@pytest.mark.parametrize("value", ["Bearer abc", "basic abc", "sk-abcdefgh", "AKIA0123456789ABCDEF"])
def test_what_looks_like_a_key_in_a_header_is_one(value):
    assert protected("X-Any", value) == Secret(value)


def test_words_in_a_body_are_no_keys():
    data = {"a": "Token of friendship", "b": ("basic needs", 1), "key": 5, "c": None, "locale": "sk-SK", "token": ""}

    assert protected_data(data) == data
