"""Models whose classes are built when they are first needed (``defer_build``), inside of other models."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

__all__ = ["completed"]

ModelT = TypeVar("ModelT", bound=BaseModel)


def completed(model: ModelT) -> ModelT:
    """`model`, whose class is built from now on.

    A class is built by whoever validates or dumps an instance of it.  pydantic before 2.14 does not do so for an
    instance that was made without validation (a recorded turn, an unpickled check) and is dumped as a part of
    something of the type Any: whoever hands such a part to pydantic completes it first.
    """
    cls = type(model)
    if not cls.__pydantic_complete__:
        cls.model_rebuild()
    return model
