"""The registry of kinds."""

import pytest
from pydantic import BaseModel, ValidationError

from giskard.checks import (
    AllOf,
    Check,
    CheckResult,
    Equals,
    FnCheck,
    InputGenerator,
    Interact,
    InteractionSpec,
    Not,
    StringMatching,
    Trace,
)


@pytest.fixture
def kinds():
    """Registrations of a test, taken back after it."""
    families = (Check, InteractionSpec, InputGenerator)
    before = [dict(family._kinds) for family in families]
    yield
    for family, known in zip(families, before, strict=True):
        family._kinds.clear()
        family._kinds.update(known)


def test_a_kind_gives_its_class():
    check = Check.model_validate({"kind": "equals", "expected_value": 1})

    assert type(check) is Equals
    assert check.kind == "equals"
    assert check.model_dump()["kind"] == "equals"
    assert "equals" in repr(check)
    assert type(InteractionSpec.model_validate({"kind": "interact", "inputs": "q"})) is Interact


def test_nested_kinds():
    data = {"kind": "not", "check": {"kind": "all_of", "checks": [{"kind": "equals", "expected_value": 1}]}}
    check = Check.model_validate(data)

    assert isinstance(check, Not)
    assert isinstance(check.check, AllOf)
    assert check.check.checks == [Equals(expected_value=1)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "has no 'kind'"),
        ({"expected_value": 1}, "has no 'kind'"),
        ({"kind": "eqals", "expected_value": 1}, "did you mean 'equals'"),
        ({"kind": "zzz"}, "known kinds: .*equals"),
        ({"kind": 5}, "5, which is not a text"),
        ({"kind": None}, "None, which is not a text"),
        ({"kind": ["equals"]}, "not a text"),
        ({"kind": "equals", "expected_vale": 1}, "did you mean 'expected_value'"),
        ({"kind": "not", "check": {"kind": "eqals"}}, "did you mean 'equals'"),
        ({"kind": "interact", "inputs": 1}, "no check of kind 'interact'"),
    ],
)
def test_what_cannot_be_told_is_refused(data, words):
    with pytest.raises(ValidationError, match=words):
        Check.model_validate(data)


def test_a_class_takes_its_own_kind_only():
    assert Equals.model_validate({"kind": "equals", "expected_value": 1}) == Equals(expected_value=1)
    assert Equals.model_validate({"expected_value": 1}) == Equals(expected_value=1)
    with pytest.raises(ValidationError, match="'not_equals'"):
        Equals.model_validate({"kind": "not_equals", "expected_value": 1})


def test_a_check_of_ones_own(kinds):
    @Check.register("short_answer")
    class ShortAnswer(Check):
        limit: int = 80

        async def run(self, trace):
            return CheckResult.success()

    check = ShortAnswer(limit=5)
    assert ShortAnswer.kind == "short_answer"
    assert check.model_dump()["kind"] == "short_answer"
    assert Check.model_validate(check.model_dump()) == check
    assert Check.model_validate_json(check.model_dump_json()) == check
    with pytest.raises(ValidationError, match="did you mean 'short_answer'"):
        Check.model_validate({"kind": "short_answr"})


def test_the_same_class_may_register_again_and_another_may_not(kinds):
    def define(name):
        def make():
            class Mine(Check):
                pass

            return Mine

        cls = make()
        cls.__qualname__ = name
        return cls

    first = Check.register("mine")(define("Mine"))
    again = Check.register("mine")(define("Mine"))
    assert type(Check.model_validate({"kind": "mine"})) is again is not first
    with pytest.raises(ValueError, match=r"'mine' is taken by .*Mine.*Other"):
        Check.register("mine")(define("Other"))
    with pytest.raises(ValueError, match="taken"):
        Check.register("equals")(define("Equalz"))


def test_families_are_apart(kinds):
    @InteractionSpec.register("equals")
    class Odd(InteractionSpec):
        pass

    assert type(InteractionSpec.model_validate({"kind": "equals"})) is Odd
    assert type(Check.model_validate({"kind": "equals", "expected_value": 1})) is Equals


def test_members_that_are_models_are_kept_as_they_are():
    check = Equals(expected_value=1)

    assert Check.model_validate(check) is check
    assert Not(check=check).check is check
    for wrong in (5, "equals", None, [check], Trace()):
        with pytest.raises(ValidationError):
            Check.model_validate(wrong)


def test_a_family_as_the_type_of_a_field():
    class Plan(BaseModel):
        check: Check
        checks: list[Check[str, str, Trace[str, str]]] = []
        spec: InteractionSpec | None = None

    plan = Plan.model_validate(
        {
            "check": {"kind": "equals", "expected_value": 1},
            "checks": [{"kind": "string_matching", "keyword": "x"}, StringMatching(keyword="y")],
            "spec": {"kind": "interact", "inputs": 1},
        }
    )

    assert type(plan.check) is Equals
    assert [type(check) for check in plan.checks] == [StringMatching, StringMatching]
    assert type(plan.spec) is Interact


def test_the_root_cannot_be_made():
    with pytest.raises(ValidationError, match="kind"):
        Check()


def test_the_repr_shows_the_kind_and_what_was_given():
    text = repr(Equals(expected_value=1))

    assert text.startswith("Equals(kind='equals'")
    assert "expected_value=1" in text
    assert "tolerance" not in text


def test_parameters_of_a_generic_change_nothing():
    check = Equals[str, str, Trace[str, str]](expected_value="x")

    assert Check.model_validate(check.model_dump()) == Equals(expected_value="x")
    assert isinstance(FnCheck[str, str, Trace](fn=len), FnCheck)
