"""A single turn: a snapshot that nobody can change."""

import copy
import dataclasses
import pickle

import pytest
from pydantic import BaseModel, ValidationError

from giskard.checks import Interaction, Trace
from giskard.checks.core.interaction.interaction import record


class Order(BaseModel):
    items: list[str] = []


@dataclasses.dataclass
class Point:
    tags: list[str]


class Plain:
    def __init__(self):
        self.items = []


def test_inputs_and_outputs_are_required_and_none_is_a_value():
    assert Interaction(inputs=None, outputs=None).outputs is None
    assert Interaction(inputs=1, outputs=2).metadata == {}
    for given in ({"inputs": 1}, {"outputs": 1}, {}):
        with pytest.raises(ValidationError):
            Interaction(**given)
    with pytest.raises(ValidationError):
        Interaction(inputs=1, outputs=2, output=3)
    with pytest.raises(ValidationError):
        Interaction(inputs=1, outputs=2, metadata="none")


def test_it_is_frozen():
    turn = Interaction(inputs={"a": [1]}, outputs=[1], metadata={"k": {"x": 1}})

    for name in ("inputs", "outputs", "metadata", "other"):
        with pytest.raises((AttributeError, ValidationError)):
            setattr(turn, name, 1)
    with pytest.raises(TypeError):
        turn.inputs["a"].append(2)
    with pytest.raises(TypeError):
        turn.outputs.append(2)
    with pytest.raises(TypeError):
        turn.metadata["k"]["x"] = 2
    with pytest.raises(TypeError):
        turn.metadata |= {"k": 2}


@pytest.mark.parametrize("make", [lambda **values: Interaction(**values), record])
def test_what_was_passed_in_may_change_afterwards(make):
    given = {"list": [1], "set": {1}, "order": Order(items=["a"]), "point": Point(["a"]), "plain": Plain()}
    turn = make(inputs=given, outputs=given["order"], metadata={"given": given})
    given["list"].append(2)
    given["set"].add(2)
    given["order"].items.append("b")
    given["point"].tags.append("b")
    given["plain"].items.append("b")
    given["new"] = 1

    for seen in (turn.inputs, turn.metadata["given"]):
        assert seen["list"] == [1]
        assert seen["set"] == {1}
        assert seen["order"].items == ["a"]
        assert seen["point"].tags == ["a"]
        assert seen["plain"].items == []
        assert "new" not in seen
    assert turn.outputs.items == ["a"]


def test_what_is_handed_out_may_change_and_nobody_else_sees_it():
    turn = Interaction(inputs={"order": Order(), "points": [Point([])]}, outputs=Order(items=["a"]))
    turn.outputs.items.append("b")
    turn.inputs["order"].items.append("b")
    turn.inputs["points"][0].tags.append("b")

    assert turn.outputs.items == ["a"]
    assert turn.inputs == {"order": Order(), "points": [Point([])]}


def test_plain_containers_stay_what_they_are():
    turn = Interaction(inputs={"a": 1}, outputs=[1, (2, {3})])

    assert isinstance(turn.inputs, dict)
    assert isinstance(turn.outputs, list)
    assert isinstance(turn.outputs[1], tuple)
    assert isinstance(turn.outputs[1][1], set)
    assert turn.inputs == {"a": 1}
    assert turn.outputs == [1, (2, {3})]


def test_turns_are_equal_by_value():
    turn = Interaction(inputs=[1], outputs={"a": 1}, metadata={"k": 1})

    assert turn == Interaction(inputs=[1], outputs={"a": 1}, metadata={"k": 1})
    assert turn == record([1], {"a": 1}, {"k": 1})
    assert turn != Interaction(inputs=[1], outputs={"a": 1})
    assert turn != Interaction(inputs=[2], outputs={"a": 1}, metadata={"k": 1})


def test_copies_are_as_good():
    turn = Interaction(inputs=[1], outputs={"order": Order(items=["a"])}, metadata={"k": [1]})

    for other in (
        copy.copy(turn),
        copy.deepcopy(turn),
        turn.model_copy(),
        turn.model_copy(deep=True),
        pickle.loads(pickle.dumps(turn)),
        Interaction.model_validate(turn.model_dump()),
    ):
        assert other.inputs == [1]
        assert other.metadata == {"k": [1]}
        with pytest.raises(TypeError):
            other.metadata["k"].append(2)
    outputs = [1]
    updated = turn.model_copy(update={"outputs": outputs})
    outputs.append(2)
    assert updated.outputs == [1]


def test_the_typed_form_is_validated():
    assert Interaction[str, int](inputs="a", outputs="5").outputs == 5
    with pytest.raises(ValidationError):
        Interaction[str, int](inputs="a", outputs="many")


def test_the_repr_shows_what_it_holds():
    assert repr(Interaction(inputs="q", outputs="a")) == "Interaction(inputs='q', outputs='a')"
    assert repr(Interaction(inputs="q", outputs="a", metadata={"k": 1})).endswith("metadata={'k': 1})")


def test_a_misspelt_field_says_which_one_was_probably_meant():
    with pytest.raises(ValidationError) as refused:
        Interaction(input="q", output="a")
    assert "Interaction has no field 'input'; did you mean 'inputs'?" in str(refused.value)
    assert "did you mean 'outputs'?" in str(refused.value)
    assert "inputs\n  Field required" in str(refused.value)
    with pytest.raises(ValidationError, match="did you mean 'metadata'"):
        Interaction[str, str](inputs="q", outputs="a", metdata={})
    with pytest.raises(ValidationError, match="valid integer"):
        Interaction[int, str](inputs="q", outputs="a")


def test_the_metadata_counts_as_given_when_it_was():
    plain, given = Interaction(inputs=1, outputs=2), Interaction(inputs=1, outputs=2, metadata={"a": 1})
    assert plain.model_dump(exclude_unset=True) == {"inputs": 1, "outputs": 2}
    assert given.model_dump(exclude_unset=True) == {"inputs": 1, "outputs": 2, "metadata": {"a": 1}}
    assert Interaction.model_validate({"inputs": 1, "outputs": 2}).model_fields_set == {"inputs", "outputs"}


def test_a_copy_shares_what_nobody_can_change():
    turn = Interaction(inputs={"order": Order(items=["a"])}, outputs=[1])
    update = ["later"]
    for deep in (False, True):
        again = turn.model_copy(update={"outputs": update}, deep=deep)
        assert vars(again)["inputs"] is vars(turn)["inputs"]
        update.append("mine")
        assert again.outputs == update[:-1]


def test_fields_can_be_neither_set_nor_read_past_the_model():
    turn, empty = Interaction(inputs=1, outputs=2), Interaction.model_construct()
    for name in ("inputs", "outputs", "metadata"):
        with pytest.raises(AttributeError) as refused:
            object.__setattr__(turn, name, 5)
        assert str(refused.value) == f"{name} of an interaction cannot be set: it was recorded"
    for name in ("inputs", "outputs"):
        assert not hasattr(empty, name)
    with pytest.raises(AttributeError, match="annotations of a trace cannot be set: it was recorded"):
        object.__setattr__(Trace(), "annotations", {})
    with pytest.raises(AttributeError, match="interactions of a trace cannot be set: they were recorded"):
        object.__setattr__(Trace(), "interactions", [])
