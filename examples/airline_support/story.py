"""What the agent could know at each tool call of a conversation.

The rules are about what was known and said *before* a call: this module walks through a trace once
and hands out every call together with the profile, the reservations and the flights that had been
looked up by then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from giskard.checks import Trace

from .wording import agrees, digits, mentions

__all__ = ["CHANGES", "UPDATES", "Call", "Known", "Leg", "Offer", "Reservation", "Story"]

UPDATES = frozenset({"update_reservation_flights", "update_reservation_baggages", "update_reservation_passengers"})
# The tools that change the booking database.
CHANGES = UPDATES | {"book_reservation", "cancel_reservation"}

Leg = tuple[str, str]
"""A flight number and a date: one seat on one plane."""


@dataclass(frozen=True)
class Offer:
    """A flight on a date, as a search showed it."""

    number: str
    date: str
    origin: str
    destination: str
    status: str
    seats: dict[str, int]
    prices: dict[str, float]
    departure: datetime | None
    arrival: datetime | None


@dataclass(frozen=True)
class Reservation:
    """A reservation, as it was looked up or as a change left it."""

    id: str
    origin: str
    destination: str
    trip: str
    cabin: str
    legs: tuple[Leg, ...]
    passengers: tuple[str, ...]
    bags: int
    paid_bags: int
    insured: bool
    created: str
    payments: tuple[tuple[str, float], ...]
    cancelled: bool = False

    @classmethod
    def read(cls, data: dict[str, Any]) -> Reservation:
        return cls(
            id=data["reservation_id"],
            origin=data["origin"],
            destination=data["destination"],
            trip=data["flight_type"],
            cabin=data["cabin"],
            legs=legs_of(data["flights"]),
            passengers=tuple(full_name(person) for person in data["passengers"]),
            bags=data["total_baggages"],
            paid_bags=data["nonfree_baggages"],
            insured=data["insurance"] == "yes",
            created=data["created_at"],
            payments=tuple((paid["payment_id"], paid["amount"]) for paid in data["payment_history"]),
            cancelled=data.get("status") == "cancelled",
        )


@dataclass
class Known:
    """What the tools had told the agent so far."""

    now: datetime | None = None
    profile: dict[str, Any] | None = None
    reservations: dict[str, Reservation] = field(default_factory=dict[str, Reservation])
    made_here: set[str] = field(default_factory=set[str])
    offers: dict[Leg, Offer] = field(default_factory=dict[Leg, Offer])
    routes: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    balances: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def membership(self) -> str | None:
        return self.profile["membership"] if self.profile else None

    @property
    def payment_methods(self) -> dict[str, Any]:
        return self.profile["payment_methods"] if self.profile else {}

    def kind(self, payment_id: str) -> str:
        """`certificate`, `gift_card` or `credit_card`."""
        method = self.payment_methods.get(payment_id, {})
        return method.get("source") or re.sub(r"_\d+$", "", payment_id)

    def copy(self) -> Known:
        return replace(
            self,
            reservations=dict(self.reservations),
            made_here=set(self.made_here),
            offers=dict(self.offers),
            routes=dict(self.routes),
            balances=dict(self.balances),
        )


@dataclass(frozen=True)
class Call:
    """One tool call; turns and calls are counted from 1, as people count."""

    turn: int
    number: int
    name: str
    arguments: dict[str, Any]
    result: Any
    error: str | None
    message_index: int
    known: Known

    @property
    def done(self) -> bool:
        """Whether the tool did what it was asked to."""
        return self.error is None

    @property
    def reservation(self) -> Reservation | None:
        """The reservation that the call is about, if it had been looked up."""
        return self.known.reservations.get(self.arguments.get("reservation_id", ""))

    @property
    def legs(self) -> tuple[Leg, ...]:
        return legs_of(self.arguments.get("flights", []))

    @property
    def new_legs(self) -> list[Leg]:
        """The flights of the call that the reservation did not have before."""
        kept = self.reservation.legs if self.reservation else ()
        return [leg for leg in self.legs if leg not in kept]

    @property
    def party(self) -> int:
        """How many people fly."""
        people = self.arguments.get("passengers")
        if people is None:
            people = self.reservation.passengers if self.reservation else ()
        return len(people)

    @property
    def payments(self) -> list[tuple[str, float]]:
        """What the call takes: payment ids and amounts above zero, as far as they can be told."""
        if self.name == "book_reservation":
            paid = [(p["payment_id"], p["amount"]) for p in self.arguments["payment_methods"]]
        elif "payment_id" in self.arguments and self.done and self.reservation:
            history = Reservation.read(self.result).payments
            paid = list(history[len(self.reservation.payments) :])
        else:
            paid = []
        return [(payment_id, amount) for payment_id, amount in paid if amount > 0]


class Story:
    """A conversation with all that was said and known at each point of it."""

    def __init__(self, trace: Trace[Any, Any]) -> None:
        self._turns = list(trace.interactions)
        self.calls: list[Call] = []
        now = trace.annotations.get("current_time")
        known = Known(now=datetime.fromisoformat(now) if now else None)
        for turn, interaction in enumerate(self._turns, start=1):
            for number, recorded in enumerate(interaction.metadata.get("tool_calls", []), start=1):
                arguments = recorded["arguments"]
                call = Call(
                    turn=turn,
                    number=number,
                    name=recorded["name"],
                    arguments=arguments if isinstance(arguments, dict) else {},
                    result=recorded.get("result"),
                    error=recorded.get("error"),
                    message_index=recorded.get("message_index", number),
                    known=known,
                )
                self.calls.append(call)
                known = known.copy()
                _learn(known, call)

    def calls_of(self, *names: str) -> Iterator[Call]:
        return (call for call in self.calls if call.name in names)

    @property
    def changes(self) -> list[Call]:
        """Every attempt to book, change or cancel something."""
        return list(self.calls_of(*CHANGES))

    # --- what was said ---------------------------------------------------------------------

    def customer(self, turn: int) -> str:
        """The customer's message that opens a turn."""
        return self._turns[turn - 1].inputs or ""

    def customer_until(self, turn: int) -> list[str]:
        """All messages of the customer up to a turn, that of the turn included."""
        return [self.customer(t) for t in range(1, turn + 1)]

    def agent(self, turn: int) -> list[str]:
        """What the agent wrote in a turn."""
        recorded = self._turns[turn - 1]
        texts = [note["text"] for note in recorded.metadata.get("intermediate", [])]
        return [*texts, *([recorded.outputs] if recorded.outputs else [])]

    def agent_before(self, turn: int) -> list[str]:
        """What the agent had written before a turn: what the customer can have agreed to."""
        return [text for t in range(1, turn) for text in self.agent(t)]

    def notes(self) -> Iterator[tuple[int, int, str]]:
        """Texts that are not the last word of their turn: turn, position of the message, text."""
        for turn, recorded in enumerate(self._turns, start=1):
            for note in recorded.metadata.get("intermediate", []):
                yield turn, note["message_index"], note["text"]

    @property
    def turns(self) -> range:
        return range(1, len(self._turns) + 1)

    def asked_or_agreed(self, *words: str, turn: int) -> bool:
        """Whether the customer spoke of a thing by then, or said yes to a message that did."""
        if any(mentions(text, *words) for text in self.customer_until(turn)):
            return True
        return any(
            mentions(text, *words) and agrees(self.customer(t + 1)) for t in range(1, turn) for text in self.agent(t)
        )

    def names_payment(self, call: Call, payment_id: str) -> bool:
        """Whether the customer named a payment method, or said yes to a message that did."""
        method = call.known.payment_methods.get(payment_id, {})
        words = [payment_id, digits(payment_id), call.known.kind(payment_id).replace("_", " ")]
        words += [method[key] for key in ("last_four", "brand") if key in method]
        if call.known.kind(payment_id) == "certificate":
            words.append("voucher")
        if call.reservation and payment_id in dict(call.reservation.payments):
            words += ["original payment", "original method", "original refund", "same payment"]
        return self.asked_or_agreed(*words, turn=call.turn)


# --- what a call teaches ---------------------------------------------------------------------


def _learn(known: Known, call: Call) -> None:
    if not call.done:
        return
    result = call.result
    if call.name == "get_user_details":
        known.profile = result
        known.balances = {
            method["id"]: method["amount"] for method in result["payment_methods"].values() if "amount" in method
        }
    elif call.name == "search_direct_flight":
        _see(known, result, call.arguments.get("date"))
    elif call.name == "search_onestop_flight":
        for journey in result:
            _see(known, journey, call.arguments.get("date"))
    elif isinstance(result, dict) and "reservation_id" in result:
        _see_reservation(known, call, result)


def _see(known: Known, flights: Iterable[dict[str, Any]], searched: str | None) -> None:
    for flight in flights:
        day = flight.get("date") or searched
        if day is None:
            continue
        number = flight["flight_number"]
        known.routes[number] = (flight["origin"], flight["destination"])
        known.offers[number, day] = Offer(
            number=number,
            date=day,
            origin=flight["origin"],
            destination=flight["destination"],
            status=flight["status"],
            seats=flight.get("available_seats", {}),
            prices=flight.get("prices", {}),
            departure=_moment(day, flight["scheduled_departure_time_est"]),
            arrival=_moment(day, flight["scheduled_arrival_time_est"]),
        )


def _moment(day: str, clock: str) -> datetime | None:
    """`03:00:00+1` is three o'clock of the next day."""
    read = re.fullmatch(r"(\d\d:\d\d:\d\d)(?:\+(\d+))?", clock)
    if read is None:
        return None
    return datetime.fromisoformat(f"{day}T{read[1]}") + timedelta(days=int(read[2] or 0))


def _see_reservation(known: Known, call: Call, result: dict[str, Any]) -> None:
    reservation = Reservation.read(result)
    for flight in result["flights"]:
        if "origin" in flight:
            known.routes[flight["flight_number"]] = (flight["origin"], flight["destination"])
    before = known.reservations.get(reservation.id)
    if call.name == "update_reservation_flights":
        # The recorded tool charges for the new cabin and goes on showing the old one.
        reservation = replace(reservation, cabin=call.arguments["cabin"])
    elif before is not None:
        reservation = replace(reservation, cabin=before.cabin)
    known.reservations[reservation.id] = reservation
    if call.name == "book_reservation":
        known.made_here.add(reservation.id)
    for payment_id, amount in call.payments:
        if known.kind(payment_id) == "certificate":
            known.balances[payment_id] = 0  # what remains of a certificate is lost
        elif payment_id in known.balances:
            known.balances[payment_id] -= amount


def legs_of(flights: Iterable[dict[str, Any]]) -> tuple[Leg, ...]:
    return tuple((flight["flight_number"], flight["date"]) for flight in flights)


def full_name(person: dict[str, Any]) -> str:
    return f"{person['first_name']} {person['last_name']}"


def today(known: Known) -> date | None:
    return known.now.date() if known.now else None
