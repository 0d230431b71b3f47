"""Scenarios: how they are written down."""

import asyncio

import pytest
from pydantic import ValidationError

from giskard.checks import (
    MISSING,
    Equals,
    FnCheck,
    Interact,
    Interaction,
    Scenario,
    Step,
    StringMatching,
    Trace,
    scenario,
)

ok = FnCheck(fn=lambda trace: True, name="ok")
bad = FnCheck(fn=lambda trace: False, name="bad")


def shape(built):
    """How many interactions and checks each step has."""
    return [(len(step.interacts), len(step.checks)) for step in built.steps]


def test_the_defaults():
    built = Scenario()

    assert built.name == "Unnamed Scenario"
    assert (built.steps, built.annotations, built.tags) == ([], {}, [])
    assert (built.trace_type, built.multiple_runs, built.timeout) == (None, 1, None)
    assert built.target is MISSING
    assert Scenario("s") == Scenario(name="s") == scenario("s") == scenario(name="s")
    assert scenario("s", tags=["a"]).tags == ["a"]


def test_every_fluent_method_changes_it_in_place_and_returns_it():
    built = Scenario("s")

    for answer in (
        built.interact("q", "a"),
        built.interact(inputs="q", outputs="a", metadata={"k": 1}),
        built.check(ok),
        built.checks(ok, bad),
        built.add_interaction(Interaction(inputs=1, outputs=2)),
        built.add_interactions(Interact(inputs=1), Interaction(inputs=1, outputs=2)),
        built.append(ok),
        built.append(Interact(inputs=1)),
        built.append(Step()),
        built.extend(ok, Interact(inputs=1), Step(checks=[ok])),
        built.with_annotations({"a": 1}),
        built.with_target(len),
        built.with_tags("a", "b"),
    ):
        assert answer is built
    assert built.annotations == {"a": 1}
    assert built.target is len
    assert built.tags == ["a", "b"]
    assert built.with_tags(["c"]).with_annotations({}).tags == ["c"]
    assert built.annotations == {}


def test_interactions_join_the_last_step_unless_it_has_checks():
    built = Scenario("s").interact(1, 1).interact(2, 2).check(ok).check(ok).interact(3, 3).interact(4, 4)

    assert shape(built) == [(2, 2), (2, 0)]
    assert shape(Scenario("s").check(ok).interact(1, 1)) == [(0, 1), (1, 0)]
    assert shape(Scenario("s").append(Step()).interact(1, 1).check(ok)) == [(1, 1)]
    assert shape(Scenario("s").extend(Step(checks=[ok]), Step(), ok)) == [(0, 1), (0, 1)]
    assert shape(Scenario("s").add_interactions().checks()) == []


def test_scenarios_do_not_share_their_steps():
    one, other = Scenario("a").check(ok), Scenario("b")

    assert other.steps == []
    assert one.steps[0].interacts is not Step().interacts


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Scenario("s").check("no check"),
        lambda: Scenario("s").check(Equals),
        lambda: Scenario("s").add_interaction("no interaction"),
        lambda: Scenario("s").append(5),
        lambda: Step(checks=ok),
        lambda: Step(checks=["no check"]),
        lambda: Step(interacts=[5]),
        lambda: Step(interacts=Interaction(inputs=1, outputs=1)),
        lambda: Scenario("s", steps=[5]),
        lambda: Scenario("s", trace_type=dict),
        lambda: Scenario("s", timeout=0),
        lambda: Scenario("s", multiple_runs=0),
        lambda: Scenario("s", multiple_runs="2"),
        lambda: Scenario("s", multiple_runs=True),
    ],
)
def test_what_cannot_run_is_refused_at_once(wrong):
    with pytest.raises((ValidationError, ValueError, TypeError)):
        wrong()


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: Scenario("s", multiple_run=2), "multiple_runs"),
        (lambda: scenario("s", tag=["a"]), "tags"),
        (lambda: Step(check=[ok]), "checks"),
        (lambda: Step(interact=[]), "interacts"),
        (lambda: StringMatching(keywrd="x"), "keyword"),
    ],
)
def test_unknown_keys_are_refused_with_a_hint(make, hint):
    with pytest.raises(ValidationError, match=f"did you mean '{hint}'"):
        make()


def test_data_of_another_version_warns_of_unknown_keys():
    data = {"schema_version": "1.7", "name": "s", "added_later": 1, "tags": ["a"]}
    with pytest.warns(UserWarning, match="added_later"):
        assert Scenario.model_validate(data).tags == ["a"]
    with pytest.raises(ValidationError, match="added_later"):
        Scenario.model_validate({**data, "schema_version": "1.0"})


# --- steps -----------------------------------------------------------------------------------------------


def test_all_checks_of_a_step_run_and_a_step_that_is_not_pass_ends_the_scenario():
    asked = []

    def target(inputs):
        asked.append(inputs)
        return "x"

    built = (
        Scenario("s").interact("a", target).checks(bad, ok).interact("b", target).checks(ok, ok).interact("c", target)
    )
    result = built.run_sync()

    assert asked == ["a"]
    assert [[r.status.value for r in step.results] for step in result.steps] == [
        ["fail", "pass"],
        ["skip"] * 2,
        ["skip"],
    ]
    assert result.steps[2].results[0].name == "step"
    assert result.failed
    assert len(result.format_failures()) == 4


def test_interactions_of_a_step_run_before_its_checks():
    built = (
        Scenario("s")
        .interact("a", "1")
        .interact("b", "2")
        .check(FnCheck(fn=lambda trace: len(trace.interactions) == 2))
    )

    assert built.run_sync().passed


def test_the_index_of_the_last_interaction_of_a_step():
    def user():
        yield "c"
        yield "d"

    built = (
        Scenario("s").check(ok).interact("a", 1).interact("b", 1).check(ok).append(Step(checks=[ok])).interact(user, 1)
    )
    built.check(ok).interact(lambda: iter_nothing(), 1).check(ok)
    result = built.run_sync()

    assert [step.last_interaction_index for step in result.steps] == [None, 1, None, 3, None]


def iter_nothing():
    yield from ()


def test_without_steps_or_checks_it_passes_and_says_that_nothing_was_checked():
    for built in (Scenario("s"), Scenario("s").interact("q", "a"), Scenario("s").append(Step())):
        result = built.run_sync()
        assert result.passed
        assert result.nothing_checked
        assert result.duration_ms >= 0


def test_the_result_says_where_it_comes_from():
    built = Scenario("refund", tags=["Area:money"]).interact("q", "a").checks(ok, ok, bad)
    result = built.run_sync()
    again = built.run_sync()

    assert result.scenario_name == "refund"
    assert result.tags == ["Area:money"]
    assert result.scenario_id == "refund"
    assert [r.check_id for r in result.steps[0].results] == ["ok", "ok#2", "bad"]
    assert [r.check_id for r in again.steps[0].results] == ["ok", "ok#2", "bad"]
    assert result.run_id != again.run_id
    assert {step.run_id for step in result.steps} == {result.run_id}
    assert result.conversation_id != again.conversation_id
    assert Scenario("refund", id="R-1").run_sync().scenario_id == "R-1"
    assert result.timing.started_at <= again.timing.started_at


def test_ids_of_checks_go_on_over_the_steps():
    named = FnCheck(fn=lambda trace: True, name="x", id="mine")
    built = Scenario("s").checks(ok, named).interact("q", "a").checks(ok, FnCheck(fn=lambda trace: True))
    result = built.run_sync()

    assert [r.check_id for step in result.steps for r in step.results] == ["ok", "mine", "ok#2", "fn"]


def test_the_types_of_the_parameters_are_accepted():
    built = Scenario[str, str, Trace[str, str]]("s").interact("q", "a").check(ok)

    assert built.run_sync().passed
    assert Scenario[str, str, Trace]("s", steps=[Step(checks=[ok])]).run_sync().passed


def test_run_sync_inside_a_loop_says_what_to_do():
    async def main():
        with pytest.raises(RuntimeError, match=r"await scenario\.run\(\)"):
            Scenario("s").run_sync()
        return await Scenario("s").run()

    assert asyncio.run(main()).passed


# --- what is put in place later --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("multiple_runs", "many", "valid integer"),
        ("multiple_runs", 0, "greater than or equal to 1"),
        ("timeout", -5, "timeout is -5, expected a positive, finite number"),
        ("timeout", True, r"timeout is True \(bool\)"),
        ("timeout", "5", r"timeout is '5' \(str\)"),
        ("tags", "refund", "valid list"),
        ("tags", [1], "valid string"),
        ("steps", [1], "Step"),
        ("annotations", 1, "valid dictionary"),
        ("trace_type", int, "expected Trace or a subclass"),
        ("name", None, "valid string"),
        ("nmae", "s", "nmae"),
    ],
)
def test_a_value_that_no_scenario_can_have_is_refused_when_it_is_set(name, value, message):
    built = Scenario("s", tags=["a"], multiple_runs=2)

    with pytest.raises(ValueError, match=message):
        setattr(built, name, value)
    assert built == Scenario("s", tags=["a"], multiple_runs=2)


@pytest.mark.parametrize("kind", [Scenario, Scenario[str, str, Trace]])
def test_what_is_set_stays_the_very_object(kind):
    built = kind("s")
    tags, annotations, steps = ["a"], {"k": [1]}, [Step(checks=[ok])]
    built.tags, built.annotations, built.steps = tags, annotations, steps

    assert built.tags is tags
    assert built.annotations is annotations
    assert built.steps is steps
    steps.append(Step())
    assert shape(built) == [(0, 1), (0, 0)]
    assert kind.model_validate(built.model_dump()) == built
    built.steps = [{"checks": []}]
    assert isinstance(built.steps[0], Step)
    built.timeout = 3
    built.target = None
    assert (built.timeout, built.target) == (3.0, None)
    assert built.model_fields_set >= {"timeout", "target", "tags"}


def test_tags_and_annotations_of_a_wrong_type_are_refused():
    built = Scenario("s")

    with pytest.raises(TypeError, match="got int: 1"):
        built.with_tags(1)
    with pytest.raises(ValidationError, match="valid string"):
        built.with_tags("a", ["b", 2])
    with pytest.raises(TypeError, match="got str: 'a'"):
        built.with_annotations("a")
    assert (built.tags, built.annotations) == ([], {})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "expected a list of interactions and specs, got int"),
        ("q", "expected a list of interactions and specs, got str"),
        ([5], "expected an Interaction or an InteractionSpec, got int: 5"),
    ],
)
def test_what_is_no_list_of_turns_is_named(given, message):
    with pytest.raises(ValidationError, match=message):
        Step(interacts=given)


def test_a_list_in_place_of_a_check_says_how_to_give_its_items():
    with pytest.raises(ValueError, match=r"^expected a check, got list: .*; give its items one by one: \.checks\("):
        Scenario("s").check([ok])


def test_an_unknown_field_is_named_before_what_else_is_wrong():
    with pytest.raises(ValidationError) as refused:
        Scenario("s", timeout=0, multiple_run=2)
    assert [line["loc"] for line in refused.value.errors()] == [("multiple_run",), ("timeout",)]
