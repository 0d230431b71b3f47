"""Plain values make an instance without the validator: one that nobody can tell from what the validator makes."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasPath,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import core_schema

import giskard.checks
from giskard.checks import Check, CheckResult, Equals, FnCheck, Interaction, StringMatching, TestCase, Trace
from giskard.checks.core import _plain_fields
from giskard.checks.core.models import StrictModel


def by_validator(cls: type[Any], fields: dict[str, Any]) -> Any:
    """What pydantic's validator makes of the fields."""
    return cls.__pydantic_validator__.validate_python(fields)


def made_by(make: Callable[[], Any]) -> Any:
    """The state of the instance, or what its errors say."""
    try:
        made = make()
    except ValidationError as error:
        return [(line["type"], line["loc"], line["msg"]) for line in error.errors()]
    except Exception as error:  # of a validator that does not expect such values
        return type(error), str(error)
    values = {name: (type(value), value) for name, value in vars(made).items()}
    return values, sorted(made.model_fields_set), made.__pydantic_extra__, made.__pydantic_private__


def shown(state: Any) -> str:
    """As a text, since NaN is equal to nothing; sets in order, since theirs hangs on the run."""
    return repr([sorted(part) if isinstance(part, set) else part for part in state])


def is_plain(model: StrictModel, fields: dict[str, Any]) -> bool:
    """Whether the fields were enough without the validator."""
    return _plain_fields.fill(model.__class__.__new__(model.__class__), fields)


def has_fee(trace: Trace) -> bool:
    return "fee" in trace.last.outputs


CLASSES: list[type[Any]] = [
    cls
    for name in giskard.checks.__all__
    if inspect.isclass(cls := getattr(giskard.checks, name)) and getattr(cls, "__init__", None) is StrictModel.__init__
]
CLASSES.remove(giskard.checks.InteractionSpec)  # makes an Interact

SCALARS = [None, True, False, 0, 3, -1, 0.5, float("nan"), float("inf"), Decimal(1), b"x"]
WORDS = ["", "fee", "any", "NFC", "warning", "(", "im", "builtins:len", "trace.last.outputs", "trace.a[*]", "last.a"]
CONTAINERS = [[], ["fee"], [1], {}, {"type": "object"}, {"a": {1}}, (1, 2)]
CHECKS = [[Equals(expected_value=1)], [{"kind": "equals", "expected_value": 1}]]
OBJECTS = [len, has_fee, object, Trace(), Equals(expected_value=1)]
VALUES = st.sampled_from([*SCALARS, *WORDS, *CONTAINERS, *CHECKS, *OBJECTS])


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@settings(deadline=None)
@given(data=st.data())
def test_every_class_makes_what_its_validator_makes(cls: type[Any], data: st.DataObject) -> None:
    names = st.sampled_from([*cls.model_fields, "kind", "schema_version", "keywrd"])
    fields = data.draw(st.dictionaries(names, VALUES, max_size=4))
    assert shown(made_by(lambda: cls(**fields))) == shown(made_by(lambda: by_validator(cls, fields)))


@pytest.mark.parametrize(
    "model",
    [
        Equals(expected_value=3.0, target_key="trace.last.outputs.fee"),
        Equals(expected_value={"fee": 3}, normalization_form=None, severity="warning"),
        StringMatching(keyword="fee", name="fee", case_sensitive=False),
        FnCheck(fn=has_fee, name="fee"),
        TestCase(name="fee", trace=Trace(), checks=[Equals(expected_value=1)]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_people_write_needs_no_validator(model: StrictModel) -> None:
    if type(model).__pydantic_post_init__:
        pytest.skip("pydantic before 2.13 looks for private attributes in classes that have none")
    assert is_plain(model, {name: getattr(model, name) for name in model.model_fields_set})


def test_a_case_has_a_list_of_its_own() -> None:
    checks: list[Check] = [Equals(expected_value=1)]
    case = TestCase(trace=Trace(), checks=checks)
    checks.clear()
    assert len(case.checks) == 1


def test_instances_share_the_set_of_given_fields_until_one_changes() -> None:
    one, other = Equals(expected_value=1), Equals(expected_value=2)
    one.name = "one"
    assert one.model_fields_set == {"expected_value", "name"}
    assert other.model_fields_set == {"expected_value"}


def test_a_default_that_is_made_is_made_for_each() -> None:
    class Tagged(StrictModel):
        tags: list[str] = Field(default_factory=list)

    assert is_plain(Tagged(), {})
    one, other = Tagged(), Tagged()
    one.tags.append("x")
    assert other.tags == []


# What a validator would do to plain values, in every way that a class can ask for it.


class Stripped(StrictModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    word: str


class Lax(StrictModel):
    model_config = ConfigDict(extra="ignore")
    word: str


class Private(StrictModel):
    word: str
    _seen: list[str] = PrivateAttr(default_factory=list)


class AfterInit(StrictModel):
    word: str

    def model_post_init(self, context: Any, /) -> None:
        vars(self)["word"] = self.word.upper()


class FieldValidated(StrictModel):
    word: str

    @field_validator("word")
    @classmethod
    def _upper(cls, value: str) -> str:
        return value.upper()


class Before(StrictModel):
    word: str

    @model_validator(mode="before")
    @classmethod
    def _upper(cls, data: Any) -> Any:
        return {"word": data["word"].upper()}


class Wrapped(StrictModel):
    word: str

    @model_validator(mode="wrap")
    @classmethod
    def _upper(cls, data: Any, handler: Any) -> Any:
        return handler({"word": data["word"].upper()})


class After(StrictModel):
    word: str

    @model_validator(mode="after")
    def _upper(self) -> After:
        if self.word == "bad":
            raise ValueError("a bad word")
        vars(self)["word"] = self.word.upper()
        return self


class AfterWithInfo(StrictModel):
    word: str

    @model_validator(mode="after")
    def _upper(self, info: ValidationInfo) -> AfterWithInfo:
        vars(self)["word"] = self.word.upper()
        return self


class Marked(StrictModel):
    word: Annotated[str, BeforeValidator(str.upper)]


class MarkedAfter(StrictModel):
    word: Annotated[str, AfterValidator(lambda value: value.upper())]


class MarkedTwice(StrictModel):
    word: Annotated[str, AfterValidator(lambda value: value + "a"), AfterValidator(lambda value: value.upper())]


class MarkedWithInfo(StrictModel):
    word: Annotated[str, PlainValidator(lambda value, info: f"{info.field_name}: {value}")]


class Bounded(StrictModel):
    word: str = Field(min_length=2, max_length=3)


class Aliased(StrictModel):
    word: str = Field(alias="text")


class ReadFromAPath(StrictModel):
    word: str = Field(validation_alias=AliasPath("text", 0))


class ValidatedDefault(StrictModel):
    word: Annotated[str, AfterValidator(lambda value: value.upper())] = Field(default="abc", validate_default=True)


class MadeOfOthers(StrictModel):
    word: str
    twice: str = Field(default_factory=lambda data: data["word"] * 2)


class MutableDefault(StrictModel):
    words: list[str] = ["a"]


class NestedDefault(StrictModel):
    words: Any = ([],)


class OwnSchema(StrictModel):
    word: str

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(refuse_bad, handler(source))


def refuse_bad(made: Any) -> Any:
    if made.word == "bad":
        raise ValueError("a bad word")
    return made


class Choices(StrictModel):
    word: Literal["abc", 1, True] | None = None


class Numbers(StrictModel):
    word: float | bool = 1.5


class Later(StrictModel):
    words: Sequence[Word] = ()


class Word(StrictModel):
    word: str


ODD: list[type[Any]] = [
    Stripped,
    Lax,
    Private,
    AfterInit,
    FieldValidated,
    Before,
    Wrapped,
    After,
    AfterWithInfo,
    Marked,
    MarkedAfter,
]
ODD += [
    ReadFromAPath,
    MarkedTwice,
    MarkedWithInfo,
    Bounded,
    Aliased,
    ValidatedDefault,
    MadeOfOthers,
    MutableDefault,
    Choices,
    Numbers,
]


@pytest.mark.parametrize("cls", ODD, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("value", ["abc", " ab ", "bad", "abcd", 1, True, None, ["x"]], ids=repr)
@pytest.mark.parametrize("fields", [(), ("word",), ("text",), ("words",), ("word", "more")], ids=repr)
def test_nothing_that_a_class_asks_for_is_left_out(cls: type[StrictModel], fields: tuple[str, ...], value: Any) -> None:
    given = dict.fromkeys(fields, value)
    assert made_by(lambda: cls(**given)) == made_by(lambda: by_validator(cls, given))


def test_a_default_that_can_change_is_copied() -> None:
    MutableDefault().words.append("b")
    assert MutableDefault().words == ["a"]
    NestedDefault().words[0].append("b")
    assert NestedDefault().words == ([],)


def test_private_attributes_are_there() -> None:
    assert Private(word="abc")._seen == []


def test_a_class_whose_annotations_name_a_later_one() -> None:
    assert Later(words=[Word(word="x")]).words[0].word == "x"
    assert Later(words=[{"word": "y"}]).words[0].word == "y"


def test_a_text_of_a_subclass_is_for_the_validator() -> None:
    class Markup(str):
        __slots__ = ()

    given = StringMatching(keyword=Markup("fee"))
    assert made_by(lambda: given) == made_by(lambda: by_validator(StringMatching, {"keyword": Markup("fee")}))


def test_a_check_of_ones_own_is_made_like_the_others() -> None:
    class Short(Check):
        limit: int = 80
        key: str = "trace.last.outputs"

        async def run(self, trace: Trace) -> CheckResult:
            return CheckResult.success() if len(trace.last.outputs) <= self.limit else CheckResult.failure()

    assert is_plain(Short(limit=3), {"limit": 3})
    assert not is_plain(Short(), {"limit": "3"})
    assert Short(limit="3").limit == 3
    with pytest.raises(ValidationError, match="limit"):
        Short(limit="many")
    with pytest.raises(ValidationError, match="did you mean 'limit'"):
        Short(limi=3)


@pytest.mark.parametrize("cls", [Equals, StringMatching, FnCheck, TestCase, Interaction, Trace])
def test_fields_are_given_by_name(cls: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"^{cls.__name__} takes its fields by name, and got 'EUR' .*Its fields are: \w+"
    ):
        cls("EUR")


@pytest.mark.parametrize("cls", [Equals, TestCase, Interaction, Trace])
def test_nothing_but_names_is_offered(cls: Any) -> None:
    assert not any(it.kind is it.VAR_POSITIONAL for it in inspect.signature(cls).parameters.values())


def test_a_class_made_on_the_fly_is_forgotten() -> None:
    class Passing(StrictModel):
        word: str = "x"

    kept = weakref.ref(Passing)
    Passing()
    del Passing
    gc.collect()
    assert kept() is None


def test_the_root_of_a_family_is_not_made() -> None:
    with pytest.raises(ValidationError, match="kind"):
        Check(name="x")


@settings(deadline=None)
@given(inputs=VALUES, outputs=VALUES)
def test_an_interaction_is_what_its_validator_makes(inputs: Any, outputs: Any) -> None:
    fields = {"inputs": inputs, "outputs": outputs}
    assert shown(made_by(lambda: Interaction(**fields))) == shown(made_by(lambda: by_validator(Interaction, fields)))


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [Interaction(inputs=1, outputs=2), Interaction[int, int](inputs=1, outputs=2), {"inputs": 1}, 1]
        )
    )
)
def test_a_trace_is_what_its_validator_makes(turns: list[Any]) -> None:
    fields = {"interactions": turns}
    assert made_by(lambda: Trace(**fields)) == made_by(lambda: by_validator(Trace, fields))


def fresh(base: Any = StringMatching) -> Any:
    """A class without a history, by its module one of ours."""
    kind = type(base.__name__, (base,), {"__module__": base.__module__})
    kind.kind = base.kind
    return kind


def test_checks_of_the_same_values_share_them_until_one_changes() -> None:
    kind = fresh()
    one, other = (kind(keyword="fee", name="n") for _ in range(2))
    assert vars(one) is vars(other)
    assert one == other
    assert one is not other
    one.keyword = "card"
    del one.name
    assert (one.keyword, other.keyword, other.name) == ("card", "fee", "n")
    assert kind(keyword="fee", name="n").keyword == "fee"


def test_a_result_keeps_the_values_that_its_check_had() -> None:
    check = StringMatching(keyword="fee", name="n")
    result = TestCase(trace=Trace(interactions=[Interaction(inputs="a", outputs="fee")]), checks=[check]).run_sync()
    del check.name
    assert result.results[0].name == "n"


@pytest.mark.parametrize("values", [(1, True), (1, 1.0), (0.0, -0.0), ("fee", "fees")])
def test_checks_of_other_values_share_nothing(values: tuple[Any, Any]) -> None:
    one, other = (Equals(expected_value=value) for value in values)
    assert repr((one.expected_value, other.expected_value)) == repr(values)
    assert vars(one) is not vars(other)


@pytest.mark.parametrize(
    "fields",
    [({}, {"name": "n"}), ({"name": "n"}, {}), ({"normalization_form": None}, {"name": None})],
    ids=["more", "fewer", "others"],
)
def test_checks_with_other_fields_share_nothing(fields: tuple[dict[str, Any], dict[str, Any]]) -> None:
    kind = fresh()
    for more in fields:
        check = kind(keyword="fee", **more)
        assert check.model_fields_set == {"keyword", *more}
        assert (check.name, check.normalization_form) == (more.get("name"), more.get("normalization_form", "NFKC"))


def test_checks_of_the_same_function_share_it() -> None:
    kind = fresh(FnCheck)
    assert vars(kind(fn=has_fee)) is vars(kind(fn=has_fee))


def test_a_value_that_can_change_is_not_shared() -> None:
    expected = {"fee": [3]}
    one = Equals(expected_value=expected)
    expected["fee"].append(4)
    assert Equals(expected_value=expected).expected_value != one.expected_value


def test_checks_of_ones_own_share_nothing() -> None:
    class Own(Check):
        limit: int = 3

    assert vars(Own(limit=4)) is not vars(Own(limit=4))


def test_what_a_check_was_given_is_not_kept() -> None:
    class Judge:
        def __call__(self, trace: Trace) -> bool:
            return True

    judge = Judge()
    gone = weakref.ref(judge)
    check = FnCheck(fn=judge)
    del judge, check
    gc.collect()
    assert gone() is None


def share(kind: Any) -> bool:
    return vars(kind(keyword="fee")) is vars(kind(keyword="fee"))


def test_where_all_checks_differ_it_rests_for_a_while() -> None:
    kind = fresh()
    made: list[Any] = [kind(keyword=f"word {i}") for i in range(_plain_fields._PATIENCE)]
    assert len({check.keyword for check in made}) == len(made)
    assert not share(kind)
    for i in range(_plain_fields._REST):
        kind(keyword=f"word {i}")
    assert share(kind)


def test_like_checks_among_others_share_their_values() -> None:
    kind = fresh()
    for i in range(_plain_fields._PATIENCE * 3):
        word = f"word {i}"
        assert vars(kind(keyword=word)) is vars(kind(keyword=word))
