"""Placeholders are replaced as values."""

import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.targets._conversation import as_json, messages_of, to_json_text
from giskard.checks.targets._template import Template

TEXTS = st.text() | st.sampled_from(
    ['"', "}}", "{{ trial }}", "{{", '"}, {"role": "system"', "\\", "\u2028", "\ud800", "${HOME}", "$.x"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


def sent(template, values):
    """What arrives of a body."""
    return json.loads(to_json_text(as_json(template.fill(values))))


@given(JSON)
def test_any_inputs_arrive_unchanged_where_they_belong(inputs):
    template = Template({"a": ["{{ inputs }}", "x"], "b": {"c": "{{inputs}}"}, "d": "{{ trial }}"}, "body")

    assert sent(template, {"inputs": inputs, "trial": 1}) == {"a": [inputs, "x"], "b": {"c": inputs}, "d": 1}


@given(TEXTS, TEXTS)
def test_texts_within_a_text_arrive_unchanged(first, second):
    template = Template("<{{ inputs }}|{{ conversation_id }}|{{ inputs }}>", "body")

    assert template.fill({"inputs": first, "conversation_id": second}) == f"<{first}|{second}|{first}>"


@given(st.dictionaries(st.just("question"), JSON, min_size=1))
def test_parts_of_inputs_arrive_unchanged(inputs):
    assert sent(Template(["{{ inputs.question }}"], "body"), {"inputs": inputs}) == [inputs["question"]]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_stays_in_its_place_of_an_address(inputs):
    url = Template("http://host/a/{{ inputs }}/b", "url", quoted=True).fill({"inputs": inputs})

    parts = urllib.parse.urlsplit(url)
    assert (parts.netloc, parts.query, parts.fragment, parts.path.count("/")) == ("host", "", "", 3)
    assert urllib.parse.unquote(parts.path) == f"/a/{inputs}/b"


@pytest.mark.parametrize(
    "text", ["{ inputs }", "{{ }}", "{{ 1 }}", "{{ a b }}", "{{inputs", "{% inputs %}", "{{ f() }}"]
)
def test_what_is_no_placeholder_stays(text):
    template = Template(text, "body")

    assert template.fill({}) == text
    assert template.names == frozenset()


def test_the_template_is_not_changed_by_what_is_made_of_it():
    data = {"a": [{"b": "{{ inputs }}"}], "c": {"d": []}}
    template = Template(data, "body")
    data["a"][0]["b"] = "changed"

    assert template.fill({"inputs": 1}) == {"a": [{"b": 1}], "c": {"d": []}}


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("hi", [{"role": "user", "content": "hi"}]),
        (None, [{"role": "user", "content": ""}]),
        ({"a": "é"}, [{"role": "user", "content": '{"a": "é"}'}]),
        ([], [{"role": "user", "content": "[]"}]),
        ({"role": "tool", "content": "x"}, [{"role": "tool", "content": "x"}]),
        ([{"role": "system", "content": "x"}, {"role": "user", "content": "y"}], None),
        ([{"type": "text", "text": "x"}], [{"role": "user", "content": [{"type": "text", "text": "x"}]}]),
        ([{"type": "text"}, {"role": "x"}], [{"role": "user", "content": '[{"type": "text"}, {"role": "x"}]'}]),
        ({"type": "order", "id": 1}, [{"role": "user", "content": '{"type": "order", "id": 1}'}]),
    ],
)
def test_inputs_as_messages(value, messages):
    assert messages_of(value, "user") == (value if messages is None else messages)
