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
from giskard.checks.core import late


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


@pytest.fixture
def fresh_kinds(kinds):
    """As in a program that has loaded nothing yet: the package's modules register their kinds when they are needed."""
    Check._kinds.clear()


@pytest.mark.parametrize(
    ("kind", "module"),
    [("equals", "builtin.comparison"), ("json_valid", "builtin.json_valid"), ("toxicity", "judges.toxicity")],
)
def test_a_kind_of_this_package_is_found_before_its_module_was_imported(fresh_kinds, monkeypatch, kind, module):
    imported = []

    def importing(name):
        imported.append(name)
        Check._kinds[kind] = Equals

    monkeypatch.setattr(late, "import_module", importing)
    assert Check._class_of({"kind": kind}) is Equals
    assert imported == [f"giskard.checks.{module}"]


def test_kinds_that_were_not_loaded_yet_are_suggested(fresh_kinds):
    with pytest.raises(ValidationError) as caught:
        Check.model_validate({"kind": "eqals"})
    (line,) = caught.value.errors()
    assert (line["type"], line["msg"]) == ("kind", "no check of kind 'eqals'; did you mean 'equals'?")


def test_each_family_suggests_and_finds_its_own_kinds():
    for family, kind in ((InteractionSpec, "interact"), (InputGenerator, "user_simulator")):
        with pytest.raises(ValidationError) as caught:
            family.model_validate({"kind": kind[:-1]})
        assert f"did you mean {kind!r}?" in caught.value.errors()[0]["msg"]
        with pytest.raises(ValidationError, match=f"no check of kind {kind!r}"):
            Check.model_validate({"kind": kind})


@pytest.mark.parametrize(
    ("cls", "data", "message"),
    [
        (Check, {"a": 1}, "this check has no 'kind'"),
        (Check, {"kind": 5}, "this check has the kind 5, which is not a text"),
        (Equals, {"kind": "not"}, "this data is of kind 'not', and Equals is of kind 'equals'"),
    ],
)
def test_what_is_wrong_with_a_kind_is_said_in_a_sentence(cls, data, message):
    with pytest.raises(ValidationError) as caught:
        cls.model_validate(data)
    (line,) = caught.value.errors()
    assert (line["type"], line["msg"]) == ("kind", message)


def test_a_kind_of_another_branch_of_the_family_is_refused(kinds):
    class Branch(Check):
        pass

    with pytest.raises(Exception) as caught:
        Branch._class_of({"kind": "equals"})
    assert (caught.value.type, str(caught.value)) == ("kind", "kind 'equals' is Equals, expected Branch")
