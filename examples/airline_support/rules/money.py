"""What a booking costs and how it is paid."""

from __future__ import annotations

from collections import Counter

from ..story import Call, Story
from .base import Rulings, rule, unless

__all__ = [
    "bags_are_priced_right",
    "booking_limits",
    "payment_methods_are_good",
    "payments_match_price",
]

FREE_BAGS = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 3},
}
BAG_PRICE = 50
INSURANCE_PRICE = 30


@rule(
    "At most 1 certificate, 1 credit card, 3 gift cards and 5 passengers a booking.",
    occasion="booking",
)
def booking_limits(story: Story) -> Rulings:
    limits = {"certificate": 1, "credit_card": 1, "gift_card": 3, "passenger": 5}
    for call in story.calls_of("book_reservation"):
        used = Counter(call.known.kind(payment_id) for payment_id, _ in call.payments)
        used["passenger"] = call.party
        over = [(kind.replace("_", " "), n) for kind, n in used.items() if n > limits.get(kind, 0)]
        listed = " and ".join(f"{n} {kind}s" for kind, n in over)
        yield call, unless(not over, f"{listed} in one booking")


@rule(
    "Payment methods are in the profile, hold the amount and suit the purpose.",
    occasion="payment method in a call after the profile was looked up",
)
def payment_methods_are_good(story: Story) -> Rulings:
    for call in story.calls:
        if not call.known.profile:
            continue
        for payment in call.arguments.get("payment_methods", []):
            yield call, _no_good(call, payment["payment_id"], payment["amount"])
        if "payment_id" in call.arguments:
            payment_id = call.arguments["payment_id"]
            problem = _no_good(call, payment_id, 0)
            if problem is None and call.known.kind(payment_id) == "certificate":
                problem = f"{payment_id}: a change is paid with a gift card or a credit card"
            yield call, problem


def _no_good(call: Call, payment_id: str, amount: float) -> str | None:
    if payment_id not in call.known.payment_methods:
        return f"{payment_id} is not in the profile"
    balance = call.known.balances.get(payment_id, amount)
    return unless(amount <= balance, f"${amount:g} from {payment_id}, which holds ${balance:g}")


@rule(
    "The payments of a booking add up to its price.",
    occasion="booking of flights with known prices",
)
def payments_match_price(story: Story) -> Rulings:
    for call in story.calls_of("book_reservation"):
        given, cabin = call.arguments, call.arguments["cabin"]
        offers = [call.known.offers[leg] for leg in call.legs if leg in call.known.offers]
        fares = [offer.prices[cabin] for offer in offers if cabin in offer.prices]
        if not fares or len(fares) != len(call.legs):
            continue
        extras = BAG_PRICE * given["nonfree_baggages"]
        extras += INSURANCE_PRICE * call.party if given["insurance"] == "yes" else 0
        price = sum(fares) * call.party + extras
        paid = sum(payment["amount"] for payment in given["payment_methods"])
        sums = f"pays ${paid:g} for a price of ${price:g}: {call.party} x ${sum(fares):g}"
        sums += f" + ${extras:g} for bags and insurance" if extras else ""
        yield call, unless(abs(paid - price) < 0.01, sums)


@rule(
    "Checked bags are charged as membership and cabin say.",
    occasion="booking or change with bags of a customer whose profile was looked up",
)
def bags_are_priced_right(story: Story) -> Rulings:
    for call in story.calls_of("book_reservation", "update_reservation_baggages"):
        member, booked, bags = call.known.membership, call.reservation, call.arguments
        cabin = bags.get("cabin") or (booked.cabin if booked else None)
        if member not in FREE_BAGS or cabin not in FREE_BAGS[member] or not bags["total_baggages"]:
            continue
        free = FREE_BAGS[member][cabin] * call.party
        due = max(0, bags["total_baggages"] - free)
        paid_before = booked.paid_bags if booked else 0
        counts = f"{bags['nonfree_baggages']} of {bags['total_baggages']} bags charged, {due} due"
        problem = f"{counts}: {member} member, {call.party} x {cabin}, {free} free"
        yield call, unless(bags["nonfree_baggages"] in (due, max(due, paid_before)), problem)
