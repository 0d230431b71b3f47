"""A recorded conversation as a scenario: what stays as it was, what is asked anew, what is known of the recording."""

import json
import warnings

import pytest
from pydantic import computed_field

from giskard.checks import (
    Equals,
    Interaction,
    LLMJudge,
    Scenario,
    Suite,
    ToolCall,
    Trace,
    from_fn,
    scenario_from_trace,
)
from giskard.checks.scenarios import RecordedInput
from giskard.checks.testing import FakeGenerator

CALL = {"id": "c1", "name": "get_fee", "arguments": {"item": "card"}, "result": {"eur": 0.0}, "error": None}


class BankTrace(Trace[str, str | None], frozen=True):
    @computed_field
    @property
    def said(self) -> str:
        return " ".join(turn.outputs or "" for turn in self.interactions)


class Numbered(Trace, frozen=True):
    number: int = 0


def recorded(kind=Trace, **annotations):
    return kind(
        interactions=[
            Interaction(
                inputs="What does it cost?",
                outputs="It is free.",
                metadata={"tool_calls": [CALL], "messages": [{"role": "assistant"}], "labels": {"good": True}},
            ),
            Interaction(inputs="Block it.", outputs="Done.", metadata={"latency_ms": 12.0, "raw": ["secret"]}),
            Interaction(inputs="Thanks", outputs=None, metadata={"incomplete": True}),
        ],
        annotations={"customer": "gold", "conversation_id": "conv-1", **annotations},
    )


class Agent:
    """Answers with a number, and keeps what it was asked after what."""

    def __init__(self):
        self.asked = []

    def __call__(self, inputs, trace: Trace):
        self.asked.append((inputs, [turn.outputs for turn in trace.interactions]))
        return f"answer {len(self.asked)}"


def outputs_of(result):
    return [turn.outputs for turn in result.final_trace.interactions]


# --- what is live ------------------------------------------------------------------------


@pytest.mark.parametrize("until", [None, 0])
def test_all_turns_are_asked_anew(until):
    agent = Agent()
    result = scenario_from_trace(recorded(), replay_until=until).run_sync(target=agent)

    assert agent.asked == [
        ("What does it cost?", []),
        ("Block it.", ["answer 1"]),
        ("Thanks", ["answer 1", "answer 2"]),
    ]
    assert outputs_of(result) == ["answer 1", "answer 2", "answer 3"]


def test_the_first_turns_stay_as_they_were():
    agent = Agent()
    result = scenario_from_trace(recorded(), replay_until=2, target=agent).run_sync()

    assert agent.asked == [("Thanks", ["It is free.", "Done."])]
    assert result.final_trace.interactions[:2] == recorded().interactions[:2]
    assert result.final_trace.last.metadata == {"recorded": {"tool_calls": [], "incomplete": True, "outputs": None}}


def test_when_all_are_replayed_nothing_is_live():
    trace = recorded(labels={"resolved": False}, source={"path": "a.jsonl", "line": 3})
    check = Equals(expected_value="Done.", target_key="trace.interactions[1].outputs")
    with pytest.warns(UserWarning, match=r"all turns of the trace are replayed \(3\): no turn is live.*TestCase"):
        scenario = scenario_from_trace(trace, replay_until=3, checks=[check])
    agent = Agent()
    result = scenario.run_sync(target=agent)

    assert result.passed
    assert result.final_trace == trace
    assert agent.asked == []


def test_what_the_assistant_said_first_stays():
    opening = Interaction(inputs=None, outputs="Hello, I am Ada.")
    trace = Trace(interactions=[opening, Interaction(inputs="Hi", outputs="?")])
    for until in (None, 1):
        agent = Agent()
        result = scenario_from_trace(trace, replay_until=until).run_sync(target=agent)
        assert agent.asked == [("Hi", ["Hello, I am Ada."])]
        assert result.final_trace.interactions[0] == opening

    with pytest.warns(UserWarning, match="no turn is live"):
        scenario_from_trace(Trace(interactions=[opening]))


@pytest.mark.parametrize("inputs", [{"kind": "user", "text": "Hi"}, ["a", "b"], 0, "", {"role": "user"}])
def test_inputs_of_any_form_are_sent_as_they_were(inputs):
    seen = []
    trace = Trace(interactions=[Interaction(inputs=inputs, outputs=1)])
    scenario = Scenario.model_validate_json(scenario_from_trace(trace).model_dump_json())
    scenario.run_sync(target=lambda inputs: seen.append(inputs))

    assert seen == [inputs]
    assert type(seen[0]) is type(inputs)


# --- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "error", "words"),
    [
        (-1, ValueError, r"replay_until is -1, and the trace has 3 turns: expected a number from 0 .* to 3"),
        (4, ValueError, r"replay_until is 4, and the trace has 3 turns"),
        (True, TypeError, r"replay_until is True, expected a whole number"),
        (1.0, TypeError, r"replay_until is 1.0, expected a whole number"),
        ("1", TypeError, r"replay_until is '1'"),
    ],
)
def test_how_many_turns_are_replayed_is_checked(until, error, words):
    with pytest.raises(error, match=words):
        scenario_from_trace(recorded(), replay_until=until)


def test_what_is_no_recording_is_refused():
    with pytest.raises(TypeError, match="expected a Trace, got list"):
        scenario_from_trace([Interaction(inputs=1, outputs=2)])
    with pytest.raises(ValueError, match="the trace has no turns"):
        scenario_from_trace(Trace())
    with pytest.raises(ValueError, match="expected a list of checks, got Equals"):
        scenario_from_trace(recorded(), checks=Equals(expected_value=1))
    with pytest.raises(ValueError, match="the checks of each_turn would never run"):
        scenario_from_trace(recorded(), replay_until=3, each_turn=[Equals(expected_value=1)])


def test_a_turn_without_inputs_between_others_cannot_be_live():
    turns = [
        Interaction(inputs="a", outputs="b"),
        Interaction(inputs=None, outputs="c"),
        Interaction(inputs="d", outputs="e"),
    ]
    with pytest.raises(ValueError, match=r"turn 2 of the trace has no inputs.*replay_until=2 or more"):
        scenario_from_trace(Trace(interactions=turns))

    assert outputs_of(scenario_from_trace(Trace(interactions=turns), replay_until=2).run_sync(target="new")) == [
        "b",
        "c",
        "new",
    ]


# --- checks ------------------------------------------------------------------------------


def test_checks_run_at_the_end():
    seen = []
    check = from_fn(lambda trace: seen.append(len(trace.interactions)) or True, name="count")
    result = scenario_from_trace(recorded(), replay_until=1, checks=[check]).run_sync(target=Agent())

    assert seen == [3]
    assert len(result.steps) == 1


def test_checks_of_each_turn_run_after_each_live_one():
    seen = []
    each = from_fn(lambda trace: seen.append(len(trace.interactions)) or True, name="each")
    last = from_fn(lambda trace: seen.append("end") or True, name="end")
    scenario = scenario_from_trace(recorded(), replay_until=1, checks=[last], each_turn=[each])
    result = scenario.run_sync(target=Agent())

    assert seen == [2, 3, "end"]
    assert [step.last_interaction_index for step in result.steps] == [1, 2]
    assert len(outputs_of(result)) == 3


def test_a_turn_that_does_not_pass_ends_the_conversation():
    agent = Agent()
    each = from_fn(lambda trace: trace.last.outputs != "answer 2", name="each")
    result = scenario_from_trace(recorded(), each_turn=[each]).run_sync(target=agent)

    assert len(agent.asked) == 2
    assert result.failed


# --- the recorded answer -----------------------------------------------------------------


def test_the_new_answer_can_be_compared_with_the_recorded_one():
    same = Equals(expected_value_key="trace.last.metadata.recorded.outputs", name="as before")
    calls = Equals(
        target_key="trace.interactions[0].metadata.recorded.tool_calls[0].name", expected_value="get_fee", name="calls"
    )
    trace = Trace(interactions=recorded().interactions[:2])
    answers = {"What does it cost?": "Free.", "Block it.": "Done."}
    result = scenario_from_trace(trace, checks=[same, calls]).run_sync(target=lambda inputs: answers[inputs])

    assert result.passed
    kept = result.final_trace.interactions[0].metadata["recorded"]
    assert kept == {"tool_calls": [CALL], "labels": {"good": True}, "outputs": "It is free."}
    assert result.final_trace.last.metadata["recorded"] == {"tool_calls": [], "latency_ms": 12.0, "outputs": "Done."}


def test_the_recorded_answer_stays_with_a_turn_that_the_target_makes():
    def agent(inputs):
        return Interaction(inputs=inputs, outputs="new", metadata={"tool_calls": [ToolCall(name="block")]})

    last = scenario_from_trace(recorded(), replay_until=1).run_sync(target=agent).final_trace.interactions[1]

    assert last.metadata["recorded"]["outputs"] == "Done."
    assert last.metadata["tool_calls"] == [ToolCall(name="block")]
    assert last.outputs == "new"


def test_a_second_recording_keeps_the_answer_before_it():
    first = scenario_from_trace(recorded()).run_sync(target=Agent()).final_trace
    second = scenario_from_trace(first).run_sync(target="newer").final_trace

    assert second.last.metadata["recorded"] == {"tool_calls": [], "outputs": "answer 3"}


def test_no_judge_sees_the_recorded_answer():
    model = FakeGenerator('{"passed": true, "reason": "fine"}')
    judge = LLMJudge(prompt="Is this polite? {{ trace }}", judge=model)
    assert scenario_from_trace(recorded(), replay_until=1, checks=[judge]).run_sync(target="new").passed

    (prompt,) = model.prompts
    assert "It is free." in prompt
    assert "Done." not in prompt
    assert "recorded" not in prompt


# --- what is known of the conversation ---------------------------------------------------


def test_annotations_that_are_true_of_the_recording_only_are_put_aside():
    source = {"format": "openai_chat", "path": "logs/a.jsonl", "line": 17}
    trace = recorded(labels={"resolved": False}, source=source, system_prompt="Be kind.", tools=[{"name": "t"}])
    scenario = scenario_from_trace(trace)

    assert scenario.annotations == {
        "customer": "gold",
        "system_prompt": "Be kind.",
        "tools": [{"name": "t"}],
        "recorded": {"conversation_id": "conv-1", "labels": {"resolved": False}, "source": source},
    }
    result = scenario.run_sync(target=lambda inputs, trace: trace.annotations["system_prompt"])
    assert result.final_trace.annotations == scenario.annotations
    assert result.final_trace.last.outputs == "Be kind."


def test_nothing_is_put_aside_when_nothing_is_known():
    trace = Trace(interactions=[Interaction(inputs=1, outputs=2)], annotations={"a": 1})

    assert scenario_from_trace(trace).annotations == {"a": 1}


@pytest.mark.parametrize(
    ("annotations", "name"),
    [
        ({"conversation_id": "conv-1", "source": {"path": "a.jsonl", "line": 1}}, "conv-1"),
        ({"conversation_id": 7}, "7"),
        ({"source": {"path": "logs/a.jsonl", "line": 17}}, "logs/a.jsonl:17"),
        ({"source": {"path": "logs/a.jsonl"}}, "logs/a.jsonl"),
        ({"source": {"format": "openai_chat"}}, "Recorded conversation"),
        ({"source": "elsewhere", "conversation_id": ""}, "Recorded conversation"),
        ({}, "Recorded conversation"),
    ],
)
def test_what_reports_call_it(annotations, name):
    trace = Trace(interactions=[Interaction(inputs=1, outputs=2)], annotations=annotations)

    assert scenario_from_trace(trace).name == name
    assert scenario_from_trace(trace, name="mine").name == "mine"


def test_neither_the_recording_nor_the_scenario_is_changed_by_the_other():
    trace = recorded()
    before = trace.model_dump_json()
    scenario = scenario_from_trace(trace, replay_until=1)
    scenario.annotations["customer"] = "silver"
    scenario.steps[0].interacts[1].metadata["recorded"]["outputs"] = "?"
    scenario.run_sync(target=Agent())

    assert trace.model_dump_json() == before


# --- traces of one's own, files, suites --------------------------------------------------


def test_the_type_of_the_trace_is_kept():
    result = scenario_from_trace(recorded(BankTrace), replay_until=2).run_sync(target="Bye.")

    assert type(result.final_trace) is BankTrace
    assert result.final_trace.said == "It is free. Done. Bye."
    assert scenario_from_trace(recorded()).trace_type is None


def test_a_target_that_asks_for_a_type_of_its_own_gets_it():
    def agent(inputs: str, trace: BankTrace) -> str:
        return f"after {trace.said}"

    result = scenario_from_trace(recorded(), replay_until=2).run_sync(target=agent)
    assert result.final_trace.last.outputs == "after It is free. Done."


def test_fields_of_ones_own_that_would_be_lost_are_refused():
    assert scenario_from_trace(recorded(Numbered)).trace_type is Numbered
    trace = Numbered(interactions=[Interaction(inputs=1, outputs=2)], number=3)
    with pytest.raises(ValueError, match=r"Numbered holds 'number' in fields of its own.*annotations"):
        scenario_from_trace(trace)


def test_it_is_saved_and_loaded():
    check = Equals(expected_value_key="trace.last.metadata.recorded.outputs")
    scenario = scenario_from_trace(recorded(BankTrace, source={"path": "a.jsonl"}), replay_until=1, each_turn=[check])
    text = scenario.model_dump_json()
    again = Scenario.model_validate_json(text)

    assert again == scenario
    assert again.trace_type is BankTrace
    assert [type(turn) for step in again.steps for turn in step.interacts] == [
        Interaction,
        RecordedInput,
        RecordedInput,
    ]
    assert json.loads(text)["steps"][0]["interacts"][1]["kind"] == "recorded_input"
    assert again.run_sync(target="Done.").final_trace == scenario.run_sync(target="Done.").final_trace


def test_many_at_once():
    traces = [recorded(conversation_id=f"conv-{number}") for number in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        suite = Suite("replayed", [scenario_from_trace(trace, replay_until=1) for trace in traces])
    result = suite.run_sync(target=lambda inputs: f"re {inputs}", parallel=True, verbose=False)

    assert [member.scenario_name for member in result.results] == [f"conv-{number}" for number in range(20)]
    assert all(outputs_of(member) == ["It is free.", "re Block it.", "re Thanks"] for member in result.results)


def test_a_conversation_of_many_turns():
    turns = [Interaction(inputs=f"q{number}", outputs=f"a{number}") for number in range(2_000)]
    result = scenario_from_trace(Trace(interactions=turns), replay_until=1_990).run_sync(target=Agent())

    assert outputs_of(result)[:1_990] == [turn.outputs for turn in turns[:1_990]]
    assert outputs_of(result)[-1] == "answer 10"
