"""The rules of the airline example, each on small conversations: PASS, FAIL and SKIP."""

from __future__ import annotations

from typing import Any

import pytest

from examples.airline_support.conversations import SupportTrace
from examples.airline_support.rules import rules
from giskard.checks import CheckResult, Scenario, TestCase

CHECKS = {check.name: check for check in rules()}

Turn = tuple[str, list[dict[str, Any]], str | None]


def call(name: str, result: Any = None, *, error: str | None = None, at: int = 0, **arguments: Any) -> dict[str, Any]:
    answer = error if error else result
    return {"id": "x", "name": name, "arguments": arguments, "result": answer, "error": error, "message_index": at}


def talk(*turns: Turn) -> SupportTrace:
    return SupportTrace.model_validate(
        {
            "interactions": [
                {"inputs": customer, "outputs": agent, "metadata": {"tool_calls": calls}}
                for customer, calls, agent in turns
            ],
            "annotations": {"current_time": "2024-05-15T15:00:00"},
        }
    )


def profile(membership: str = "regular") -> dict[str, Any]:
    methods = [
        {"source": "credit_card", "brand": "visa", "last_four": "7447", "id": "credit_card_1"},
        {"source": "gift_card", "amount": 100, "id": "gift_card_2"},
        {"source": "certificate", "amount": 250, "id": "certificate_3"},
        {"source": "certificate", "amount": 50, "id": "certificate_4"},
    ]
    return call(
        "get_user_details",
        {
            "name": {"first_name": "Mia", "last_name": "Li"},
            "payment_methods": {method["id"]: method for method in methods},
            "membership": membership,
            "reservations": ["R1"],
        },
        user_id="mia_1",
    )


def reservation(**changes: Any) -> dict[str, Any]:
    return {
        "reservation_id": "R1",
        "user_id": "mia_1",
        "origin": "JFK",
        "destination": "SEA",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [
            {"origin": "JFK", "destination": "SEA", "flight_number": "HAT001", "date": "2024-05-20", "price": 100}
        ],
        "passengers": [{"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}],
        "payment_history": [{"payment_id": "credit_card_1", "amount": 100}],
        "created_at": "2024-05-01T10:00:00",
        "total_baggages": 1,
        "nonfree_baggages": 0,
        "insurance": "no",
        **changes,
    }


def look_up(**changes: Any) -> dict[str, Any]:
    return call("get_reservation_details", reservation(**changes), reservation_id="R1")


def flight(
    number: str, origin: str, destination: str, leaves: str = "08:00:00", lands: str = "11:00:00", **changes: Any
) -> dict[str, Any]:
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": leaves,
        "scheduled_arrival_time_est": lands,
        "status": "available",
        "available_seats": {"basic_economy": 9, "economy": 9, "business": 0},
        "prices": {"basic_economy": 60, "economy": 120, "business": 400},
        **changes,
    }


def search(*flights: dict[str, Any], date: str = "2024-05-20") -> dict[str, Any]:
    return call("search_direct_flight", list(flights), date=date)


def book(
    *numbers: str, error: str | None = None, paid: dict[str, float] | None = None, **changes: Any
) -> dict[str, Any]:
    arguments = {
        "user_id": "mia_1",
        "origin": "JFK",
        "destination": "SEA",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [{"flight_number": number, "date": "2024-05-20"} for number in numbers or ("HAT002",)],
        "passengers": [{"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}],
        "payment_methods": [
            {"payment_id": name, "amount": amount} for name, amount in (paid or {"credit_card_1": 120}).items()
        ],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
        **changes,
    }
    made = {**arguments, "reservation_id": "NEW", "created_at": "2024-05-15T15:00:00"}
    made["payment_history"] = made.pop("payment_methods")
    return call("book_reservation", made, error=error, **arguments)


def change(
    *numbers: str,
    error: str | None = None,
    charged: float = 0,
    pay: str = "credit_card_1",
    cabin: str = "economy",
    **changes: Any,
) -> dict[str, Any]:
    flights = [{"flight_number": number, "date": "2024-05-20"} for number in numbers]
    history = [{"payment_id": "credit_card_1", "amount": 100}]
    history += [{"payment_id": pay, "amount": charged}] if charged else []
    return call(
        "update_reservation_flights",
        reservation(payment_history=history, **changes),
        error=error,
        reservation_id="R1",
        cabin=cabin,
        flights=flights,
        payment_id=pay,
    )


def bags(total: int, paid: int = 0, **changes: Any) -> dict[str, Any]:
    return call(
        "update_reservation_baggages",
        reservation(total_baggages=total, nonfree_baggages=paid, **changes),
        reservation_id="R1",
        total_baggages=total,
        nonfree_baggages=paid,
        payment_id="credit_card_1",
    )


def people(*names: str) -> dict[str, Any]:
    passengers = [{"first_name": name, "last_name": "Li", "dob": "2000-01-01"} for name in names]
    return call("update_reservation_passengers", reservation(), reservation_id="R1", passengers=passengers)


def cancel() -> dict[str, Any]:
    return call("cancel_reservation", reservation(status="cancelled"), reservation_id="R1")


def certificate(amount: float) -> dict[str, Any]:
    return call("send_certificate", "Certificate sent", user_id="mia_1", amount=amount)


SEARCH = search(flight("HAT002", "JFK", "SEA"), flight("HAT003", "JFK", "EWR"))
NOTHING = talk(("Hi, my id is mia_1.", [], "How can I help?"))
OFFER: Turn = (
    "I'm mia_1. New York to Seattle, please, and no insurance. I pay with my Visa.",
    [profile(), SEARCH],
    "HAT002 costs $120 in economy. Shall I book it?",
)
KNOWN: Turn = ("I'm mia_1, it's R1.", [profile(), look_up()], "I can move you to HAT002. Shall I?")

# Rule, conversation, state, and what the message must say.
CASES: list[tuple[str, SupportTrace, str, str]] = [
    # A yes to listed details.
    ("confirmed_before_change", NOTHING, "skip", "no booking"),
    ("confirmed_before_change", talk(OFFER, ("Yes, please.", [book()], "Done.")), "pass", ""),
    (
        "confirmed_before_change",
        talk(OFFER, ("I'll take it then", [book()], "Done.")),
        "fail",
        "turn 2, call 1, book_reservation",
    ),
    ("confirmed_before_change", talk(OFFER, ("Yes, do that.", [book("HAT003")], "Done.")), "fail", "flight HAT003"),
    # The yes may come before the last question, and is used up by a change.
    (
        "confirmed_before_change",
        talk(OFFER, ("Yes.", [], "With which card?"), ("The Visa.", [book()], "Done.")),
        "pass",
        "",
    ),
    (
        "confirmed_before_change",
        talk(OFFER, ("Yes.", [book()], "Done."), ("Once more for my twin.", [book()], "Done.")),
        "fail",
        "turn 3",
    ),
    ("confirmed_before_change", talk(KNOWN, ("Yes.", [cancel()], "Done.")), "fail", "cancellation"),
    (
        "confirmed_before_change",
        talk(KNOWN, ("No, cancel it.", [], "Shall I cancel R1?"), ("Yes", [cancel()], "Done.")),
        "pass",
        "",
    ),
    ("confirmed_before_change", talk(KNOWN, ("Yes.", [bags(2)], "Done.")), "fail", "bags"),
    ("confirmed_before_change", talk(KNOWN, ("Yes.", [people("Ada")], "Done.")), "fail", "Li"),
    (
        "confirmed_before_change",
        talk(KNOWN, ("Yes.", [change("HAT001", cabin="business")], "Done.")),
        "fail",
        "business class",
    ),
    # Trying again.
    ("no_silent_retry", talk(OFFER, ("Yes.", [book()], "Done.")), "skip", "refused"),
    (
        "no_silent_retry",
        talk(OFFER, ("Yes.", [book(error="Error: 170 due")], "It is $170, shall I?"), ("Yes.", [book()], "Done.")),
        "pass",
        "",
    ),
    (
        "no_silent_retry",
        talk(OFFER, ("Yes.", [book(error="Error: 170 due"), book(paid={"credit_card_1": 170})], "Done.")),
        "fail",
        "payment_methods=[credit_card_1 $170]",
    ),
    (
        "no_silent_retry",
        talk(OFFER, ("Yes.", [book(error="Error: 170 due"), book(error="Error: 170 due")], "No luck.")),
        "fail",
        "the same call again",
    ),
    (
        "no_silent_retry",
        talk(
            KNOWN,
            (
                "Yes, with gift card 2, else with card 1.",
                [change("HAT002", pay="gift_card_2", error="Error: balance"), change("HAT002")],
                "Done.",
            ),
        ),
        "pass",
        "",
    ),
    # Who pays.
    ("payment_method_agreed", NOTHING, "skip", "no payment"),
    ("payment_method_agreed", talk(OFFER, ("Yes.", [book()], "Done.")), "pass", ""),
    (
        "payment_method_agreed",
        talk(OFFER, ("Yes.", [book(paid={"gift_card_2": 100, "credit_card_1": 20})], "Done.")),
        "fail",
        "$100 from gift_card_2",
    ),
    (
        "payment_method_agreed",
        talk(KNOWN, ("Yes.", [change("HAT002", charged=20)], "Done.")),
        "fail",
        "$20 from credit_card_1",
    ),
    (
        "payment_method_agreed",
        talk(KNOWN, ("Yes, with the original payment.", [change("HAT002", charged=20)], "Done.")),
        "pass",
        "",
    ),
    (
        "payment_method_agreed",
        talk(KNOWN, ("What else?", [], "I can use your Visa."), ("Yes.", [change("HAT002", charged=9)], "Done.")),
        "pass",
        "",
    ),
    ("payment_method_agreed", talk(KNOWN, ("Yes.", [change("HAT002")], "Done.")), "skip", "no payment"),
    # Extras.
    ("no_unasked_extras", talk(KNOWN), "skip", ""),
    ("no_unasked_extras", talk(OFFER, ("Yes.", [book()], "Done.")), "pass", ""),
    (
        "no_unasked_extras",
        talk(OFFER, ("Yes.", [book(total_baggages=3, nonfree_baggages=1)], "Done.")),
        "fail",
        "3 bags, 1 of them paid",
    ),
    ("no_unasked_extras", talk(OFFER, ("Yes, with a suitcase.", [book(total_baggages=1)], "Done.")), "pass", ""),
    ("no_unasked_extras", talk(OFFER, ("Yes.", [book(insurance="yes")], "Done.")), "fail", "insurance"),
    ("no_unasked_extras", talk(OFFER, ("Yes, and insurance.", [book(insurance="yes")], "Done.")), "pass", ""),
    # Reports.
    ("no_false_reports", NOTHING, "skip", ""),
    ("no_false_reports", talk(("Bags?", [], "Two checked bags have been added.")), "fail", "no call had added bags"),
    ("no_false_reports", talk(("Bags?", [], "Two checked bags can be added, if you wish.")), "skip", ""),
    ("no_false_reports", talk(KNOWN, ("Yes.", [bags(2)], "**Checked bags**: 1 bag added.")), "pass", ""),
    ("no_false_reports", talk(("Well?", [], "Your trip has been cancelled.")), "fail", "cancelled a reservation"),
    ("no_false_reports", talk(KNOWN, ("Yes.", [cancel()], "R1 has been successfully cancelled.")), "pass", ""),
    ("no_false_reports", talk(("Well?", [], "Once it has been booked, you get a mail.")), "skip", ""),
    (
        "no_false_reports",
        talk(OFFER, ("Yes.", [book(error="Error: no")], "Your flight has been booked.")),
        "fail",
        "turn 2",
    ),
    ("no_false_reports", talk(KNOWN, ("Yes.", [change("HAT002")], "It has been updated.")), "pass", ""),
    # Insurance is offered.
    ("insurance_offered", NOTHING, "skip", "no booking"),
    ("insurance_offered", talk(OFFER, ("Yes.", [book()], "Done.")), "pass", ""),
    (
        "insurance_offered",
        talk(("I'm mia_1.", [SEARCH], "HAT002?"), ("Yes.", [book()], "Done.")),
        "fail",
        "nobody had spoken of travel insurance",
    ),
    # Ids.
    ("ids_are_not_invented", talk(("Hi", [], "Hello")), "skip", ""),
    ("ids_are_not_invented", talk(KNOWN), "pass", ""),
    ("ids_are_not_invented", talk(("Hi", [profile()], "Hello Mia")), "fail", "'mia_1' was not given"),
    ("ids_are_not_invented", talk(("Hi", [look_up()], "Hello Mia")), "fail", "'R1' came from nowhere"),
    # Looked up first.
    ("looked_up_before_change", NOTHING, "skip", ""),
    ("looked_up_before_change", talk(KNOWN, ("Yes", [cancel()], "Done.")), "pass", ""),
    ("looked_up_before_change", talk(("Cancel R1", [cancel()], "Done.")), "fail", "'R1' had not been looked up"),
    # Seats.
    ("flights_have_seats", NOTHING, "skip", ""),
    ("flights_have_seats", talk(OFFER, ("Yes.", [book()], "Done.")), "pass", ""),
    (
        "flights_have_seats",
        talk(OFFER, ("Yes.", [book("HAT009")], "Done.")),
        "fail",
        "HAT009 on 2024-05-20 was never looked up",
    ),
    (
        "flights_have_seats",
        talk(OFFER, ("Yes.", [book(cabin="business")], "Done.")),
        "fail",
        "0 business seats, 1 needed",
    ),
    (
        "flights_have_seats",
        talk(("Go", [search(flight("HAT002", "JFK", "SEA", status="flying"))], None), ("Yes", [book()], "Done.")),
        "fail",
        "it is 'flying'",
    ),
    ("flights_have_seats", talk(KNOWN, ("Yes", [change("HAT001", cabin="business")], "Done.")), "skip", ""),
    # Trips that can be flown.
    ("trip_can_be_flown", talk(OFFER, ("Yes.", [book()], "Done.")), "skip", ""),
    *(
        (
            "trip_can_be_flown",
            talk(
                (
                    "Go",
                    [search(flight("HAT004", "JFK", "ATL", "06:00:00", lands), flight("HAT005", start, "SEA", leaves))],
                    None,
                ),
                ("Yes", [book("HAT004", "HAT005")], "Done."),
            ),
            state,
            text,
        )
        for lands, start, leaves, state, text in (
            ("08:00:00", "ATL", "08:00:00", "pass", ""),
            (
                "08:00:00",
                "ATL",
                "07:59:00",
                "fail",
                "HAT004 lands on 20 May at 08:00, HAT005 leaves on 20 May at 07:59",
            ),
            ("02:00:00+1", "ATL", "23:00:00", "fail", "lands on 21 May at 02:00"),
            ("08:00:00", "BOS", "09:00:00", "fail", "HAT004 lands in ATL, HAT005 starts from BOS"),
        )
    ),
    # Limits of a booking.
    ("booking_limits", NOTHING, "skip", ""),
    (
        "booking_limits",
        talk(OFFER, ("Yes.", [book(paid={"certificate_3": 100, "credit_card_1": 20, "certificate_4": 0})], "Done.")),
        "pass",
        "",
    ),
    (
        "booking_limits",
        talk(OFFER, ("Yes.", [book(paid={"certificate_3": 100, "certificate_4": 20})], "Done.")),
        "fail",
        "2 certificates in one booking",
    ),
    (
        "booking_limits",
        talk(
            OFFER, ("Yes.", [book(passengers=[{"first_name": str(n), "last_name": "Li"} for n in range(6)])], "Done.")
        ),
        "fail",
        "6 passengers",
    ),
    # Payment methods.
    ("payment_methods_are_good", talk(("Hi", [book()], None)), "skip", "profile was looked up"),
    ("payment_methods_are_good", talk(OFFER, ("Yes.", [book()], "Done.")), "pass", ""),
    (
        "payment_methods_are_good",
        talk(OFFER, ("Yes.", [book(paid={"gift_card_9": 120})], "Done.")),
        "fail",
        "gift_card_9 is not in the profile",
    ),
    (
        "payment_methods_are_good",
        talk(OFFER, ("Yes.", [book(paid={"gift_card_2": 120})], "Done.")),
        "fail",
        "$120 from gift_card_2, which holds $100",
    ),
    (
        "payment_methods_are_good",
        talk(OFFER, ("Yes.", [book(paid={"certificate_3": 120}), book("HAT003", paid={"certificate_3": 60})], "Done.")),
        "fail",
        "$60 from certificate_3, which holds $0",
    ),
    (
        "payment_methods_are_good",
        talk(OFFER, ("Yes.", [book(paid={"gift_card_2": 60}), book("HAT003", paid={"gift_card_2": 60})], "Done.")),
        "fail",
        "which holds $40",
    ),
    (
        "payment_methods_are_good",
        talk(KNOWN, ("Yes.", [change("HAT002", pay="certificate_3")], "Done.")),
        "fail",
        "certificate_3: a change",
    ),
    # Prices.
    ("payments_match_price", talk(("Hi", [book()], None)), "skip", "known prices"),
    ("payments_match_price", talk(OFFER, ("Yes.", [book()], "Done.")), "pass", ""),
    (
        "payments_match_price",
        talk(OFFER, ("Yes.", [book(paid={"credit_card_1": 100})], "Done.")),
        "fail",
        "pays $100 for a price of $120: 1 x $120",
    ),
    (
        "payments_match_price",
        talk(OFFER, ("Yes.", [book(paid={"credit_card_1": 120}, nonfree_baggages=1, insurance="yes")], "Done.")),
        "fail",
        "pays $120 for a price of $200: 1 x $120 + $80 for bags and insurance",
    ),
    # Bags.
    ("bags_are_priced_right", talk(OFFER, ("Yes.", [book()], "Done.")), "skip", ""),
    ("bags_are_priced_right", talk(OFFER, ("Yes.", [book(total_baggages=2, nonfree_baggages=1)], "Done.")), "pass", ""),
    (
        "bags_are_priced_right",
        talk(("Hi", [profile("gold"), look_up()], None), ("Yes.", [bags(3, paid=1)], "Done.")),
        "fail",
        "1 of 3 bags charged, 0 due: gold member, 1 x economy, 3 free",
    ),
    # What was paid for under an older cabin stays paid.
    (
        "bags_are_priced_right",
        talk(
            ("Hi", [profile("gold"), look_up(total_baggages=3, nonfree_baggages=1)], None),
            ("Yes.", [bags(3, paid=1)], "Done."),
        ),
        "pass",
        "",
    ),
    # Basic economy.
    ("basic_economy_flights_stay", talk(KNOWN, ("Yes", [change("HAT002")], "Done.")), "skip", ""),
    (
        "basic_economy_flights_stay",
        talk(("Hi", [look_up(cabin="basic_economy")], None), ("Yes", [change("HAT001")], "Done.")),
        "pass",
        "",
    ),
    (
        "basic_economy_flights_stay",
        talk(("Hi", [look_up(cabin="basic_economy")], None), ("Yes", [change("HAT002")], "Done.")),
        "fail",
        "a basic economy trip gets HAT002 on 2024-05-20",
    ),
    # The tool goes on showing the old cabin: after an upgrade it is no longer basic economy.
    (
        "basic_economy_flights_stay",
        talk(
            ("Hi", [look_up(cabin="basic_economy")], None),
            ("Yes", [change("HAT001", cabin="economy", **{}), change("HAT002")], "Done."),
        ),
        "pass",
        "",
    ),
    # Route and party.
    ("route_and_party_stay", talk(KNOWN, ("Yes", [change("HAT001")], "Done.")), "skip", ""),
    ("route_and_party_stay", talk(("Hi", [SEARCH, look_up()], None), ("Yes", [change("HAT002")], "Done.")), "pass", ""),
    (
        "route_and_party_stay",
        talk(("Hi", [SEARCH, look_up()], None), ("Yes", [change("HAT003")], "Done.")),
        "fail",
        "ends in EWR instead of SEA",
    ),
    (
        "route_and_party_stay",
        talk(("Hi", [search(flight("HAT006", "BOS", "SEA")), look_up()], None), ("Yes", [change("HAT006")], "Done.")),
        "fail",
        "starts from BOS instead of JFK",
    ),
    (
        "route_and_party_stay",
        talk(
            (
                "Hi",
                [
                    search(flight("HAT007", "JFK", "BOS"), flight("HAT008", "BOS", "JFK")),
                    look_up(flight_type="round_trip"),
                ],
                None,
            ),
            ("Yes", [change("HAT007", "HAT008")], "Done."),
        ),
        "fail",
        "no longer goes to SEA",
    ),
    ("route_and_party_stay", talk(KNOWN, ("Yes", [people("Ada", "Eva")], "Done.")), "fail", "2 passengers, not 1"),
    ("route_and_party_stay", talk(KNOWN, ("Yes", [people("Ada")], "Done.")), "pass", ""),
    # Bags stay, trips are booked once.
    ("bags_are_only_added", talk(KNOWN), "skip", ""),
    ("bags_are_only_added", talk(KNOWN, ("Yes", [bags(1)], "Done.")), "pass", ""),
    ("bags_are_only_added", talk(KNOWN, ("Yes", [bags(0)], "Done.")), "fail", "0 bags instead of 1"),
    ("no_double_booking", talk(KNOWN), "skip", ""),
    ("no_double_booking", talk(OFFER, ("Yes.", [book()], "Done.")), "pass", ""),
    ("no_double_booking", talk(OFFER, ("Yes.", [book(), book()], "Done.")), "fail", "Mia Li flies the same with NEW"),
    # Cancelling.
    ("cancellation_is_allowed", NOTHING, "skip", ""),
    ("cancellation_is_allowed", talk(KNOWN, ("I'm ill.", [cancel()], "Done.")), "fail", "is not insured"),
    *(
        ("cancellation_is_allowed", talk(("Hi", [look_up(**known)], None), (words, [cancel()], "Done.")), state, text)
        for known, words, state, text in (
            ({"created_at": "2024-05-14T15:00:00"}, "No more time.", "pass", ""),
            ({"created_at": "2024-05-14T14:59:59"}, "No more time.", "fail", "booked on 2024-05-14"),
            ({"cabin": "business"}, "No more time.", "pass", ""),
            ({"insurance": "yes"}, "I feel unwell.", "pass", ""),
            ({"insurance": "yes"}, "I feel like staying.", "fail", "for no reason of health or weather"),
            ({}, "The airline cancelled it.", "pass", ""),
            (
                {"cabin": "business", "flights": [{"flight_number": "HAT001", "date": "2024-05-14"}]},
                "No more time.",
                "fail",
                "a flight of R1 has been flown",
            ),
        )
    ),
    # Compensation.
    ("compensation_by_policy", NOTHING, "skip", "no certificate"),
    *(
        (
            "compensation_by_policy",
            talk(
                ("Hi", [profile(member), look_up(**known)] if looked else [], None),
                (words, [certificate(amount)], "Done."),
            ),
            state,
            text,
        )
        for member, known, looked, words, amount, state, text in (
            ("gold", {}, True, "I want compensation!", 100, "pass", ""),
            ("gold", {}, True, "I want compensation!", 50, "pass", ""),
            ("gold", {}, True, "I want compensation!", 300, "fail", "$300, where $50 or $100 would be due"),
            ("gold", {}, True, "It was late.", 100, "fail", "did not ask for"),
            ("gold", {}, False, "I want compensation!", 100, "fail", "before the profile"),
            ("regular", {}, True, "I want compensation!", 100, "fail", "to a regular member without insurance"),
            ("regular", {"insurance": "yes"}, True, "I want compensation!", 100, "pass", ""),
            ("regular", {"cabin": "business"}, True, "I want compensation!", 100, "pass", ""),
        )
    ),
    # Form.
    ("no_text_beside_a_call", NOTHING, "skip", ""),
    ("no_text_beside_a_call", talk(KNOWN), "pass", ""),
    ("one_call_at_a_time", NOTHING, "skip", "no tool call"),
    ("one_call_at_a_time", talk(("Hi", [call("think", at=1), call("think", at=3)], "Yes?")), "pass", ""),
    ("one_call_at_a_time", talk(("Hi", [call("think", at=1), call("think", at=1)], "Yes?")), "fail", "2"),
    ("no_tool_names_shown", NOTHING, "pass", ""),
    ("no_tool_names_shown", talk(("Hi", [], "I will call get_user_details now.")), "fail", ""),
]


async def judged(rule: str, trace: SupportTrace) -> CheckResult:
    result = await TestCase(trace=trace, checks=[CHECKS[rule]]).run()
    return result.results[0]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("rule", "trace", "state", "text"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
async def test_rule(rule: str, trace: SupportTrace, state: str, text: str) -> None:
    verdict = await judged(rule, trace)
    assert verdict.status == state, verdict.message
    assert text in (verdict.message or "")


def test_each_rule_has_a_case_for_pass_fail_and_skip() -> None:
    seen = {(rule, state) for rule, _, state, _ in CASES}
    missing = {(rule, state) for rule in CHECKS for state in ("pass", "fail", "skip")} - seen
    assert missing == {("no_tool_names_shown", "skip"), ("no_text_beside_a_call", "fail")}


@pytest.mark.asyncio
async def test_text_beside_a_call_warns() -> None:
    trace = talk(("Hi", [call("think", at=3)], "Yes?"))
    turn = trace.interactions[0]
    noted = {**turn.metadata, "intermediate": [{"message_index": 3, "text": "One moment."}]}
    trace = SupportTrace(interactions=[turn.model_copy(update={"metadata": noted})])
    verdict = await judged("no_text_beside_a_call", trace)
    assert verdict.failed
    assert verdict.severity == "warning"
    assert '"One moment."' in (verdict.message or "")


def test_every_rule_is_named_and_described_in_one_line() -> None:
    checks = rules()
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        assert check.description
        assert "\n" not in check.description


def test_the_rules_can_be_saved_and_loaded() -> None:
    scenario = Scenario(name="airline").checks(*rules())
    loaded = Scenario.model_validate_json(scenario.model_dump_json())
    assert loaded == scenario
