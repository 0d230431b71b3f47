"""What the customer is told."""

from __future__ import annotations

from ..story import Call, Story
from ..wording import claims, mentions, quote
from .base import Rulings, rule, unless

__all__ = ["insurance_offered", "no_false_reports"]


@rule("The agent reports nothing as done that no tool did.", occasion="report of something done")
def no_false_reports(story: Story) -> Rulings:
    for turn in story.turns:
        done = [call for call in story.changes if call.turn <= turn and call.done]
        for text in story.agent(turn):
            for claim, words in claims(text):
                problem = f"says {quote(words, 90)}, but no call had {_DEEDS[claim]}"
                yield turn, unless(any(_backs(call, claim) for call in done), problem)


_DEEDS = {
    "cancelled": "cancelled a reservation",
    "booked": "booked anything",
    "changed": "changed a reservation",
    "bags added": "added bags",
}


def _backs(call: Call, claim: str) -> bool:
    if claim == "cancelled":
        return call.name == "cancel_reservation"
    if claim == "booked":
        return call.name == "book_reservation"
    if claim == "changed":
        return call.name != "cancel_reservation"
    return call.arguments.get("total_baggages", 0) > 0


@rule("Travel insurance is offered before a flight is booked.", occasion="booking")
def insurance_offered(story: Story) -> Rulings:
    for call in story.calls_of("book_reservation"):
        spoken = [*story.agent_before(call.turn), *story.customer_until(call.turn)]
        offered = any(mentions(text, "insurance") for text in spoken)
        yield call, unless(offered, "booked, and nobody had spoken of travel insurance")
