"""How prompts are given: as a text, or as the place of a file."""

from __future__ import annotations

import re

__all__ = ["check_one_prompt", "check_prompt_path"]

_PLACE = re.compile(r"[^:\s][^:]*::[^:]*[^:\s]")


def check_one_prompt(prompt: str | None, prompt_path: str | None) -> None:
    """Check that exactly one of them is given, and that the prompt is not empty.

    Raises
    ------
    ValueError
        When it is not so.
    """
    if (prompt is None) is (prompt_path is None):
        given = "neither" if prompt is None else "both"
        raise ValueError(f"give exactly one of prompt and prompt_path; {given} was given")
    if prompt is not None and not prompt.strip():
        raise ValueError("the prompt is empty: say what the model is asked")


def check_prompt_path(place: str | None) -> str | None:
    """`place`, when it is None or of the form ``"namespace::path"``.

    Raises
    ------
    ValueError
        When it is of another form.
    """
    if place is not None and _PLACE.fullmatch(place) is None:
        raise ValueError(f"prompt_path is {place!r}, expected 'namespace::path', such as 'my_app::judges/polite.txt'")
    return place
