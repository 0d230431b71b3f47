"""What becomes known of a turn after it was recorded: for input generators, and specs of one's own."""

import asyncio

import pytest

from giskard.checks import Interaction, InteractionSpec, Scenario, Trace
from giskard.checks.core.interaction.notes import add_metadata


class Spec(InteractionSpec):
    """Makes turns, and notes something of one of them at its end."""

    about: int | None
    notes: list[dict[str, object]]

    async def generate(self, trace):
        for number in range(2):
            made = Interaction(inputs=number, outputs="a", metadata={"own": number})
            trace = yield made
        if self.about is not None:
            for note in self.notes:
                add_metadata(trace.interactions[self.about], note)


def metadata(*specs: InteractionSpec) -> list[dict[str, object]]:
    trace = asyncio.run(Trace.from_interactions(*specs))
    assert [turn.outputs for turn in trace.interactions] == ["a"] * len(trace.interactions)
    return [dict(turn.metadata) for turn in trace.interactions]


def test_what_is_noted_of_the_last_turn_is_added_to_it():
    notes = [{"end": "goal", "cost": 1}, {"cost": 2, "asked": True}]

    assert metadata(Spec(about=-1, notes=notes[:1])) == [{"own": 0}, {"own": 1, "end": "goal", "cost": 1}]
    assert metadata(Spec(about=-1, notes=notes)) == [{"own": 0}, {"own": 1, "end": "goal", "cost": 2, "asked": True}]


def test_what_is_noted_of_an_earlier_turn_is_written_nowhere():
    assert metadata(Spec(about=0, notes=[{"late": True}])) == [{"own": 0}, {"own": 1}]


def test_what_was_noted_is_written_once():
    noting, silent = Spec(about=-1, notes=[{"end": "goal"}]), Spec(about=None, notes=[])

    assert metadata(noting, silent) == [{"own": 0}, {"own": 1, "end": "goal"}, {"own": 0}, {"own": 1}]


def test_what_is_noted_outside_of_a_run_reaches_no_trace():
    stray = Interaction(inputs="q", outputs="a")

    def target(inputs):
        return "a"

    async def main():
        add_metadata(stray, {"stray": True})
        return await Scenario("s").interact("q", target).run()

    trace = asyncio.run(main()).final_trace
    assert stray.metadata == trace.last.metadata == {}


@pytest.mark.parametrize("held", [True, False])
def test_the_trace_that_somebody_holds_is_not_changed(held):
    before = Trace(interactions=[Interaction(inputs="q", outputs="a")])

    async def main():
        if held:
            add_metadata(before.last, {"end": "goal"})
        return await before.with_interactions(Spec(about=-1, notes=[{"n": 1}]))

    after = asyncio.run(main())
    assert before.last.metadata == {}
    assert [dict(turn.metadata) for turn in after.interactions] == [{}, {"own": 0}, {"own": 1, "n": 1}]
