"""Untrusted text in a prompt: fenced, so that a model can tell it from what it is told to do.

A fence is a pair of tags around the text, and the text between them is left as it is.  The tags are made from a hash
of all the untrusted texts of one prompt: a text would have to hold its own hash to close a fence early, and the same
texts always give the same prompt, so that recorded answers are found again.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from typing import Any, cast

from giskard.checks.llm import recording
from giskard.checks.llm._secrets import without_secrets
from giskard.checks.utils.text import plain_text

__all__ = ["FenceError", "Fences", "readable"]

_DIGITS = 16
# Of any prompt: an expression of its own for each would be compiled each time.
_MARK = re.compile(r"([0-9a-f]{32})-(\d+)-")


class FenceError(ValueError):
    """A text that was fenced is not where it should be."""


class Fences:
    """The untrusted texts of one prompt.

    While the prompt is put together, `fence` gives a mark for each text; `close` then puts the texts in their places,
    each between tags of its own.

    Examples
    --------
    >>> fences = Fences()
    >>> print(fences.close(f"Is this polite? {fences.fence('Go away.')}"))
    Is this polite? <data-1-3148abec0b0929d2>
    Go away.
    </data-1-3148abec0b0929d2>
    """

    __slots__ = ("_mark", "_texts")

    def __init__(self) -> None:
        # Nothing else that is written into the prompt can hold it.
        self._mark = uuid.uuid4().hex
        self._texts: list[str] = []

    def fence(self, value: Any) -> str:
        """The mark of what is fenced: `value` when it is a text, else its JSON."""
        text = readable(value)
        if self._mark not in text:
            return self._kept(text)
        # Parts of it are fenced already, and what stands between them is not.
        parts = re.split(rf"({self._mark}-\d+-)", text)
        return "".join(
            self._kept(part) if number % 2 == 0 and part.strip() else part for number, part in enumerate(parts)
        )

    def _kept(self, text: str) -> str:
        self._texts.append(text)
        return f"{self._mark}-{len(self._texts)}-"

    def close(self, prompt: str) -> str:
        """`prompt` with every mark replaced by the text that it stands for.

        Raises
        ------
        FenceError
            When a mark is not there any more: something that was to be shown would be missing.
        """
        code = self._code(prompt)
        placed = set[int]()

        def place(match: re.Match[str]) -> str:
            if match[1] != self._mark:
                return match[0]
            number = int(match[2])
            placed.add(number)
            name = f"data-{number}-{code}"
            return f"<{name}>\n{self._texts[number - 1]}\n</{name}>"

        closed = _MARK.sub(place, prompt)
        if len(placed) < len(self._texts):
            missing = next(text for number, text in enumerate(self._texts, 1) if number not in placed)
            raise FenceError(
                f"a text that the prompt should show was changed, or left out, after it was fenced: {missing!r:.80}; "
                "put filters before `fence`, and no text into {% filter %} or into a block that is not printed"
            )
        return closed

    def _code(self, prompt: str) -> str:
        digest = hashlib.sha256()
        for text in self._texts:
            # A recording is found again with another secret in the place of the one that is kept out of it.
            known = cast("str", without_secrets(text)[0]) if recording.active() else text
            digest.update(f"{len(known)}:{known}".encode())
        # A text that holds its own hash cannot be found by trying; if there is one all the same, another code is taken.
        while (code := digest.hexdigest()[:_DIGITS]) in prompt or any(code in text for text in self._texts):
            digest.update(b"+")
        return code


def readable(value: Any) -> str:
    """`value` as a model is shown it: a text unchanged, all else as JSON; halves of surrogate pairs are replaced.

    Examples
    --------
    >>> readable({"fee": 3.0, "café": None})
    '{"fee": 3.0, "café": null}'
    """
    text = plain_text(value)
    # They cannot be sent: UTF-8 has no form for them.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
