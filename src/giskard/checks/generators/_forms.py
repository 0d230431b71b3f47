"""What a model is to answer, by what the target takes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    NotRequired,
    Optional,
    Required,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typing_extensions
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, TypeAdapter, create_model

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.generators._speech import without_thoughts

__all__ = ["LLMGeneratorOutput", "adapter_of", "form_of", "name_of", "per_type", "portable", "takes_text"]

T = TypeVar("T")

_REACHED = "Whether the conversation has come to its end because its goal is reached; nothing is sent then."
_MESSAGE = "What is sent next; null when there is nothing more to say."
_ISSUE = "Why what should be said cannot be put into this form; null when it can."


class LLMGeneratorOutput(BaseModel):
    """What a model answers when it is asked for the next input.

    Parameters
    ----------
    goal_reached
        Whether the conversation has come to its end; nothing is sent then.
    message
        The next input.
    schema_issue
        Why no input of the wanted form could be made.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    goal_reached: StrictBool = Field(description=_REACHED)
    message: Any = Field(default=None, description=_MESSAGE)
    schema_issue: str | None = Field(default=None, description=_ISSUE)


class NextMessage(LLMGeneratorOutput):
    """The answer of a model that writes to a target that takes text."""

    answer_format: ClassVar[str] = 'one JSON object: {"goal_reached": true or false, "message": "what is sent next"}'

    message: Annotated[str | None, BeforeValidator(without_thoughts)] = Field(default=None, description=_MESSAGE)


def form_of(input_type: Any) -> type[LLMGeneratorOutput]:
    """The class that the answer is read as when the target takes `input_type`.

    Raises
    ------
    ConfigurationError
        When it is a type that no data can be made of.
    """
    return NextMessage if takes_text(input_type) else _structured(input_type)


def takes_text(input_type: Any) -> bool:
    """Whether a target with this hint takes any text; so does one without a hint."""
    if input_type is None or input_type is str or input_type is Any or input_type is object:
        return True
    if isinstance(input_type, TypeVar):
        return takes_text(input_type.__bound__)
    if get_origin(input_type) in (Union, UnionType):
        return any(takes_text(part) for part in get_args(input_type) if part is not type(None))
    named = getattr(input_type, "__supertype__", None)  # of a NewType
    return named is not None and takes_text(named)


def name_of(input_type: Any) -> str:
    """What a type is called in messages."""
    return input_type.__name__ if isinstance(input_type, type) else str(input_type)


def per_type(make: Callable[[Any], T]) -> Callable[[Any], T]:
    """`make`, which is asked once for each type; each time for those that cannot be hashed.

    Raises
    ------
    ConfigurationError
        When it raises anything: the type is one that no data can be made of.
    """
    cached = functools.lru_cache(maxsize=256)(make)

    @functools.wraps(make)
    def made(input_type: Any) -> T:
        try:
            try:
                hash(input_type)
            except TypeError:
                return make(input_type)
            return cached(input_type)
        except Exception as error:  # pydantic's own kinds, and whatever the hooks of a user's class raise
            raise ConfigurationError(
                f"the target takes {name_of(input_type)}, of which a model cannot be told the form: {error}; let the "
                "hint of its inputs be a pydantic model, a dataclass, a TypedDict, or of plain data"
            ) from error

    return made


@per_type
def _structured(input_type: Any) -> type[LLMGeneratorOutput]:
    message: Any = Annotated[Optional[portable(input_type)], BeforeValidator(without_thoughts)]  # noqa: UP045
    form = create_model(
        "NextInput",
        __base__=LLMGeneratorOutput,
        __module__=__name__,
        message=(message, Field(default=None, description=_MESSAGE)),
    )
    form.model_json_schema()  # what cannot be described is refused now
    return form


@per_type
def adapter_of(input_type: Any) -> TypeAdapter[Any]:
    """What reads data as `input_type`."""
    return TypeAdapter[Any](portable(input_type))


def portable(hint: Any) -> Any:
    """`hint`, in which a ``typing.TypedDict`` is one of typing_extensions: pydantic wants that before Python 3.12."""
    if sys.version_info >= (3, 12):
        return hint
    if is_typeddict(hint) and type(hint).__module__ == "typing":
        hints = get_type_hints(hint, include_extras=True)
        wrap = {True: typing_extensions.Required, False: typing_extensions.NotRequired}
        fields = {
            name: cast("Any", wrap[name in hint.__required_keys__])[portable(_bare(part))]
            for name, part in hints.items()
        }
        return cast("Any", typing_extensions.TypedDict)(hint.__name__, fields)
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (list, dict, set, tuple):
        return cast("Any", origin)[tuple(part if part is ... else portable(part) for part in parts)]
    if origin in (Union, UnionType):
        return Union[tuple(portable(part) for part in parts)]  # noqa: UP007 - of as many as there are
    return hint


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint
