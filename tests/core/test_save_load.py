"""Tests that are saved and loaded mean the same, or cannot be saved."""

import dataclasses
import datetime as dt
import functools
import json
import math
import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError, computed_field

from giskard.checks import (
    MISSING,
    AllOf,
    AnyOf,
    Check,
    Equals,
    FnCheck,
    GreaterThan,
    Interact,
    Interaction,
    InteractionSpec,
    JsonValid,
    Not,
    Scenario,
    Step,
    StringMatching,
    Suite,
    TestCase,
    Trace,
)
from giskard.checks.core.exceptions import UnknownFieldWarning


class Order(BaseModel):
    number: int


@dataclasses.dataclass
class Point:
    x: int


class Shop(Trace[str, str], frozen=True):
    currency: str = "EUR"

    @computed_field
    @property
    def transcript(self) -> str:
        return " / ".join(turn.inputs for turn in self.interactions)


def always(trace):
    return True


def agent(inputs):
    return f"got {inputs}"


class Agent:
    def answer(self, inputs):
        return inputs

    @classmethod
    def of_the_class(cls, inputs):
        return inputs

    @staticmethod
    def static(inputs):
        return inputs


def users():
    yield "a"


def again(model):
    """The model, through JSON text, JSON data and a dictionary; all of them are equal."""
    text = model.model_dump_json()
    loaded = type(model).model_validate_json(text)
    assert json.loads(loaded.model_dump_json()) == json.loads(text)
    data = model.model_dump(mode="json")
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert type(model).model_validate(data) == loaded
    assert type(model).model_validate(model.model_dump()) == loaded
    return loaded


def full_scenario():
    return Scenario(
        "full",
        tags=["Area:money"],
        annotations={"tier": "gold", "kind": "a literal", "$callable": "os:getcwd", "when": dt.date(2025, 1, 2)},
        multiple_runs=3,
        timeout=5.0,
        target=agent,
        trace_type=Shop,
        id="S-1",
        steps=[
            Step(
                interacts=[
                    Interact(inputs="q", metadata={"k": (1, 2)}, timeout=1.5),
                    Interact(inputs=users, outputs=agent),
                    Interaction(inputs={"kind": "x"}, outputs=[1, None], metadata={"$type": "set", "value": [1]}),
                    InteractionSpec(inputs={"$callable": "os:getcwd"}, outputs={"$literal": {"kind": 1}}),
                ],
                checks=[
                    FnCheck(fn=always, name="fn", description="d", severity="warning"),
                    Not(check=AllOf(checks=[Equals(expected_value={"kind": "equals"}), StringMatching(keyword="x")])),
                    Equals(expected_value=None, target_key="trace.last.outputs"),
                    Equals(expected_value=math.inf, tolerance=dt.timedelta(seconds=1)),
                ],
            )
        ],
    )


def test_a_whole_scenario():
    scenario = full_scenario()
    loaded = again(scenario)

    assert loaded == scenario
    assert loaded.target is agent
    assert loaded.trace_type is Shop
    assert loaded.steps[0].interacts[0].outputs is MISSING
    assert loaded.steps[0].interacts[1].inputs is users
    assert loaded.steps[0].checks[0].fn is always
    assert loaded.annotations["when"] == dt.date(2025, 1, 2)
    assert type(loaded.steps[0].interacts[2]) is Interaction


def test_a_whole_suite():
    case = TestCase(
        name="t", trace=Trace(interactions=[Interaction(inputs=1, outputs=(1, 2))]), checks=[FnCheck(fn=always)]
    )
    suite = Suite(name="all", scenarios=[full_scenario(), case, Scenario("empty")], target=agent, id="x")
    loaded = again(suite)

    assert loaded == suite
    assert [type(member) for member in loaded.scenarios] == [Scenario, TestCase, Scenario]
    assert loaded.scenarios[1].trace.last.outputs == (1, 2)


def test_a_saved_suite_runs_as_before():
    scenario = Scenario("s").interact("q", agent).check(Equals(expected_value="got q"))
    loaded = again(Suite(name="s", scenarios=[scenario]))

    assert loaded.run_sync(verbose=False).passed


def test_what_a_trace_of_ones_own_computes_is_kept():
    trace = Shop(interactions=[Interaction(inputs="a", outputs="b")])
    case = TestCase(
        trace=trace,
        checks=[
            Equals(expected_value="a", target_key="trace.transcript"),
            Equals(expected_value="EUR", target_key="trace.currency"),
        ],
    )

    assert case.run_sync().passed
    assert again(case).run_sync().passed


def test_missing_fields_are_left_out_and_come_back_missing():
    data = Interact(inputs="q").model_dump()
    assert "outputs" not in data
    assert "target" not in Scenario("s").model_dump()
    assert InteractionSpec.model_validate(data).outputs is MISSING
    assert Scenario.model_validate(Scenario("s").model_dump()).target is MISSING
    assert again(Interact(inputs="q", outputs=None)).outputs is None
    dumped = Equals(expected_value_key="trace.last.inputs").model_dump()
    assert "expected_value" not in dumped
    assert again(Equals(expected_value=None)).expected_value is None


def test_documents_carry_their_version():
    for model in (Scenario("s"), Step(), Suite(name="s"), TestCase(trace=Trace(), checks=[])):
        assert model.model_dump()["schema_version"] == "1.0"
        assert json.loads(model.model_dump_json(indent=2))["schema_version"] == "1.0"
        assert next(iter(json.loads(model.model_dump_json()))) == "schema_version"
        newer = {**model.model_dump(), "schema_version": "2.0"}
        with pytest.raises(ValidationError, match=r"(?s)2\.0.*1\.0"):
            type(model).model_validate(newer)
    assert full_scenario().model_dump()["steps"][0]["schema_version"] == "1.0"


def test_a_scenario_inside_of_another_model_comes_back_equal():
    class Plan(BaseModel):
        scenarios: list[Scenario]

    plan = Plan(scenarios=[Scenario("s", annotations={"t": (1, 2), "schema_version": "x"}, target=len)])

    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    several = TypeAdapter(list[Scenario])
    assert several.validate_json(several.dump_json(plan.scenarios)) == plan.scenarios


def test_what_another_version_added_inside_of_a_suite_is_left_out_with_a_warning():
    data = json.loads(Suite(name="all", scenarios=[Scenario("s")]).model_dump_json())
    data["schema_version"] = data["scenarios"][0]["schema_version"] = "1.1"
    data["scenarios"][0]["budget"] = 3

    with pytest.warns(UnknownFieldWarning, match="budget"):
        assert Suite.model_validate(data).scenarios[0].name == "s"


def test_a_step_alone_comes_back_equal():
    step = Step(interacts=[Interaction(inputs=("a", {"$callable": "x"}), outputs={1, 2})], checks=[])
    again = Step.model_validate_json(step.model_dump_json())
    assert again == step
    assert again.interacts[0].inputs == ("a", {"$callable": "x"})


# --- values ----------------------------------------------------------------------------------------------

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec="utf-8"))
    | st.binary(max_size=5)
    | st.datetimes(timezones=st.just(dt.UTC) | st.none())
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.complex_numbers(allow_nan=False)
    | st.sampled_from([len, agent, Agent, Agent.static, Agent.of_the_class])
)
hashable = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")) | st.dates()
keys = st.text(st.characters(codec="utf-8")) | st.sampled_from(
    ["kind", "$callable", "$literal", "$type", "value", "schema_version", "trace", "$items", "name"]
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.sets(hashable, max_size=3)
        | st.frozensets(hashable, max_size=3)
    ),
    max_leaves=8,
)


def same(a, b):
    """Equality in which NaN equals itself, types count, and -0.0 is not 0.0."""
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(k in b and same(v, b[k]) for k, v in a.items())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        plain = isinstance(a, list) == isinstance(b, list)
        return plain and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (set, frozenset)):
        return a == b and isinstance(b, frozenset) == isinstance(a, frozenset)
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    return a == b and type(a) is type(b)


@given(values)
def test_values_come_back_the_same(value):
    loaded = again_once(Interact(inputs=value, outputs=value, metadata={"v": value}))
    assert same(loaded.inputs, value)
    assert same(loaded.outputs, value)
    assert same(loaded.metadata, {"v": value})

    assert same(again_once(Scenario("s", annotations={"v": value})).annotations, {"v": value})
    step = Step(interacts=[Interaction(inputs=value, outputs=[value])])
    loaded = again_once(Scenario("s", steps=[step]))
    assert same(loaded.steps[0].interacts[0].inputs, value)
    case = TestCase(trace=Trace(interactions=[Interaction(inputs=1, outputs=value)]), checks=[])
    assert same(again_once(case).trace.last.outputs, value)


def again_once(model):
    return type(model).model_validate_json(model.model_dump_json())


@given(values)
def test_expected_values_come_back_the_same(value):
    check = Check.model_validate_json(Equals(expected_value=value).model_dump_json())

    assert same(check.expected_value, value)


@pytest.mark.parametrize("value", [Order(number=1), Point(1), [Order(number=1)], {"p": Point(1)}])
def test_models_and_dataclasses_come_back_as_what_they_were(value):
    assert again_once(Interact(inputs=value)).inputs == value


def test_a_model_of_a_class_that_nobody_can_import_is_refused_when_it_is_saved():
    class Local(BaseModel):
        n: int = 1

    with pytest.raises(ValueError, match=r"Local.*cannot be saved.*top level"):
        Interact(inputs=Local()).model_dump_json()


def test_special_values():
    for value in (
        uuid.UUID(int=1),
        Decimal("1.10"),
        dt.datetime(2025, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    ):
        assert again_once(Interact(inputs=value)).inputs == value
    assert str(again_once(Interact(inputs=Decimal("1.10"))).inputs) == "1.10"


# --- whole tests -----------------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), max_size=5)
seconds = st.none() | st.floats(0.001, 1e6)
who = st.fixed_dictionaries(
    {},
    optional={"name": words, "description": words, "id": words, "severity": st.just("warning"), "timeout": seconds},
)
paths = st.sampled_from(["trace.last.outputs", "trace.interactions[*].inputs", "trace..名前", "trace.x[?@.a == 'b']"])
leaf_checks = st.one_of(
    st.builds(lambda v, key, own: Equals(expected_value=v, target_key=key, **own), values, paths, who),
    st.builds(lambda key, own: GreaterThan(expected_value_key=key, match="all", **own), paths, who),
    st.builds(lambda v, own: StringMatching(keyword=f"x{v}", **own), words, who),
    st.builds(lambda own: FnCheck(fn=always, **own), who),
    st.builds(lambda key, own: JsonValid(target_key=key, expected_schema={"type": "object"}, **own), paths, who),
)
checks = st.recursive(
    leaf_checks,
    lambda inner: st.one_of(
        st.builds(lambda check, own: Not(check=check, **own), inner, who),
        st.builds(lambda each, own: AllOf(checks=each, **own), st.lists(inner, min_size=1, max_size=2), who),
        st.builds(lambda each, own: AnyOf(checks=each, **own), st.lists(inner, min_size=1, max_size=2), who),
    ),
    max_leaves=3,
)
metadata = st.dictionaries(keys, values, max_size=2)
recorded = st.builds(lambda i, o, m: Interaction(inputs=i, outputs=o, metadata=m), values, values, metadata)
specs = st.builds(
    lambda i, o, m, t: Interact(inputs=i, outputs=o, metadata=m, timeout=t),
    values | st.just(users),
    values | st.sampled_from([agent, MISSING]),
    metadata,
    seconds,
)
scenarios = st.builds(
    Scenario,
    name=words,
    steps=st.lists(
        st.builds(Step, interacts=st.lists(recorded | specs, max_size=2), checks=st.lists(checks, max_size=2)),
        max_size=2,
    ),
    annotations=metadata,
    trace_type=st.sampled_from([None, Shop]),
    target=st.sampled_from([MISSING, None, agent]),
    multiple_runs=st.integers(1, 5),
    tags=st.lists(words, max_size=2),
    timeout=seconds,
)
cases = st.builds(
    TestCase,
    name=st.none() | words,
    trace=st.builds(Trace, interactions=st.lists(recorded, max_size=2), annotations=metadata),
    checks=st.lists(checks, max_size=2),
)
suites = st.builds(Suite, name=words, scenarios=st.lists(scenarios | cases, max_size=2), target=st.just(agent))


@given(st.one_of(scenarios, cases, suites, checks))
def test_what_was_saved_loaded_and_saved_again_is_the_same(model):
    text = model.model_dump_json()
    data = json.loads(text)
    assert model.model_dump(mode="json") == data or "NaN" in text

    for loaded in (
        type(model).model_validate_json(text),
        type(model).model_validate(data),
        type(model).model_validate(model.model_dump()),
        type(model).model_validate(model.model_dump(mode="json")),
    ):
        assert type(loaded) is type(model)
        assert loaded.model_dump_json() == text


# --- what cannot be saved ----------------------------------------------------------------------------------


class Callable:
    def __call__(self, inputs):
        return inputs


def local():
    def inner(inputs):
        return inputs

    return inner


UNSAVABLE = [
    lambda inputs: inputs,
    local(),
    functools.partial(agent),
    Agent().answer,
    Callable(),
    object(),
    iter([]),
    (item for item in []),
]


@pytest.mark.parametrize("value", UNSAVABLE, ids=lambda value: type(value).__name__)
def test_it_says_so_when_it_is_saved(value):
    models = [
        Interact(inputs=value, outputs="x"),
        Interact(inputs="x", outputs={"deep": [value]}),
        Scenario("s", annotations={"v": value}),
        Scenario("s").interact(value, "x"),
        Suite(name="s", scenarios=[Scenario("s", target=value if callable(value) else {"v": value})]),
        TestCase(trace=Trace(annotations={"v": value}), checks=[]),
    ]
    for model in models:
        assert model.model_dump()  # a python dump keeps it
        for save in (model.model_dump_json, lambda model=model: model.model_dump(mode="json")):
            with pytest.raises(ValueError, match="cannot be saved"):
                save()


def test_a_python_dump_keeps_callables():
    fn = lambda trace: True  # noqa: E731

    assert FnCheck(fn=fn).model_dump()["fn"] is fn
    assert Check.model_validate(FnCheck(fn=fn).model_dump()).fn is fn
    with pytest.raises(ValueError, match=r"a lambda.*`def`"):
        FnCheck(fn=fn).model_dump_json()


def test_a_class_without_a_kind_cannot_be_saved():
    class Mine(Check):
        pass

    assert Mine().model_dump()["kind"] is None
    with pytest.raises(ValueError, match=r"Mine has no kind.*@Check\.register"):
        Mine().model_dump_json()
    with pytest.raises(ValueError, match="has no kind"):
        Scenario("s").check(Mine()).model_dump_json()


@pytest.mark.parametrize("path", ["nowhere:agent", "tests.core:nothing", "no path", ":", "os:sep"])
def test_a_path_that_leads_nowhere_is_refused_when_it_is_loaded(path):
    with pytest.raises(ValidationError, match=r"path|imported|callable"):
        Check.model_validate({"kind": "fn", "fn": path})
    with pytest.raises(ValidationError):
        InteractionSpec.model_validate({"kind": "interact", "inputs": 1, "outputs": {"$callable": path}})


def test_an_import_path_may_be_written_by_hand():
    check = Check.model_validate({"kind": "fn", "fn": "builtins:callable"})

    assert check.fn is callable


def test_a_dump_without_defaults_has_what_differs_from_them():
    check = Equals(expected_value=3, name="fee", match=None)
    assert check.model_dump(exclude_defaults=True) == {"kind": "equals", "expected_value": 3, "name": "fee"}
    assert check.model_dump(exclude_unset=True) == {"kind": "equals", "expected_value": 3, "name": "fee", "match": None}
    assert "match" not in check.model_dump(exclude_none=True)
    assert check.model_dump(include={"name"}) == {"kind": "equals", "name": "fee"}
    assert "name" not in check.model_dump(exclude={"name"})


def test_the_first_unknown_field_of_a_trace_is_named():
    with pytest.raises(TypeError) as refused:
        Trace(interactions=[], interaction=[])
    message = "Trace has no field 'interaction'; did you mean 'interactions'? Its fields are: interactions, annotations"
    assert str(refused.value) == message


def answer(inputs):
    return "Hello!"


def test_a_function_is_meant_in_data_written_by_hand_too():
    check = {"kind": "string_matching", "keyword": "Hello"}
    step = {"interacts": [{"kind": "interact", "inputs": "Hi"}], "checks": [check]}
    data = {"name": "s", "steps": [step], "target": {"$callable": f"{__name__}:answer"}}

    assert Scenario.model_validate(data).run_sync().passed
    suite = Suite.model_validate({"name": "all", "scenarios": [{**data, "target": None}], "target": data["target"]})
    assert suite.target is answer
    with pytest.raises(ValidationError, match="has no attribute 'anwser'"):
        Scenario.model_validate({**data, "target": {"$callable": f"{__name__}:anwser"}})


BAD = {"kind": "equals", "expected_value": 1, "target_ky": "trace.last"}


def places(load):
    with pytest.raises(ValidationError) as refused:
        load()
    return [".".join(map(str, line["loc"])) for line in refused.value.errors()]


def test_an_error_says_which_item_of_a_list_it_is_in():
    good = {"kind": "equals", "expected_value": 1}
    steps = [{"checks": []}, {"checks": [good, BAD, 5, {"kind": "eqals"}], "interacts": [{"inputs": 1}]}]
    in_step = ["interacts.0.outputs", "checks.1.target_ky", "checks.2", "checks.3"]

    assert places(lambda: Step.model_validate(steps[1])) == in_step
    assert places(lambda: Scenario.model_validate({"name": "s", "steps": steps})) == [f"steps.1.{it}" for it in in_step]
    suite = {"name": "s", "scenarios": [{"name": "a"}, {"name": "b", "steps": steps}, {"nam": "c"}]}
    in_suite = [f"scenarios.1.steps.1.{it}" for it in in_step]
    assert places(lambda: Suite.model_validate(suite)) == [*in_suite, "scenarios.2.nam"]
    assert places(lambda: TestCase(trace=Trace(), checks=[Equals(expected_value=1), len])) == ["checks.1"]
    inner = {"kind": "any_of", "checks": [good, {"kind": "not", "check": BAD}]}
    assert places(lambda: TestCase(trace=Trace(), checks=[inner])) == ["checks.0.checks.1.check.target_ky"]


def test_what_is_no_check_is_told_as_before():
    with pytest.raises(ValidationError, match=r"Value error, expected a check, got int: 5 \[type=value_error"):
        Step(checks=[5])
    with pytest.raises(ValueError, match=r"^expected a check, got int: 5$"):
        Scenario("s").check(5)
