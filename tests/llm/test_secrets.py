"""Keys never get into a file; what is no key stays as it is."""

import time

import pytest

from giskard.checks.llm._secrets import without_secrets

LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEYS = [
    "sk-abcdefgh",
    f"sk-proj-{LONG}_{LONG}",
    f"sk-ant-api03-{LONG}",
    "AKIAIOSFODNN7EXAMPLE",
    f"AIza{LONG}",
    f"ghp_{LONG}",
    f"github_pat_{LONG}",
    f"glpat-{LONG}",
    "xoxb-123456789012-abcdef",
    f"hf_{LONG}",
    f"gsk_{LONG}",
    f"eyJ{LONG}.eyJ{LONG}.{LONG}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:8])
@pytest.mark.parametrize("around", ["{}", "key={}.", "My key is {}, keep it.", '{{"k":"{}"}}', "({})\n"])
def test_what_looks_like_a_key_is_taken_out(key, around):
    cleaned, places = without_secrets({"text": around.format(key)})

    assert key not in cleaned["text"]
    assert LONG not in cleaned["text"]
    assert "[secret]" in cleaned["text"]
    assert places == ["text"]


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [secret]"),
        ("bearer abcdefghijklmnopqrstuvwxyz", "bearer [secret]"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "{'Authorization': 'Basic [secret]'}"),
        ("postgres://me:hunter2@db/x", "postgres://me:[secret]@db/x"),
    ],
)
def test_what_stands_before_it_stays(text, cleaned):
    assert without_secrets(text)[0] == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "The task-force met; risk-averse people took the ski-lift.",
        "The bearer of bad news is a basic understanding of things.",
        "sk-learn, gh_actions, hf_hub, eyJ, https://example.com:8080/a@b",
        "Bearer certificates are basic = simple; Basic JavaScript; authorization: basic",
        "[secret]",
        "",
    ],
)
def test_other_texts_stay(text):
    value = {"text": text}

    assert without_secrets(value) == (value, [])
    assert without_secrets(value)[0] is value


@pytest.mark.parametrize(
    "name", ["SOME_API_KEY", "API_KEY", "GITHUB_TOKEN", "APP_SECRET", "AWS_SECRET_ACCESS_KEY", "X_PASSWORD"]
)
def test_values_of_the_environment_are_taken_out(monkeypatch, name):
    monkeypatch.setenv(name, "hunter2hunter2")

    value = {"a": ["say hunter2hunter2!", {"hunter2hunter2": 1}]}

    assert without_secrets(value) == ({"a": ["say [secret]!", {"[secret]": 1}]}, ["a[0]", "a[1].[secret]"])


def test_the_longer_of_two_values_is_taken_out_as_a_whole(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "hunter2hunter2")
    monkeypatch.setenv("B_TOKEN", "hunter2hunter2-more")

    assert without_secrets("hunter2hunter2-more")[0] == "[secret]"


ORDINARY = [
    "",
    "1",
    "true",
    "test",
    "assistant",
    "changeme",
    "placeholder",
    "authentication",
    "Authorization",
    "EMPTY",
    "lm-studio",
    "not-needed",
    "no-key-required",
    "your-api-key-here",
    "conversation_id",
    "conversationId",
    "customer reference",
    "us-east-1",
    "gpt-4o-mini",
    "openai/gpt-5-mini",
    "127.0.0.1:8080",
    "2024-01-01",
    "-" * 40,
    "00000000-0000-0000-0000-000000000000",
]


@pytest.mark.parametrize("name", ["API_KEY", "SORT_KEY", "SOME_TOKEN", "SOME_SECRET", "DB_PASSWORD"])
@pytest.mark.parametrize("value", ORDINARY)
def test_words_are_no_secrets_of_the_environment(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    request = {"role": "assistant", "content": f"1 test is true, changeme: {value}, and {value}."}

    assert without_secrets(request) == (request, [])


@pytest.mark.parametrize(
    "value",
    [
        "S3cret!pass",
        "Tr0ub4dor&3",
        "3f2b8c1d9e",
        "aZbQxRtPlKmN",
        "qwzxkjhgfdsp",
        "202401011200003",
        "correct-horse-battery-staple",
        "correct horse battery staple",
        "3f2b8c1d-0a5e-4c1b-9e2f-7d6c5b4a3f2e",
    ],
)
def test_what_is_no_word_is_a_secret_of_the_environment(monkeypatch, value):
    monkeypatch.setenv("SOME_TOKEN", value)

    assert without_secrets(f"It is {value}.")[0] == "It is [secret]."


@pytest.mark.parametrize("form", ['pa\\"ss1word\\\\x', "pa%22ss1word%5Cx"], ids=["JSON", "address"])
def test_a_secret_is_taken_out_as_it_stands_in_json_and_in_an_address(monkeypatch, form):
    monkeypatch.setenv("SOME_PASSWORD", 'pa"ss1word\\x')

    assert without_secrets(f"<{form}>")[0] == "<[secret]>"


def test_other_variables_are_no_secrets(monkeypatch):
    monkeypatch.setenv("KEYBOARD", "hunter2hunter2")
    monkeypatch.setenv("TOKENS_PER_MINUTE", "hunter2hunter2")

    assert without_secrets("hunter2hunter2")[1] == []


def test_fields_that_hold_one_by_their_name():
    value = {"headers": {"X-Api-Key": "abc", "authorization": "x", "Accept": "abc", "cookie": ""}, "password": 3}

    cleaned, places = without_secrets(value)

    assert cleaned == {
        "headers": {"X-Api-Key": "[secret]", "authorization": "[secret]", "Accept": "abc", "cookie": ""},
        "password": 3,
    }
    assert places == ["headers.X-Api-Key", "headers.authorization"]


def test_taking_out_twice_changes_nothing(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "hunter2hunter2")
    value = [*KEYS, "Bearer abc123def456", "postgres://me:hunter2@db/x", "hunter2hunter2", {"api_key": "a"}]

    once = without_secrets(value)[0]

    assert without_secrets(once) == (once, [])


@pytest.mark.parametrize(
    "part",
    ["sk-", "Bearer ", "a://b", "eyJaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "://a:", "authorization: basic "],
)
def test_long_texts_take_no_time(part):
    text = part * (1_000_000 // len(part))
    start = time.perf_counter()

    without_secrets(text)

    assert time.perf_counter() - start < 5
