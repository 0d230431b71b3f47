"""What the policy does not allow."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..story import Call, Reservation, Story, full_name, today
from ..wording import mentions
from .base import Rulings, rule, unless

__all__ = [
    "bags_are_only_added",
    "basic_economy_flights_stay",
    "cancellation_is_allowed",
    "compensation_by_policy",
    "no_double_booking",
    "route_and_party_stay",
]


@rule(
    "The flights of a basic economy reservation are not changed (its cabin may be).",
    occasion="change of a basic economy reservation",
)
def basic_economy_flights_stay(story: Story) -> Rulings:
    for call in story.calls_of("update_reservation_flights"):
        if call.reservation and call.reservation.cabin == "basic_economy":
            new = ", ".join(f"{number} on {day}" for number, day in call.new_legs)
            same = set(call.legs) == set(call.reservation.legs)
            yield call, unless(same, f"a basic economy trip gets {new or 'fewer flights'}")


@rule(
    "A change keeps origin, destination, trip type and the number of passengers.",
    occasion="change of flights or passengers",
)
def route_and_party_stay(story: Story) -> Rulings:
    for call in story.calls_of("update_reservation_flights", "update_reservation_passengers"):
        booked = call.reservation
        if booked is None:
            continue
        if call.name == "update_reservation_passengers":
            before = len(booked.passengers)
            yield call, unless(call.party == before, f"{call.party} passengers, not {before}")
        elif call.new_legs or len(call.legs) != len(booked.legs):
            routes = call.known.routes
            route = [routes[number] for number, _ in call.legs if number in routes]
            if route and len(route) == len(call.legs):
                yield call, _rerouted(route, booked)


def _rerouted(route: list[tuple[str, str]], booked: Reservation) -> str | None:
    end = booked.origin if booked.trip == "round_trip" else booked.destination
    if route[0][0] != booked.origin:
        return f"starts from {route[0][0]} instead of {booked.origin}"
    if route[-1][1] != end:
        return f"ends in {route[-1][1]} instead of {end}"
    visited = [airport for leg in route for airport in leg]
    return unless(booked.destination in visited, f"no longer goes to {booked.destination}")


@rule("Checked bags are added, never removed.", occasion="change of bags")
def bags_are_only_added(story: Story) -> Rulings:
    for call in story.calls_of("update_reservation_baggages"):
        if call.reservation:
            before, after = call.reservation.bags, call.arguments["total_baggages"]
            yield call, unless(after >= before, f"{after} bags instead of {before}")


@rule("The same trip is not booked twice for the same passenger.", occasion="booking")
def no_double_booking(story: Story) -> Rulings:
    for call in story.calls_of("book_reservation"):
        people = {full_name(person) for person in call.arguments["passengers"]}
        twins = [
            f"{', '.join(people.intersection(other.passengers))} flies the same with {other.id}"
            for other in call.known.reservations.values()
            if not other.cancelled and other.legs == call.legs and not people.isdisjoint(other.passengers)
        ]
        yield call, twins[0] if twins else None


@rule(
    "Cancelled only within 24 hours, by the airline, in business, or insured with cause.",
    occasion="cancellation of a reservation that was looked up",
)
def cancellation_is_allowed(story: Story) -> Rulings:
    for call in story.calls_of("cancel_reservation"):
        if call.reservation:
            yield call, _not_cancellable(story, call, call.reservation)


_BY_AIRLINE = ("airline cancel", "you cancel", "cancelled flight", "flight was cancel")
_HEALTH_OR_WEATHER = (
    *("sick", "ill ", "ill,", "ill.", "illness", "unwell", "not feeling well", "health", "medical"),
    *("hospital", "doctor", "surgery", "injur", "covid", "flu ", "weather", "storm", "snow"),
)


def _not_cancellable(story: Story, call: Call, booked: Reservation) -> str | None:
    now, day = call.known.now, today(call.known)
    if day and any(flown < day.isoformat() for _, flown in booked.legs):
        return f"a flight of {booked.id} has been flown"
    if now and now - datetime.fromisoformat(booked.created) <= timedelta(hours=24):
        return None
    if booked.cabin == "business":
        return None
    said = " \n".join([*story.customer_until(call.turn), ""])
    if mentions(said, *_BY_AIRLINE) or (booked.insured and mentions(said, *_HEALTH_OR_WEATHER)):
        return None
    why = "insured, but for no reason of health or weather" if booked.insured else "not insured"
    return f"{booked.id} is {booked.cabin}, was booked on {booked.created[:10]} and is {why}"


@rule(
    "Compensation only when asked for and due: $100 or $50 a passenger.",
    occasion="certificate",
)
def compensation_by_policy(story: Story) -> Rulings:
    for call in story.calls_of("send_certificate"):
        yield call, _undue(story, call)


_COMPENSATION = ("compensat", "voucher", "certificate", "make up for", "make it up", "goodwill")


def _undue(story: Story, call: Call) -> str | None:
    amount = call.arguments.get("amount", 0)
    if not any(mentions(text, *_COMPENSATION) for text in story.customer_until(call.turn)):
        return f"${amount:g} that the customer did not ask for"
    seen = call.known.reservations.values()
    if not call.known.profile or not seen:
        return f"${amount:g} before the profile and the reservation were looked up"
    member = call.known.membership in ("silver", "gold")
    entitled = [r for r in seen if member or r.insured or r.cabin == "business"]
    if not entitled:
        return f"${amount:g} to a regular member without insurance in (basic) economy"
    sums = {rate * len(r.passengers) for r in entitled for rate in (50, 100)}
    listed = " or ".join(f"${due}" for due in sorted(sums))
    return unless(amount in sums, f"${amount:g}, where {listed} would be due")
