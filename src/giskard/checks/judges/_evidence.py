"""What a judge is shown, and the ERROR when something of it is missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, cast

from giskard.checks.core.check import NoVerdict, lookup

__all__ = ["evidence", "is_blank"]


def evidence(trace: Any, what: str, literal: Any, key: str, field: str) -> Any:
    """The literal value when it is given, else what stands at `key`.

    Parameters
    ----------
    what
        What the value is to the judge: question, answer, context, …
    field
        The name of the check's field that holds `key`.

    Raises
    ------
    NoVerdict
        When there is nothing that could be judged.
    """
    value = lookup(trace, key, field) if literal is None else literal
    try:
        blank = is_blank(value)
    except Exception:  # nested without end, or an object that answers every question with an error: not nothing
        blank = False
    if blank:
        where = f"at {key!r} ({field})" if literal is None else f"given as {what}="
        raise NoVerdict(
            f"no {what}: what is {where} is empty: {value!r:.200}",
            kind="missing_value",
            details={what: value} if literal is not None else {field: key, what: value},
        )
    return value


def is_blank(value: Any) -> bool:
    """Whether there is nothing to read: None, white space, or a collection of nothing else.

    Examples
    --------
    >>> is_blank(["", " "]), is_blank({}), is_blank(0)
    (True, True, False)
    """
    if value is None:
        return True
    if isinstance(value, (str, bytes)):
        return not value.strip()
    if isinstance(value, Mapping):
        return not value
    if isinstance(value, Collection):
        return all(is_blank(item) for item in cast("Collection[Any]", value))
    return False
