"""Texts in one spelling: Unicode normal forms, white space, letter case.

Two texts that look the same to a reader can differ in their characters: an accented letter is one
character or two, a blank is one of twenty.  These functions bring them to one spelling before
they are compared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

from giskard.checks.utils.plain import is_mock_call, is_named_tuple

__all__ = ["NormalizationForm", "fold_string", "normalize_data", "normalize_string"]

NormalizationForm: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
"""The four normal forms of Unicode (UAX #15)."""

# Shorter texts cost less to normalise than to look up.
_LONG = 512
# Many checks look at the same long text, one after the other: a few entries are enough.
_REMEMBERED = 16


def normalize_string(text: str, form: NormalizationForm | None = "NFKC") -> str:
    r"""`text` in a Unicode normal form, its white space collapsed and trimmed.

    Parameters
    ----------
    text
        Any text.
    form
        The normal form; None leaves the text as it is, white space too.

    Returns
    -------
    str
        Texts that differ only in spelling come out equal.  A second call changes nothing more.

    Examples
    --------
    >>> normalize_string("  the\u00a0price:\n 10\u2009\u20ac ")
    'the price: 10 €'
    >>> normalize_string("cafe\u0301") == normalize_string("caf\u00e9")
    True
    >>> normalize_string(" as it is ", form=None)
    ' as it is '
    """
    if form is None:
        return text
    if len(text) < _LONG:
        return _normalize(text, form)
    return _normalize_long(text, form)


def fold_string(text: str, form: NormalizationForm | None = "NFKC") -> str:
    """`text` as `normalize_string` gives it, without differences of letter case.

    Full case folding is used, so that one letter may become two (``ß`` and ``SS`` are both ``ss``).  It is
    surrounded by normalisation as Unicode's canonical (for NFC and NFD) and compatibility (for NFKC and
    NFKD) caseless matching demand: The Unicode Standard, section 3.13, definitions D145 and D146.

    Parameters
    ----------
    text
        Any text.
    form
        The normal form that the folded text is brought to; None folds the letters and does nothing else.

    Returns
    -------
    str
        Two texts match without regard to case when what this function gives for them is equal.

    Examples
    --------
    >>> fold_string("HAUPTSTRASSE 7") == fold_string("Hauptstraße 7")
    True
    """
    if len(text) < _LONG:
        return _fold(text, form)
    return _fold_long(text, form)


def normalize_data(value: Any, form: NormalizationForm | None = "NFKC") -> Any:
    """`value` with every text in it normalised, however deep it lies.

    Parameters
    ----------
    value
        Any object.  The values of dicts and the items of lists, tuples and sets are normalised; keys are
        names and stay as they are, and so does every other object (a model, a number, an array).
    form
        See `normalize_string`; None returns `value` itself.

    Returns
    -------
    Any
        A new dict, list, tuple or set where there was one; the value given is not changed.  Cycles are kept.

    Raises
    ------
    RecursionError
        When the data is nested deeper than Python's own limit.

    Examples
    --------
    >>> normalize_data({"name ": [" Ada  Lovelace ", 36]})
    {'name ': ['Ada Lovelace', 36]}
    """
    if form is None:
        return value
    if isinstance(value, str):
        return normalize_string(value, form)
    return _normalize_data(value, form, {})


def _normalize(text: str, form: NormalizationForm) -> str:
    # Each normal form leaves ASCII as it is.
    if not text.isascii():
        text = unicodedata.normalize(form, text)
    return " ".join(text.split())


def _fold(text: str, form: NormalizationForm | None) -> str:
    if text.isascii():
        folded = text.lower()
    elif form is None:
        folded = text.casefold()
    else:
        folded = unicodedata.normalize("NFD", text).casefold()
        if form in ("NFKC", "NFKD"):
            folded = unicodedata.normalize("NFKD", folded).casefold()
    return folded if form is None else _normalize(folded, form)


# The C implementation of lru_cache may be used from many threads at once.
_normalize_long = lru_cache(maxsize=_REMEMBERED)(_normalize)
_fold_long = lru_cache(maxsize=_REMEMBERED)(_fold)


def _normalize_data(value: Any, form: NormalizationForm, done: dict[int, Any]) -> Any:
    if isinstance(value, str):
        return normalize_string(value, form)
    if is_mock_call(cast("type[Any]", value.__class__)) or not isinstance(value, (Mapping, list, tuple, Set)):
        return value
    known = done.get(id(cast("object", value)))
    if known is not None:
        return known
    if isinstance(value, Mapping):
        mapping = cast("Mapping[Any, Any]", value)
        out: dict[Any, Any] = {}
        done[id(mapping)] = out
        out.update((key, _normalize_data(item, form, done)) for key, item in mapping.items())
        return out
    if isinstance(value, list):
        items = cast("list[Any]", value)
        new: list[Any] = []
        done[id(items)] = new
        new.extend(_normalize_data(item, form, done) for item in items)
        return new
    if isinstance(value, tuple):
        row = cast("tuple[Any, ...]", value)
        parts = [_normalize_data(item, form, done) for item in row]
        # A named tuple stays one.
        return cast("Any", row)._make(parts) if is_named_tuple(type(row)) else tuple(parts)
    members = {_normalize_data(item, form, done) for item in cast("Set[Any]", value)}
    return frozenset(members) if isinstance(value, frozenset) else members
