"""How one answer is to be made."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel

__all__ = ["Options"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a generator and a call of it say together; requests with the same options are written alike.

    Parameters
    ----------
    temperature, max_tokens, seed, top_p
        None is left to the model.
    response_format
        The class that the answer is to fit.
    extra
        What else stands in the body of the request: JSON text, empty for nothing.
    """

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    top_p: float | None = None
    response_format: type[BaseModel] | None = None
    extra: str = ""
