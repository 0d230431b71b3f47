"""Templates are checked, sandboxed, and fence what comes out of a conversation."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks import Interaction, ToolCall, Trace
from giskard.checks.llm.conversation import notes_of, show_conversation
from giskard.checks.llm.fences import Fences
from giskard.checks.llm.templates import TemplateError, check_template, load_template, render


def T(outputs="a", inputs="q", **metadata):
    return Trace(
        interactions=[Interaction(inputs=inputs, outputs=outputs, metadata=metadata)], annotations={"label": "bad"}
    )


def filled(source, untrusted=("trace",), **variables):
    return render(source, variables, untrusted)


def is_fenced(prompt, value):
    return f">\n{value}\n</data-" in prompt


@pytest.mark.parametrize(
    "source",
    [
        "{{ trace.last.outputs }}",
        "{{ trace.interactions[0].outputs }}",
        "{{ trace.last.outputs ~ '' }}",
        "{% for turn in trace.interactions %}{{ turn.outputs }}{% endfor %}",
        "{% set answer = trace.last.outputs %}{{ answer }}",
        "{% set a = trace.last %}{% set b = a.outputs %}{{ b }}",
        "{% with answer = trace.last.outputs %}{{ answer }}{% endwith %}",
        "{% macro show(it) %}{{ it }}{% endmacro %}{{ show(trace.last.outputs) }}",
        "{% if trace.last %}{{ trace.last['outputs'] }}{% endif %}",
        "{{ trace.last.outputs | fence }}",
        "{{ trace.last.outputs | default('x') }}",
        "{{ [trace.last.outputs] | first }}",
        "{% set ns = namespace() %}{% set ns.x = trace.last.outputs %}{{ ns.x }}",
        "{% set a %}{{ trace.last.outputs }}{% endset %}{{ a }}",
        "{% macro show(it) %}{{ it }}{{ caller() }}{% endmacro %}{% call show(trace.last.outputs) %}!{% endcall %}",
        "{% for n in [1] recursive %}{{ trace.last.outputs }}{% endfor %}",
        '{{ "%s" | format(trace.last.outputs) }}',
    ],
)
def test_what_comes_out_of_a_conversation_is_fenced_once(source):
    prompt = filled("Judge: " + source, trace=T("EVIL"))

    assert is_fenced(prompt, "EVIL")
    assert prompt.count("EVIL") == 1
    assert prompt.count("</data-") == 1


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'User: ' ~ (trace.last.inputs | fence) ~ ' Assistant: ' ~ trace.last.outputs }}",
        "{{ [trace.last.inputs | fence, trace.last.outputs] }}",
        "{% macro t(t) %}{{ t.inputs }}{% endmacro %}{{ t(trace.last) ~ trace.last.outputs }}",
        "{% macro m(a) %}{{ a }} {{ varargs[0] }}{% endmacro %}{{ m(trace.last.inputs, trace.last.outputs) }}",
        "{% macro m() %}{{ kwargs['a'] }}{{ caller() }}{% endmacro %}{% call m(a=trace.last.outputs) %}{% endcall %}",
        "{% for t in trace.interactions %}{{ loop.previtem.outputs if not loop.first else t.outputs }}{% endfor %}",
        "{% for i in [1] %}{% set y = trace.last %}{{ y.outputs }}{% endfor %}",
        "{% set rule = trace.last.outputs %}{{ rule }}",
        "{{ rule.replace('polite', trace.last.outputs) }}",
        "{{ rule if not trace.last else trace.last.outputs }}",
    ],
)
def test_no_way_around_the_fence(source):
    prompt = filled(source, trace=T("EVIL"), rule="Be polite.")
    outside = re.sub(r"<(data-\S+)>.*?</\1>", "", prompt, flags=re.DOTALL)

    assert "EVIL" in prompt
    assert "EVIL" not in outside


def test_what_the_author_wrote_stays_as_it_is():
    source = "{% macro line(n) %}Rule {{ n | unfenced }}.{% endmacro %}"
    source += "{% for r in rules %}{{ loop.index }}: {{ r }}; {% endfor %}"
    source += "{{ line(rules[0]) }}{% set a %}{{ rules | length }} rules{% endset %}{{ a }}"
    assert filled(source, trace=T(), rules=["one", "two"]) == "1: one; 2: two; Rule one.2 rules"


@pytest.mark.parametrize("source", ["{{ rule }}", "{{ trace.last.outputs | unfenced }}", "{{ 'text' }}"])
def test_what_is_not_fenced(source):
    assert "</data-" not in filled(source, trace=T(), rule="Be polite.")


def test_variables_can_be_untrusted_too():
    assert is_fenced(filled("{{ answer }} {{ rule }}", {"answer"}, answer="x", rule="y"), "x")
    assert not is_fenced(filled("{{ answer }} {{ rule }}", {"answer"}, answer="x", rule="y"), "y")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ trace.interactions | length }}", "1"),
        ("{{ trace.last is none }}", "false"),
        ("{{ rule }}", "{{ 7 * 7 }}"),
        ("{{ data }}", '{"a": ["é", null]}'),
        ("{% if trace.last.outputs == 'a' %}yes{% endif %}", "yes"),
    ],
)
def test_values(source, text):
    assert filled(source, trace=T(), rule="{{ 7 * 7 }}", data={"a": ["é", None]}) == text


def test_a_conversation_is_shown_turn_by_turn_and_without_its_labels():
    prompt = filled("{{ trace }}", trace=T({"text": "ü"}, "q", tools=["search"], simulator_output={"goal": 1}))

    assert "Turn 1\nUser:\n<data-1-" in prompt
    assert is_fenced(prompt, "q") and is_fenced(prompt, '{"text": "ü"}') and is_fenced(prompt, '{"tools": ["search"]}')
    assert "bad" not in prompt and "goal" not in prompt


HIDDEN = [
    "conversation_id", "cost_usd", "expected", "finish_reason", "labels", "latency_ms", "messages", "model", "raw",
    "reasoning", "recorded", "response_id", "source", "target", "time_to_first_chunk", "timestamp", "ttft_ms", "usage",
    "weight",
]  # fmt: skip
SHOWN = ["tool_calls", "intermediate", "retrieved", "context", "incomplete", "retries", "mine"]


@pytest.mark.parametrize(
    "source",
    [
        "{{ trace }}",
        "{{ trace.last }}",
        "{{ trace.interactions }}",
        "{{ trace.interactions[-1:] }}",
        "{{ trace.interactions | list }}",
        "{% for turn in trace.interactions %}{{ turn }}{% endfor %}",
        "{{ turns }}",
        "{{ notes }}",
    ],
)
def test_a_model_sees_what_the_assistant_did_and_nothing_that_gives_the_verdict_away(source):
    trace = T(**{name: [f"secret of {name}"] for name in HIDDEN}, **{name: [f"fact of {name}"] for name in SHOWN})
    turns, notes = tuple(trace.interactions), notes_of(trace.last)
    prompt = filled(source, ("trace", "turns", "notes"), trace=trace, turns=turns, notes=notes)

    assert "secret" not in prompt
    assert "bad" not in prompt
    assert [name for name in SHOWN if f"fact of {name}" not in prompt] == []


def test_of_calls_of_tools_no_times_are_shown():
    call = {"name": "get_fee", "arguments": {"item": "card"}, "result": 3.5, "latency_ms": 41.5, "started_at": "2025"}
    prompt = filled("{{ trace }}", trace=T(tool_calls=[call, ToolCall(name="block")]))

    assert '{"name": "get_fee", "arguments": {"item": "card"}, "result": 3.5}' in prompt
    assert '"block"' in prompt
    assert "41.5" not in prompt and "2025" not in prompt


@pytest.mark.parametrize("value", [[], (), [1], "text"])
def test_other_lists_are_shown_as_they_are(value):
    assert show_conversation(value, Fences()) is None


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_output_is_run_or_changed(text):
    assert is_fenced(filled("{{ trace.last.outputs }}", trace=T(text)), text)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ answer }}", "UndefinedError: 'answer' is undefined"),
        ("{{ trace.nope }}", "UndefinedError"),
        ("{{ trace.last.outputs.x.y }}", "UndefinedError"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ trace.__class__ }}", "unsafe|UndefinedError|SecurityError"),
        ("{{ ''.__class__.__mro__ }}", "unsafe|SecurityError|UndefinedError"),
        ("{{ data.append(1) }}", "SecurityError|not safely callable"),
        ("{% include 'x' %}", "loader"),
        ("{{ trace.last.outputs | fence | truncate(9) }}", "changed, or left out"),
        ("{% set a %}{{ trace.last.outputs }}{% endset %}", "changed, or left out"),
    ],
)
def test_what_cannot_be_filled(source, words):
    with pytest.raises(TemplateError, match=f"cannot be filled: .*({words})"):
        filled(source, trace=T(), data=[])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ a", "line 1"),
        ("a\n{% for %}", "line 2"),
        ("{% endif %}", "line 1: .*endif"),
        ("{% filter upper %}{{ trace.last.outputs }}{% endfilter %}", "filter.*not supported"),
        ("{% set x | upper %}X{% endset %}", "filter on a .* block is not supported"),
        ("{% call trace.last(1) %}{% endcall %}", "call.*macros of this template"),
        ("{{ x | nope }}", "No filter named 'nope'"),
        ("{{ " + "(" * 3000 + ")" * 3000 + " }}", "nested too deeply|line"),
    ],
)
def test_what_is_no_template(source, words):
    with pytest.raises(TemplateError, match=words):
        check_template(source)


def test_variables_that_will_not_be_there():
    check_template("{{ trace.last.outputs }}{% set x = 1 %}{{ x }}", {"trace"})
    check_template("{{ whatever }}", None)
    with pytest.raises(TemplateError, match=r"uses 'trce', which there will not be.*did you mean 'trace'"):
        check_template("{{ trce.last }}", {"trace"})


def test_files():
    assert "version: 1" in load_template("giskard.checks.judges::prompts/conformity.jinja")
    for place, words in [
        ("nope_xyz::a.txt", "'nope_xyz' is no package"),
        ("giskard.checks.judges::prompts/nope.jinja", "no such text"),
        ("giskard.checks.judges::../settings.py", "stay inside its package"),
        ("giskard.checks.judges::prompts", "no such text"),
        ("json::/etc/passwd", "stay inside its package"),
        ("json::C:/x", "stay inside its package"),
        ("this::x", "'this' is no package"),
        ("__main__::x", "'__main__' is no package"),
    ]:
        with pytest.raises(TemplateError, match=words):
            load_template(place)
