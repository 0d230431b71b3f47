"""What similarity sees with the local embedding model, and what it does not.

Run it as ``python -m evals.similarity``.  It prints Markdown, as ``docs/similarity.md`` shows it.  The pairs were
written for this: take pairs of your own to choose a threshold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import fmean

from giskard.checks.builtin._cosine import cosine_of_two
from giskard.checks.llm.local_embeddings import LocalEmbeddingModel

THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.95)

PAIRS = {
    "a typo, a comma, a capital letter": (
        ("Your refund is on its way.", "your refund is on its way"),
        ("We open at nine, and close at five.", "We open at nine and close at five."),
        ("The parcel was delivered yesterday.", "The parcel was deliverd yesterday."),
        ("Please restart the router.", "Please restart the router!"),
        ("You can pay by card or in cash.", "You can pay by card, or in cash."),
        ("I have cancelled the order.", "I have canceled the order."),
    ),
    "the same in other words": (
        ("We refund the fare within seven days.", "You get your money back in a week at most."),
        ("The shop is closed on Sundays.", "We are not open on Sunday."),
        ("Your parcel will arrive tomorrow.", "The delivery is due the day after today."),
        (
            "To reset your password, click the link in the e-mail.",
            "Follow the link we mailed you to set a new password.",
        ),
        ("Children under six travel free of charge.", "There is no fare for kids below the age of six."),
        ("The flight was cancelled because of fog.", "Fog is the reason why the plane did not leave."),
        ("Please bring a valid passport.", "A passport that has not expired is required."),
        ("You can return the shoes within a month.", "Shoes may be sent back up to 30 days after you bought them."),
        ("The battery lasts about ten hours.", "Expect roughly ten hours of use on one charge."),
        ("I have booked you a seat by the window.", "A window seat is reserved for you."),
        ("Breakfast is included in the price.", "The rate covers breakfast."),
        ("Our support team answers around the clock.", "You can reach customer service at any hour."),
        ("Keep the medicine in the fridge.", "Store the drug refrigerated."),
        ("The meeting was moved to Thursday.", "We will now meet on Thursday instead."),
        ("Pets are not allowed in the rooms.", "You cannot bring animals into the rooms."),
        ("The loan must be paid back in five years.", "Repayment of the credit is due within five years."),
    ),
    "the same in another language": (
        ("The shop is closed on Sundays.", "Das Geschäft ist sonntags geschlossen."),
        ("Your parcel will arrive tomorrow.", "Votre colis arrivera demain."),
        ("Please bring a valid passport.", "Por favor, traiga un pasaporte válido."),
        ("Breakfast is included in the price.", "La colazione è inclusa nel prezzo."),
        ("Pets are not allowed in the rooms.", "Huisdieren zijn niet toegestaan in de kamers."),
        ("The flight was cancelled because of fog.", "このフライトは霧のため欠航になりました。"),
    ),
    "the same topic, another statement": (
        ("We refund the fare within seven days.", "Refunds need the number of your booking."),
        ("The shop is closed on Sundays.", "The shop sells bread, cheese and wine."),
        ("Your parcel will arrive tomorrow.", "Parcels must not weigh more than 20 kilograms."),
        ("To reset your password, click the link in the e-mail.", "A password needs at least twelve characters."),
        ("Children under six travel free of charge.", "Children must be accompanied by an adult."),
        ("The flight was cancelled because of fog.", "The flight from Lisbon takes two hours."),
        ("Please bring a valid passport.", "A new passport costs 60 euros."),
        ("You can return the shoes within a month.", "The shoes come in black and brown."),
        ("The battery lasts about ten hours.", "The battery is charged through a cable."),
        ("Breakfast is included in the price.", "Breakfast is served from seven to ten."),
        ("Keep the medicine in the fridge.", "Take the medicine twice a day."),
        ("The loan must be paid back in five years.", "The interest on the loan is four per cent."),
    ),
    "nothing in common": (
        ("We refund the fare within seven days.", "Penguins live in the southern hemisphere."),
        ("The shop is closed on Sundays.", "The integral of a constant is a line."),
        ("Your parcel will arrive tomorrow.", "Whisk the eggs until they are stiff."),
        ("Please bring a valid passport.", "The band played two encores."),
        ("The battery lasts about ten hours.", "Mozart was born in Salzburg."),
        ("Breakfast is included in the price.", "The defendant pleaded not guilty."),
        ("Keep the medicine in the fridge.", "He scored in the last minute."),
        ("The loan must be paid back in five years.", "Ferns have no flowers."),
        ("The meeting was moved to Thursday.", "Granite is harder than chalk."),
        ("I have booked you a seat by the window.", "Compilers translate source code."),
    ),
    "the contrary: a negation": (
        ("Pets are allowed in the rooms.", "Pets are not allowed in the rooms."),
        ("You can change this ticket.", "You cannot change this ticket."),
        ("The parcel has arrived.", "The parcel has not arrived."),
        ("The medicine is safe for children.", "The medicine is unsafe for children."),
        ("We accept credit cards.", "We do not accept credit cards."),
    ),
    "another number or unit": (
        ("The fee is 3 euros.", "The fee is 30 euros."),
        ("You can return it within 15 days.", "You can return it within 15 months."),
        ("Take 2 tablets a day.", "Take 20 tablets a day."),
        ("The flight leaves at 8 am.", "The flight leaves at 8 pm."),
        ("Your balance is 1,250 dollars.", "Your balance is 12,500 dollars."),
    ),
    "the roles exchanged": (
        ("Ann owes Bob ten euros.", "Bob owes Ann ten euros."),
        ("The buyer pays the seller.", "The seller pays the buyer."),
        ("Fly from Rome to Oslo.", "Fly from Oslo to Rome."),
        ("The dog bit the postman.", "The postman bit the dog."),
        ("The bank refunds the customer.", "The customer refunds the bank."),
    ),
}


def similarities(pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The similarity of each pair."""
    texts = [text for pair in pairs for text in pair]
    vectors = asyncio.run(LocalEmbeddingModel().embed(texts)).vectors
    return [cosine_of_two(vectors[place : place + 2]) for place in range(0, len(texts), 2)]


def line(name: str, pairs: Sequence[tuple[str, str]]) -> str:
    """A line of the table: how similar the pairs are, and how many reach each threshold."""
    found = similarities(pairs)
    reached = (str(sum(similarity >= threshold for similarity in found)) for threshold in THRESHOLDS)
    cells = (name, str(len(found)), f"{min(found):.2f}", f"{fmean(found):.2f}", f"{max(found):.2f}", *reached)
    return f"| {' | '.join(cells)} |"


def table() -> str:
    """The similarities of each group of pairs, as a Markdown table."""
    heads = " | ".join(f"{threshold:g}" for threshold in THRESHOLDS)
    lines = [f"| pairs | n | least | mean | most | {heads} |", "| --- " * (5 + len(THRESHOLDS)) + "|"]
    return "\n".join([*lines, *(line(name, pairs) for name, pairs in PAIRS.items())])


if __name__ == "__main__":
    print(table())
