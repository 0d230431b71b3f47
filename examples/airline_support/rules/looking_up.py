"""What must have been looked up before the agent acts."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from ..story import UPDATES, Call, Leg, Offer, Story
from ..wording import mentions
from .base import Rulings, rule, unless

__all__ = [
    "flights_have_seats",
    "ids_are_not_invented",
    "looked_up_before_change",
    "trip_can_be_flown",
]


@rule(
    "User ids come from the customer, reservation ids from the customer or the profile.",
    occasion="call with a user or reservation id",
)
def ids_are_not_invented(story: Story) -> Rulings:
    for call in story.calls:
        spoken = story.customer_until(call.turn)
        user, reservation = (call.arguments.get(key) for key in ("user_id", "reservation_id"))
        if user:
            given = any(mentions(text, user) for text in spoken)
            yield call, unless(given, f"user id {user!r} was not given by the customer")
        if reservation:
            profile = call.known.profile or {}
            known = reservation in [*profile.get("reservations", []), *call.known.made_here]
            known = known or any(mentions(text, reservation) for text in spoken)
            yield call, unless(known, f"reservation id {reservation!r} came from nowhere")


@rule(
    "A reservation is looked up before it is changed or cancelled.",
    occasion="change or cancellation of a reservation",
)
def looked_up_before_change(story: Story) -> Rulings:
    for call in story.calls_of(*UPDATES, "cancel_reservation"):
        unseen = f"reservation {call.arguments.get('reservation_id')!r} had not been looked up"
        yield call, unless(call.reservation, unseen)


@rule(
    "Each new flight was looked up, is available and has seats for all in the cabin.",
    occasion="new flight",
)
def flights_have_seats(story: Story) -> Rulings:
    for call in story.calls_of("book_reservation", "update_reservation_flights"):
        for leg in call.new_legs:
            yield call, _unbookable(call, leg)


def _unbookable(call: Call, leg: Leg) -> str | None:
    offer, cabin = call.known.offers.get(leg), call.arguments["cabin"]
    if offer is None:
        return f"{leg[0]} on {leg[1]} was never looked up"
    if offer.status != "available":
        return f"{leg[0]} on {leg[1]} cannot be booked: it is {offer.status!r}"
    seats = offer.seats.get(cabin, 0)
    lack = f"{leg[0]} on {leg[1]} has {seats} {cabin} seats, {call.party} needed"
    return unless(seats >= max(call.party, 1), lack)


@rule(
    "A trip can be flown: each flight starts where and after the one before it landed.",
    occasion="trip with two flights in a row whose times had been looked up",
)
def trip_can_be_flown(story: Story) -> Rulings:
    for call in story.calls_of("book_reservation", "update_reservation_flights"):
        offers = [call.known.offers.get(leg) for leg in call.legs]
        for first, then in pairwise(offers):
            if first and then and first.arrival and then.departure:
                yield call, _missed(first, then, first.arrival, then.departure)


def _missed(first: Offer, then: Offer, landed: datetime, left: datetime) -> str | None:
    if first.destination != then.origin:
        lands = f"{first.number} lands in {first.destination}"
        return f"{lands}, {then.number} starts from {then.origin}"
    lands = f"{first.number} lands on {landed:%d %b at %H:%M}"
    return unless(left >= landed, f"{lands}, {then.number} leaves on {left:%d %b at %H:%M}")
