"""Which numbers are somebody's: cards, accounts, phones and national numbers, by their checksums and shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple, cast

from giskard.checks.core.exceptions import MissingExtraError

__all__ = [
    "NationalNumber",
    "iban_end",
    "is_card",
    "is_national_number",
    "is_phone",
    "national_numbers",
    "us_ssn",
]

# The first digits of the issuers, with the lengths of their numbers: ISO/IEC 7812.
_CARD: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3}){0,2}|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-59]|[689][0-9])[0-9]{11,16}|35[0-9]{14,17}|62[0-9]{14,17}"
    r"|6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12,15}"
)


def is_card(digits: str) -> bool:
    """Whether digits are the number of a credit or debit card: an issuer's prefix, and Luhn's checksum.

    Examples
    --------
    >>> is_card("4111111111111111"), is_card("4111111111111112")
    (True, False)
    """
    if _CARD.fullmatch(digits) is None:
        return False
    odd, even = digits[-1::-2], digits[-2::-2]
    return (sum(map(int, odd)) + sum(sum(divmod(2 * int(digit), 10)) for digit in even)) % 10 == 0


# How long an account number is in each country: the registry of IBANs (ISO 13616).
_IBAN_LENGTHS: Final = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FK FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}


_NO_WORD: Final = re.compile("[^0-9A-Za-z]+")
_LETTERS: Final = {ord(letter): str(int(letter, 36)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def iban_end(candidate: str) -> int | None:
    """Where the account number ends that a text starts with, or None: its length, and its checksum modulo 97.

    Examples
    --------
    >>> iban_end("DE89 3704 0044 0532 0130 00 is mine")
    27
    """
    length = _IBAN_LENGTHS.get(candidate[:2].upper())
    if length is None:
        return None
    compact = _NO_WORD.sub("", candidate)[:length].upper()
    # A letter stands for a number of two digits: A is 10.
    number = (compact[4:] + compact[:4]).translate(_LETTERS)
    if len(compact) < length or not "02" <= compact[2:4] <= "98" or int(number) % 97 != 1:
        return None
    return [place for place, char in enumerate(candidate) if char.isalnum()][length - 1] + 1


def us_ssn(digits: str) -> bool:
    """Whether nine digits may be a social security number of the United States: it has no checksum, but rules.

    Examples
    --------
    >>> us_ssn("536904399"), us_ssn("000123456"), us_ssn("900123456")
    (True, False, False)
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


class NationalNumber(NamedTuple):
    """The numbers that a country gives to people."""

    country: str
    module: str
    """Where python-stdnum checks them."""
    pattern: re.Pattern[str]
    distinct: bool
    """Whether other numbers are hardly ever taken for one."""


def _numbers() -> Iterator[NationalNumber]:
    for country, module, distinct, pattern in (
        ("US", "us.ssn", True, r"\d{3}-\d{2}-\d{4}"),
        ("FR", "fr.nir", True, r"[1-478] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[ABab]) ?\d{3} ?\d{3} ?\d{2}"),
        ("ES", "es.dni", True, r"\d{8}-?[A-Za-z]"),
        ("ES", "es.nie", True, r"[XYZxyz]-?\d{7}-?[A-Za-z]"),
        ("IT", "it.codicefiscale", True, r"[A-Za-z]{6}\d{2}[A-Za-z]\d{2}[A-Za-z]\d{3}[A-Za-z]"),
        ("CN", "cn.ric", True, r"\d{17}[\dXx]"),
        ("CH", "ch.ssn", True, r"756\.?\d{4}\.?\d{4}\.?\d{2}"),
        ("BE", "be.nn", True, r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}"),
        ("BR", "br.cpf", True, r"\d{3}\.\d{3}\.\d{3}-\d{2}"),
        ("IN", "in_.pan", True, r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]"),
        ("KR", "kr.rrn", True, r"\d{6}-\d{7}"),
        ("FI", "fi.hetu", True, r"\d{6}[-+A]\d{3}[0-9A-Y]"),
        ("SE", "se.personnummer", True, r"(?:\d{2})?\d{6}[-+]\d{4}"),
        ("NO", "no.fodselsnummer", True, r"\d{6} ?\d{5}"),
        ("MX", "mx.curp", True, r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[0-9A-Z]\d"),
        ("CL", "cl.rut", True, r"\d{1,2}\.\d{3}\.\d{3}-[\dKk]"),
        ("RO", "ro.cnp", True, r"[1-9]\d{12}"),
        ("CZ", "cz.rc", True, r"\d{6}/\d{3,4}"),
        ("TH", "th.pin", True, r"\d-\d{4}-\d{5}-\d{2}-\d"),
        ("MY", "my.nric", True, r"\d{6}-\d{2}-\d{4}"),
        ("IE", "ie.pps", True, r"\d{7}[A-Wa-w][ABWTXZabwtxz]?"),
        ("DE", "de.idnr", False, r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),
        ("GB", "gb.nhs", False, r"\d{3}[ -]?\d{3}[ -]?\d{4}"),
        ("NL", "nl.bsn", False, r"\d{8,9}"),
        ("BE", "be.nn", False, r"\d{11}"),
        ("BR", "br.cpf", False, r"\d{11}"),
        ("US", "us.ssn", False, r"\d{3} ?\d{2} ?\d{4}"),
        ("PL", "pl.pesel", False, r"\d{11}"),
        ("AT", "at.vnr", False, r"\d{4} ?\d{6}"),
        ("CA", "ca.sin", False, r"\d{3}[ -]?\d{3}[ -]?\d{3}"),
        ("AU", "au.tfn", False, r"\d{3} ?\d{3} ?\d{3}"),
        ("IN", "in_.aadhaar", False, r"\d{4} ?\d{4} ?\d{4}"),
        ("DK", "dk.cpr", False, r"\d{6}-?\d{4}"),
        ("SE", "se.personnummer", False, r"\d{10}|\d{12}"),
        ("TR", "tr.tckimlik", False, r"\d{11}"),
        ("ZA", "za.idnr", False, r"\d{13}"),
        ("BG", "bg.egn", False, r"\d{10}"),
        ("HR", "hr.oib", False, r"\d{11}"),
        ("EE", "ee.ik", False, r"\d{11}"),
        ("LT", "lt.asmens", False, r"\d{11}"),
        ("GR", "gr.amka", False, r"\d{11}"),
        ("IL", "il.idnr", False, r"\d{9}"),
        ("PK", "pk.cnic", False, r"\d{5}-?\d{7}-?\d"),
    ):
        # A letter and a "-" behind it may go on as an identifier: 1234567a-bcde-...
        dash = r"-\d|(?<=[A-Za-z])-\w" if distinct else r"-\w"
        bounded = re.compile(rf"\b(?<!\d[.,])(?<!\w-)(?:{pattern})(?!\w|{dash}|[.,]\d)")
        yield NationalNumber(country, module, bounded, distinct)


_NUMBERS: Final = tuple(_numbers())


def national_numbers(countries: Sequence[str]) -> Iterator[NationalNumber]:
    """The numbers of all countries that are distinct, and all of `countries`."""
    return (number for number in _NUMBERS if number.distinct or number.country in countries)


def is_national_number(number: NationalNumber, text: str) -> bool:
    """Whether a text is one of these numbers, by its checksum, its date and whatever else it has.

    Raises
    ------
    MissingExtraError
        When the extra ``pii`` is not installed.
    """
    library = _stdnum(number.module)
    try:
        return bool(library.is_valid(text))
    except Exception:  # it stumbles over some dates and places that there are not
        return False


def is_phone(text: str, countries: Sequence[str]) -> bool:
    """Whether a text is the number of a phone: with a ``+``, or as it is dialled in one of the countries.

    Raises
    ------
    MissingExtraError
        When the extra ``pii`` is not installed.
    """
    library = _phonenumbers()
    regions: list[str | None] = [None] if text.startswith("+") else list(countries)
    return any(library.PhoneNumberMatcher(text, region).has_next() for region in regions)


# --- the libraries: opened by the first number, never by an import ------------------------


def _stdnum(module: str) -> Any:
    try:
        return import_module(f"stdnum.{module}")
    except ImportError:
        raise MissingExtraError("python-stdnum", "pii") from None


def _phonenumbers() -> Any:
    try:
        import phonenumbers  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("phonenumbers", "pii") from None
    return cast("Any", phonenumbers)
