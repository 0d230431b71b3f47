"""Conversations as they were: nobody changes them, and they grow at the same price at any length."""

import asyncio
import contextlib
import copy
import dataclasses
import functools
import pickle
import time
from collections import OrderedDict, defaultdict, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, PrivateAttr, ValidationError, computed_field

from giskard.checks import (
    Equals,
    FnCheck,
    Interact,
    Interaction,
    InteractionGenerationError,
    Scenario,
    StringMatching,
    Trace,
    resolve,
)


def turn(n, **metadata):
    return Interaction(inputs=f"q{n}", outputs=f"a{n}", metadata=metadata)


def grown(*items, trace=None):
    return asyncio.run((trace or Trace()).with_interactions(*items))


def test_an_empty_trace():
    trace = Trace()

    assert trace.interactions == []
    assert trace.annotations == {}
    assert trace.last is None
    assert trace == Trace(interactions=[]) == Trace(interactions=())


def test_the_last_turn_is_in_python_dumps_and_paths():
    trace = Trace(interactions=[turn(1), turn(2)])

    assert trace.last == turn(2)
    assert trace.model_dump()["last"] == turn(2).model_dump()
    assert '"last":{"inputs":"q2"' in trace.model_dump_json()
    assert resolve(trace, "trace.last.outputs") == "a2"
    assert Trace().model_dump()["last"] is None


def test_traces_are_equal_by_value_and_their_turns_to_lists():
    trace = Trace(interactions=[turn(1), turn(2)], annotations={"a": 1})

    assert trace == Trace(interactions=[turn(1), turn(2)], annotations={"a": 1})
    assert trace != Trace(interactions=[turn(1), turn(2)])
    assert trace != Trace(interactions=[turn(1)], annotations={"a": 1})
    assert trace.interactions == [turn(1), turn(2)]
    assert [turn(1), turn(2)] == trace.interactions
    assert trace.interactions == (turn(1), turn(2))
    assert trace.interactions != [turn(1)]
    assert trace.interactions != "q1"


def test_the_turns_are_a_sequence():
    turns = Trace(interactions=[turn(n) for n in range(4)]).interactions

    assert len(turns) == 4
    assert turns[0] == turn(0)
    assert turns[-1] == turn(3)
    assert turns[1:3] == [turn(1), turn(2)]
    assert turns[::-1] == [turn(3), turn(2), turn(1), turn(0)]
    assert list(reversed(turns)) == turns[::-1]
    assert turn(2) in turns
    assert turns.index(turn(2)) == 2
    assert turns.count(turn(2)) == 1
    assert turns + [turn(9)] == [*turns, turn(9)]  # noqa: RUF005 - it is what is tested
    assert [turn(9)] + turns == [turn(9), *turns]  # noqa: RUF005
    assert repr(turns) == repr(list(turns))
    for index in (4, -5):
        with pytest.raises(IndexError):
            turns[index]
    with pytest.raises(TypeError):
        hash(turns)


def test_nothing_can_be_changed():
    trace = Trace(interactions=[turn(1)], annotations={"tags": ["a"]})

    with pytest.raises(ValidationError):
        trace.annotations = {}
    with pytest.raises(AttributeError):
        trace.interactions.append(turn(2))
    with pytest.raises(TypeError):
        trace.interactions[0] = turn(2)
    with pytest.raises(TypeError):
        trace.annotations["tags"].append("b")
    with pytest.raises(TypeError):
        trace.annotations["new"] = 1


def test_the_list_that_it_was_made_of_may_change():
    turns, annotations = [turn(1)], {"tags": ["a"]}
    trace = Trace(interactions=turns, annotations=annotations)
    turns.append(turn(2))
    annotations["tags"].append("b")

    assert trace.interactions == [turn(1)]
    assert trace.annotations == {"tags": ["a"]}


def test_turns_given_as_data():
    assert Trace(interactions=[{"inputs": 1, "outputs": 2}]).last == Interaction(inputs=1, outputs=2)
    for wrong in ([1], "q", {"inputs": 1}, [{"inputs": 1}], None):
        with pytest.raises(ValidationError):
            Trace(interactions=wrong)


def test_a_longer_trace_is_a_new_one():
    first = Trace(interactions=[turn(1)], annotations={"a": 1})
    second = grown(turn(2), trace=first)
    other = grown(turn(3), trace=first)
    third = grown(turn(4), turn(5), trace=second)

    assert first.interactions == [turn(1)]
    assert second.interactions == [turn(1), turn(2)]
    assert other.interactions == [turn(1), turn(3)]
    assert third.interactions == [turn(1), turn(2), turn(4), turn(5)]
    assert third.annotations == {"a": 1}
    assert grown(trace=first) == first


class Shop(Trace[str, str], frozen=True):
    @computed_field
    @property
    def transcript(self) -> str:
        return " / ".join(turn.inputs for turn in self.interactions)


def test_subclasses_and_annotations_are_kept():
    trace = grown(turn(1), Interact(inputs="q2", outputs="a2"), trace=Shop(annotations={"a": 1}))

    assert type(trace) is Shop
    assert trace.annotations == {"a": 1}
    assert trace.transcript == "q1 / q2"
    assert resolve(trace, "trace.transcript") == "q1 / q2"
    assert trace.model_dump()["transcript"] == "q1 / q2"
    assert type(asyncio.run(Shop.from_interactions(turn(1)))) is Shop


def test_items_are_interactions_or_specs():
    trace = asyncio.run(Trace.from_interactions(turn(1), Interact(inputs="q2", outputs=lambda inputs: "a2")))

    assert trace.interactions == [turn(1), turn(2)]
    with pytest.raises(TypeError, match="expected an Interaction"):
        grown("no interaction")


def test_a_failure_tells_what_was_completed():
    def crash(inputs):
        raise ValueError("boom")

    with pytest.raises(InteractionGenerationError, match="boom") as failed:
        grown(turn(1), Interact(inputs="q", outputs=crash), turn(3))

    assert failed.value.partial_trace.interactions == [turn(1)]
    assert isinstance(failed.value.__cause__, ValueError)


def test_with_annotations():
    trace = Trace(interactions=[turn(1)], annotations={"a": 1})
    annotations = {"b": [2]}
    other = trace.with_annotations(annotations)
    annotations["b"].append(3)

    assert other.annotations == {"b": [2]}
    assert other.interactions == trace.interactions
    assert trace.annotations == {"a": 1}


def test_copies_are_as_good():
    trace = Trace(interactions=[turn(1, k=[1])], annotations={"a": [1]})

    for other in (
        copy.copy(trace),
        copy.deepcopy(trace),
        trace.model_copy(),
        trace.model_copy(deep=True),
        pickle.loads(pickle.dumps(trace)),
        Trace.model_validate(trace.model_dump()),
        Trace.model_validate_json(trace.model_dump_json()),
    ):
        assert other == trace
        assert other.last.metadata == {"k": [1]}
    updated = trace.model_copy(update={"interactions": [turn(2)], "annotations": {"b": 1}})
    assert updated.interactions == [turn(2)]
    assert updated.annotations == {"b": 1}
    with pytest.raises(TypeError):
        updated.annotations["b"] = 2


def test_appending_costs_the_same_at_any_length():
    def seconds(length):
        trace = Trace(interactions=[turn(n) for n in range(length)])
        start = time.perf_counter()
        for n in range(500):
            trace = trace.appended(turn(n))
        return time.perf_counter() - start

    seconds(10)
    short, long = (min(seconds(length) for _ in range(5)) for length in (10, 20_000))

    assert long < short * 5  # one copy of the list per turn would be 100 times as much


def test_typed_turns_are_validated():
    assert Trace[str, int](interactions=[Interaction(inputs="q", outputs=1)]).last.outputs == 1
    with pytest.raises(ValidationError):
        Trace[str, int](interactions=[{"inputs": "q", "outputs": "many"}])


class Support(Trace, frozen=True):
    notes: list = []

    @computed_field
    @functools.cached_property
    def transcript(self) -> str:
        return " ".join(str(turn.outputs) for turn in self.interactions)


def test_what_a_subclass_worked_out_of_its_turns_is_not_carried_to_the_next_ones():
    scenario = Scenario("s", trace_type=Support)
    for word in ("one", "two"):
        scenario.interact("q", word).check(StringMatching(keyword=word, target_key="trace.transcript"))

    assert scenario.run_sync().passed


def test_a_subclass_s_own_fields_are_snapshots_too():
    notes = ["first"]
    trace = Support(notes=notes)
    notes.append("later")

    assert trace.notes == ["first"]
    with pytest.raises(TypeError, match="was recorded"):
        trace.notes.append("mine")


class Bag:
    """Data that no library knows."""

    def __init__(self, items):
        self.items = items

    def __eq__(self, other):
        return isinstance(other, Bag) and other.items == self.items

    __hash__ = None


@pytest.mark.parametrize("kind", [Bag, deque, lambda items: {"a": [Bag(items)]}])
def test_objects_are_handed_out_as_copies_wherever_they_are_recorded(kind):
    trace = Support(annotations={"it": kind([1])}, notes=[kind([1])])
    trace = trace.appended(Interaction(inputs=kind([1]), outputs=kind([1]), metadata={"it": kind([1])}))
    reads = [
        lambda: trace.annotations["it"],
        lambda: trace.notes[0],
        lambda: trace.last.inputs,
        lambda: trace.last.outputs,
        lambda: trace.last.metadata["it"],
        *(lambda name=name: trace.model_dump()["last"][name] for name in ("inputs", "outputs")),
        lambda: trace.model_dump()["annotations"]["it"],
    ]
    for read in reads:
        assert read() == kind([1])
        vandalize(read())
        assert read() == kind([1])


@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda **fields: defaultdict(int, **fields)])
def test_a_path_gives_no_way_to_change_what_was_recorded(kind):
    def evil(trace):
        with contextlib.suppress(TypeError):
            resolve(trace, "trace.last.outputs")["paid"] = True
        return True

    scenario = Scenario("s").interact("q", lambda inputs: kind(paid=False)).check(FnCheck(fn=evil))
    scenario.check(Equals(expected_value=False, target_key="trace.last.outputs.paid"))

    assert scenario.run_sync().passed


# --- laws --------------------------------------------------------------------------------


@dataclasses.dataclass
class Basket:
    items: list


class Order(BaseModel):
    items: list = []
    by: dict = {}


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.tuples(inner, inner),
        st.sets(st.integers(), max_size=3),
        st.lists(inner, max_size=2).map(deque),
        st.dictionaries(st.text(max_size=3), inner, max_size=2).map(OrderedDict),
        st.builds(Bag, st.lists(inner, max_size=2)),
        st.builds(Basket, st.lists(inner, max_size=2)),
        st.builds(Order, items=st.lists(inner, max_size=2), by=st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    ),
    max_leaves=8,
)


def vandalize(value):
    """Change everything in `value` that lets itself be changed."""
    if isinstance(value, (Bag, Basket, Order)):
        parts, change = list(vars(value).values()), lambda: setattr(value, "items", ["vandalized"])
    elif isinstance(value, dict):
        parts, change = list(value.values()), lambda: value.update(vandalized=True)
    elif isinstance(value, (list, deque)):
        parts, change = list(value), lambda: value.append("vandalized")
    elif isinstance(value, set):
        parts, change = [], lambda: value.add("vandalized")
    elif isinstance(value, tuple):
        parts, change = list(value), lambda: None
    else:
        return
    for part in parts:
        vandalize(part)
    with contextlib.suppress(TypeError):  # to be stopped is fine
        change()


def vandalize_all(trace):
    """What a check may reach: the values of the turns, by name, by position, by path and in a dump."""
    for item in trace.interactions:
        vandalize(item.inputs)
        vandalize(item.outputs)
        vandalize(item.metadata)
    vandalize(trace.annotations)
    vandalize(trace.model_dump())
    for path in ("trace.last.outputs", "trace.interactions[*].inputs", "trace..outputs", "trace.annotations"):
        vandalize(resolve(trace, path))
    with contextlib.suppress(AttributeError):
        trace.interactions.append(turn(0))
    return True


@given(st.lists(st.tuples(values, values), min_size=1, max_size=3), values)
def test_whatever_is_changed_the_trace_holds_what_was(turns, note):
    before = copy.deepcopy((turns, note))
    outputs = iter(turns)
    seen = []

    def target(inputs, trace):
        vandalize(inputs)
        vandalize_all(trace)
        for earlier in seen:
            vandalize(earlier)
        _, output = next(outputs)
        seen.append(output)
        return output

    scenario = Scenario("s", target=target, annotations={"note": note})
    for sent, _ in turns:
        scenario.interact(sent, metadata={"sent": sent})
    scenario.checks(*[FnCheck(fn=vandalize_all, name=name) for name in "ab"])
    result = scenario.run_sync()

    assert result.passed, result.format_failures()
    vandalize(turns)
    vandalize(note)
    vandalize_all(result.final_trace)
    (sent_and_got, noted) = before
    assert [(item.inputs, item.outputs) for item in result.final_trace.interactions] == sent_and_got
    assert [item.metadata["sent"] for item in result.final_trace.interactions] == [sent for sent, _ in sent_and_got]
    assert result.final_trace.annotations == {"note": noted}


@given(st.lists(st.tuples(values, values), max_size=3), values)
def test_a_longer_trace_leaves_the_shorter_one_alone(turns, note):
    trace = Trace(annotations={"note": note})
    traces = [trace]
    for inputs, outputs in turns:
        trace = trace.appended(Interaction(inputs=inputs, outputs=outputs))
        traces.append(trace)
    expected = copy.deepcopy(turns)
    vandalize(turns)
    for length, each in enumerate(traces):
        vandalize_all(each)
        assert [(item.inputs, item.outputs) for item in each.interactions] == expected[:length]
        assert each == pickle.loads(pickle.dumps(each)) == copy.deepcopy(each)


def test_a_position_that_is_not_there_is_named():
    for index in (2, -3):
        with pytest.raises(IndexError) as missed:
            grown(turn(1), turn(2)).interactions[index]
        assert str(missed.value) == f"interaction {index} of a trace of 2"


def test_a_class_has_none_of_the_values():
    for cls, names in ((Trace, ("interactions", "annotations")), (Interaction, ("inputs", "outputs", "metadata"))):
        for name in names:
            with pytest.raises(AttributeError) as missed:
                getattr(cls, name)
            assert str(missed.value) == name
            with pytest.raises((AttributeError, ValidationError)):
                setattr(grown(turn(1)) if cls is Trace else turn(1), name, [])


class Counted(Trace, frozen=True):
    _seen: list = PrivateAttr(default_factory=list)


def test_a_longer_trace_keeps_what_is_private_to_the_shorter_one():
    trace = Counted()
    trace._seen.append("x")
    assert grown(turn(1), trace=trace)._seen == ["x"]


def test_turns_that_replace_others_are_a_snapshot_of_the_list():
    turns = [turn(1)]
    trace = Trace(interactions=[turn(9)], annotations={"a": 1}).model_copy(update={"interactions": turns})
    turns.append(turn(2))

    assert trace.interactions == [turn(1)]
    assert trace.annotations == {"a": 1}
    assert trace == Trace(interactions=[turn(1)], annotations={"a": 1})
    assert vars(trace).keys() == {"interactions", "annotations"}


def test_the_repr_of_a_trace_shows_its_turns_once():
    trace = grown(turn(1), turn(2))
    assert repr(trace) == f"Trace(interactions=[{turn(1)!r}, {turn(2)!r}], annotations={{}})"


def test_two_traces_that_grow_out_of_one_keep_their_own_turns():
    shared = grown(turn(1), turn(2))
    one, other = grown(turn(3), trace=shared), grown(turn(4), turn(5), trace=shared)
    again = grown(turn(6), trace=one)

    assert list(shared.interactions) == [turn(1), turn(2)]
    assert list(one.interactions) == [turn(1), turn(2), turn(3)]
    assert list(other.interactions) == [turn(1), turn(2), turn(4), turn(5)]
    assert list(again.interactions) == [turn(1), turn(2), turn(3), turn(6)]
    assert [item.inputs for item in reversed(again.interactions)] == ["q6", "q3", "q2", "q1"]
