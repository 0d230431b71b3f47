r"""Personal data in a text, by patterns and checksums, in time that grows with the text's length.

No pattern here repeats a part without a bound, and each starts at the edge of a word.  The checks that cost more
(phones, national numbers) are made for so many candidates only.
"""

from __future__ import annotations

import bisect
import ipaddress
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from giskard.checks.builtin._pii_numbers import (
    iban_end,
    is_card,
    is_national_number,
    is_phone,
    national_numbers,
    us_ssn,
)
from giskard.checks.utils.text import INVISIBLE

__all__ = [
    "MOST_FOUND",
    "PATTERN_CATEGORIES",
    "Found",
    "PatternCategory",
    "TooManyNumbers",
    "canonical",
    "find_pii",
    "mask",
]

PatternCategory: TypeAlias = Literal["secret", "email", "iban", "credit_card", "ip_address", "national_id", "phone"]
PATTERN_CATEGORIES: Final[tuple[PatternCategory, ...]] = get_args(PatternCategory)
"""What is looked for; where two overlap, the first of them counts."""

MOST_FOUND: Final = 1_000
"""How many pieces are looked for: who finds so many needs no more."""

# Two seconds or so.
_MOST_CANDIDATES: Final = 10_000


class Found(NamedTuple):
    """Something personal in a text."""

    category: str
    value: str
    start: int
    end: int

    @property
    def masked(self) -> str:
        """What may be shown of it."""
        return mask(self.category, self.value)


class TooManyNumbers(ValueError):
    """A text has more numbers in it than can be looked at in bounded time; the message says how many."""


# --- spelling ----------------------------------------------------------------------------


class _ToAscii(dict[int, str]):
    """Characters that stand for one of ASCII (full width, digits of other scripts), worked out when they are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = str(unicodedata.decimal(char)) if char.isdecimal() else unicodedata.normalize("NFKC", char)
        if char in "\u2010\u2011\u2012\u2013\u2212":
            plain = "-"
        self[code] = plain if len(plain) == 1 and plain.isascii() else char
        return self[code]


_TO_ASCII: Final = _ToAscii()
# Characters without a width, which break a number for a pattern and not for a reader.
# Those, and characters that HTML spells by their number or, as it does with an @, by a name.
_RESPELT: Final = re.compile(
    rf"{INVISIBLE.pattern}|&(?:#(?:([0-9]{{1,7}})(?![0-9]);?|[xX]([0-9A-Fa-f]{{1,6}});)|(commat|period|nbsp|shy);)"
)
_NAMED: Final = {"commat": "@", "period": ".", "nbsp": " ", "shy": ""}


class _Plain(NamedTuple):
    """A text as it is searched, and where its characters stood before."""

    text: str
    starts: Sequence[int]
    shifts: Sequence[int]
    longer: Mapping[int, int]
    """Characters of the plain text that more than one stood for, and how many more."""

    def place(self, at: int) -> int:
        """Where the character at a place of the plain text stood."""
        return at + self.shifts[bisect.bisect_right(self.starts, at) - 1]

    def end(self, at: int) -> int:
        """Where what ends at a place of the plain text ended."""
        return self.place(at - 1) + 1 + self.longer.get(at - 1, 0)


def _plain(text: str) -> _Plain:
    if text.isascii():
        if "&" not in text:
            return _Plain(text, (0,), (0,), {})
        translated = text
    else:
        translated = text.translate(_TO_ASCII)
    starts, shifts, removed, last = [0], [0], 0, 0
    longer: dict[int, int] = {}
    parts: list[str] = []
    for match in _RESPELT.finditer(translated):
        char = _respelt(match)
        start = match.start() - removed + len(char)
        parts += (translated[last : match.start()], char)
        last = match.end()
        gone = len(match[0]) - len(char)
        removed += gone
        if char and gone:
            longer[start - 1] = gone
        if starts[-1] == start:
            shifts[-1] = removed
        else:
            starts.append(start)
            shifts.append(removed)
    return _Plain("".join((*parts, translated[last:])), starts, shifts, longer)


def _respelt(match: re.Match[str]) -> str:
    """The character that HTML spells so; nothing for one without a width."""
    decimal, hexadecimal, name = match.groups()
    if name:
        return _NAMED[name]
    if not decimal and not hexadecimal:
        return ""
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return INVISIBLE.sub("", chr(code).translate(_TO_ASCII)) if code <= sys.maxunicode else "&"


def canonical(value: str) -> str:
    """A value in the spelling in which it is compared with what is allowed: without case, and numbers without gaps."""
    plain = _plain(value).text.strip().casefold()
    return plain if "@" in plain else re.sub(r"[\s().\-/\u2014]", "", plain)


# --- patterns ----------------------------------------------------------------------------

_SECRET: Final = re.compile(
    r"(?<![^\W_])(?:"
    # Within a longer name ("flag-sk-..."), words alone are no key.
    r"sk-(?:(?<!\w[_-]sk-)|(?=[\w-]{0,40}[0-9])|(?=[A-Za-z0-9]{20}))[\w-]{20,250}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}(?![^\W_])|gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}"
    r"|glpat-[\w-]{20,64}|xox[abeprs]-[A-Za-z0-9-]{10,250}|AIza[\w-]{35}(?!\w)|hf_[A-Za-z0-9]{30,64}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}|SG\.[\w-]{16,32}\.[\w-]{32,64}|npm_[A-Za-z0-9]{36}|pypi-AgEI[\w-]{50,250}"
    r"|-----BEGIN (?:[A-Z]{1,10} ){0,3}PRIVATE KEY-----)"
)
# It is so long that it is not looked for at each "_" and "-", but once a word, behind a name at most.
_JWT: Final = re.compile(r"(?<![\w-])(?:[\w-]{0,64}?[_-])?(eyJ[\w-]{8,4000}+\.eyJ[\w-]{8,4000}+\.[\w-]{8,1000})")
_EMAIL: Final = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}+\.){1,8}[^\W\d_]{2,24}")
_GAP: Final = r"[ \t\r\n./\u2014-]"
_IBAN: Final = re.compile(rf"(?<![^\W_])[A-Za-z]{{2}}[0-9]{{2}}(?:{_GAP}{{0,2}}[A-Za-z0-9]){{11,30}}")
# Behind it, ".5" and ".50" are a fraction; ".2027", ".12/27" and ".123" are not.
_CARD: Final = re.compile(
    rf"(?<!\d)(?<!\d\.)(?:[0-9]{{4}}({_GAP}{{0,3}})[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{1,7}}"
    rf"|3[0-9]{{3}}({_GAP}{{0,3}})[0-9]{{6}}\2[0-9]{{4,5}})"
    r"(?!\d|-\d|\.(?:\d{5}|\d{1,2}(?![\d/]|\.\d)))"
)
_IPV4: Final = re.compile(r"(?<!\w)(?<!\d\.)(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?!\w|\.\d)")
_IPV6: Final = re.compile(r"(?<![\w:])(?<!\d\.)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_VERSION: Final = re.compile(r"(?:\b(?:v|ver|version|release)\.?\s*|\.so\.)$", re.IGNORECASE)
_SSN: Final = re.compile(r"(?<!\w)(?<!\d\.)(?<!\w-)[0-9]{3}-[0-9]{2}-[0-9]{4}(?!\w|-\d)")
_PHONE: Final = re.compile(r"(?<!\w)(?<!\d\.)(?:\+|\b00|\()?[0-9](?:[ ./()-]{0,3}[0-9]){5,17}(?!\w)")


def find_pii(text: str, categories: Sequence[PatternCategory], countries: Sequence[str] = ()) -> list[Found]:
    """What of `categories` is in a text, in the order of its places: 1,000 pieces at most.

    Parameters
    ----------
    countries
        Codes of countries (ISO 3166) whose phone numbers are looked for without a ``+`` too, and whose national
        numbers are, even when other numbers are easily taken for them.

    Raises
    ------
    MissingExtraError
        When `countries` are given and the extra ``pii`` is not installed.
    TooManyNumbers
        When the text has more numbers than can be looked at.

    Examples
    --------
    >>> [(it.category, it.masked, it.start, it.end) for it in find_pii("Mail jane@example.org.", ["email"])]
    [('email', 'j***@e***.org', 5, 21)]
    """
    plain = _plain(text)
    found: list[Found] = []
    taken: list[tuple[int, int]] = []
    try:
        for category in PATTERN_CATEGORIES:
            if category not in categories:
                continue
            for start, end in _spans(category, plain.text, countries):
                place = bisect.bisect(taken, (start, end))
                before, after = taken[max(place - 1, 0) : place], taken[place : place + 1]
                if all(last <= start for _, last in before) and all(end <= first for first, _ in after):
                    taken.insert(place, (start, end))
                    found.append(Found(category, plain.text[start:end], plain.place(start), plain.end(end)))
                    if len(found) == MOST_FOUND:
                        raise _Enough
    except _Enough:
        pass
    except TooManyNumbers:
        if not found:  # else what was found decides
            raise
    return sorted(found, key=lambda one: one.start)


class _Enough(Exception):
    """So much was found that the rest does not matter."""


def _spans(category: PatternCategory, text: str, countries: Sequence[str]) -> Iterator[tuple[int, int]]:
    if category == "secret":
        yield from (match.span() for match in _SECRET.finditer(text))
        yield from (match.span(1) for match in _JWT.finditer(text)) if ".eyJ" in text else ()
    elif category == "email":
        yield from (match.span() for match in _EMAIL.finditer(text)) if "@" in text else ()
    elif category == "iban":
        yield from _ibans(text)
    elif category == "credit_card":
        yield from _cards(text)
    elif category == "ip_address":
        yield from _addresses(text)
    elif category == "national_id":
        yield from _national_ids(text, countries)
    else:
        yield from _phones(text, countries)


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while match := _IBAN.search(text, at):
        start = match.start()
        length = iban_end(match[0])
        at = start + (length or 4)  # the pattern goes on into what follows
        if length is not None and not text[at : at + 1].isalnum():
            yield start, at


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for match in _CARD.finditer(text):
        start, end = match.span()
        gap = match[1] or match[2] or ""
        if gap.isspace() and gap != " ":  # four of a column of years or prices are no card
            before = text[max(0, start - len(gap) - 4) : start]
            after = text[end : end + len(gap) + 5]
            if re.fullmatch(rf"[0-9]{{4}}{gap}", before) or re.match(rf"{gap}[0-9]{{4}}(?![0-9])", after):
                continue
        if is_card(re.sub(r"\D", "", match[0])):
            yield start, end


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    """Addresses of the public internet: others are the same in every house."""
    for pattern in (_IPV4, _IPV6):
        for match in pattern.finditer(text):
            try:
                address = ipaddress.ip_address(match[0])
            except ValueError:
                continue
            if address.is_global and not _VERSION.search(text, max(0, match.start() - 12), match.start()):
                yield match.span()


def _national_ids(text: str, countries: Sequence[str]) -> Iterator[tuple[int, int]]:
    if not countries and not _is_installed("stdnum"):
        yield from (match.span() for match in _SSN.finditer(text) if us_ssn(match[0].replace("-", "")))
        return
    left = _Left()
    for number in national_numbers(countries):
        for match in number.pattern.finditer(text):
            left.spend(1)
            if is_national_number(number, match[0]):
                yield match.span()


def _phones(text: str, countries: Sequence[str]) -> Iterator[tuple[int, int]]:
    with_library = countries or _is_installed("phonenumbers")
    left = _Left()
    for match in _PHONE.finditer(text):
        start, end = match.span()
        if text[start] == "(" and ")" not in match[0]:  # around the number, not within it
            start += 1
        number = text[start:end]
        if number.startswith("00"):
            number = f"+{number[2:]}"
        international = number.startswith("+")
        if not international and not countries:
            continue
        left.spend(1 if international else len(countries))
        digits = re.sub(r"\D", "", number)
        # Without the library: E.164 has up to 15 digits, and no country's code begins with 0.
        valid = is_phone(number, countries) if with_library else 8 <= len(digits) <= 15 and digits[0] != "0"
        if valid:
            yield start, end


@cache
def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


class _Left:
    """How many candidates may still be looked at."""

    def __init__(self) -> None:
        self.candidates = _MOST_CANDIDATES

    def spend(self, candidates: int) -> None:
        self.candidates -= candidates
        if self.candidates < 0:
            raise TooManyNumbers(f"the text has more than {_MOST_CANDIDATES:,} numbers to look at")


# --- masks -------------------------------------------------------------------------------


def mask(category: str, value: str) -> str:
    """What may be shown of a value: enough to find it in the text, too little to use it.

    Examples
    --------
    >>> mask("email", "jane.doe@mail.example.org"), mask("credit_card", "4111 1111 1111 1111")
    ('j***@m***.org', '***1111')
    """
    if category == "email":
        name, _, domain = value.rpartition("@")
        return f"{name[: len(name) > 2]}***@{domain[: domain.index('.') > 2]}***.{domain.rpartition('.')[2]}"
    if category == "credit_card":
        return f"***{re.sub(r'[^0-9]', '', value)[-4:]}"
    if category == "ip_address":
        return f"{re.split('[.:]', value)[0]}***"
    if category == "iban":
        return f"{value[:2]}***{canonical(value)[-2:].upper()}"
    if category == "phone":
        return f"{value[:3] if value.startswith('+') else ''}***{value[-2:]}"
    if category == "secret":
        return f"{value[:4]}***"
    return f"{value[:1]}***"
