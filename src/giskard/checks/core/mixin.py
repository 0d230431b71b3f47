"""Models as parts of checks and input generators: how they are given, kept, saved and loaded.

What a part does, and which one is taken when none is given, is decided on higher floors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self, TypeAlias, cast

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    StrictInt,
    model_serializer,
    model_validator,
)

from giskard.checks.core import late
from giskard.checks.core.discriminated import Discriminated
from giskard.checks.core.models import StrictModel

__all__ = [
    "BaseEmbeddingModel",
    "BaseGenerator",
    "BaseJudge",
    "WithEmbeddingMixin",
    "WithGeneratorMixin",
    "WithJudgeMixin",
    "as_embedding_model",
    "as_generator",
    "as_judge",
]


class _Part(Discriminated):
    @classmethod
    def has_kind(cls, kind: object) -> bool:
        """Whether data of this kind is of this family."""
        return isinstance(kind, str) and (kind in cls._kinds or kind in late.kinds(cls._family))


class BaseGenerator(_Part, family="generator"):
    """The root of the generators that can be saved: subclass it, implement `complete`, register a kind.

    Any other object with such a method is a generator too; it is kept as it is and cannot be saved.
    """

    async def complete(
        self, messages: Sequence[Any], params: Any = None, metadata: Mapping[str, Any] | None = None
    ) -> Any:
        """The model's completion of `messages`; see `giskard.checks.llm`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement complete(messages, params, metadata)")


class BaseJudge(_Part, family="judge"):
    """The root of the judges that can be saved: what is asked for the verdicts of checks.

    It is asked like a generator, with the verdict's class as ``params.response_format``.
    """

    async def complete(
        self, messages: Sequence[Any], params: Any = None, metadata: Mapping[str, Any] | None = None
    ) -> Any:
        """The judge's completion of `messages`; see `giskard.checks.llm`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement complete(messages, params, metadata)")


class BaseEmbeddingModel(_Part, family="embedding model"):
    """The root of the embedding models that can be saved: subclass it, implement `embed`, register a kind.

    Any other object with such a method is an embedding model too; it is kept as it is and cannot be saved.
    """

    async def embed(self, texts: Sequence[str], metadata: Mapping[str, Any] | None = None) -> Any:
        """The vectors of `texts`; see `giskard.checks.llm`."""
        raise NotImplementedError(f"{type(self).__name__} does not implement embed(texts, metadata)")


def as_generator(value: Any) -> Any:
    """A generator as it was given: an object with ``complete``, a model's name, or saved data.

    Raises
    ------
    ValueError
        When it is none of these.
    """
    return _as_part(value, "generator", "complete", (BaseGenerator,))


def as_judge(value: Any) -> Any:
    """A judge as it was given: a judge, a generator, a model's name, or saved data.

    Raises
    ------
    ValueError
        When it is none of these.
    """
    return _as_part(value, "judge", "complete", (BaseJudge, BaseGenerator))


def as_embedding_model(value: Any) -> Any:
    """An embedding model as it was given: an object with ``embed``, a model's name, or saved data.

    Raises
    ------
    ValueError
        When it is none of these.
    """
    return _as_part(value, "embedding model", "embed", (BaseEmbeddingModel,))


def _as_part(value: Any, what: str, method: str, families: tuple[type[_Part], ...]) -> Any:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, dict):
        data = cast("dict[str, Any]", value)
        kind = data.get("kind")
        family = next((family for family in families if family.has_kind(kind)), families[0])
        return family.model_validate(data)
    if not isinstance(value, type) and callable(getattr(value, method, None)):
        return value
    hint = f"; make one: {value.__name__}(...)" if isinstance(value, type) else ""
    raise ValueError(
        f"this {what} is {value!r:.200}, expected an object with `async {method}(...)` or the name of a model, such as "
        f"'openai/gpt-4o-mini'{hint}"
    )


GivenGenerator: TypeAlias = Annotated[Any, AfterValidator(lambda value: None if value is None else as_generator(value))]
GivenJudge: TypeAlias = Annotated[Any, AfterValidator(lambda value: None if value is None else as_judge(value))]
GivenEmbeddingModel: TypeAlias = Annotated[
    Any, AfterValidator(lambda value: None if value is None else as_embedding_model(value))
]


class _WithParts(StrictModel):
    """Keeps parts as the objects they are, and says when one of them cannot be saved."""

    # What is not understood of a part may be a key in the wrong place.
    model_config = ConfigDict(hide_input_in_errors=True)

    @model_serializer(mode="wrap")
    def _dump(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        if info.mode == "json":
            for name in _PARTS:
                part = self.__dict__.get(name)
                for one in cast("list[Any]", part) if isinstance(part, list) else [part]:
                    _check_can_be_saved(name, one)
        return super()._dump(handler, info)


_PARTS = ("judge", "judges", "generator", "embedding_model")


def _check_can_be_saved(name: str, part: Any) -> None:
    if part is not None and not isinstance(part, (str, Discriminated)):
        root = "BaseEmbeddingModel" if name == "embedding_model" else "BaseGenerator"
        raise ValueError(
            f"{name}={part!r:.200} cannot be saved: give the name of a model, make its class a registered subclass of "
            f"giskard.checks.core.mixin.{root}, or leave it out and set a default"
        )


class WithGeneratorMixin(_WithParts):
    """Something that asks a model; put it before the other bases of a class.

    Parameters
    ----------
    generator
        The model: an object with ``async complete(messages, params, metadata)``, or a model's name.  Left out, the
        default generator is taken when it runs.
    """

    generator: GivenGenerator = None


class WithJudgeMixin(WithGeneratorMixin):
    """Something that asks a judge; put it before the other bases of a class.

    Parameters
    ----------
    judge
        The judge: a judge, a generator, or a model's name.  Left out, the default judge is taken when it runs.
    generator
        The older spelling of `judge`; at most one of the two is given.
    judges
        Several judges, in the place of one.
    votes
        How often each judge is asked; the majority of all the answers decides.
    """

    judge: GivenJudge = None
    judges: Annotated[list[GivenJudge], Field(min_length=1)] | None = None
    votes: Annotated[StrictInt, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _one_judge(self) -> Self:
        if self.judge is not None and self.generator is not None:
            raise ValueError("judge and its older spelling generator are both given; give one of them")
        if self.judges is not None:
            if self.judge is not None or self.generator is not None:
                raise ValueError("judges and a single judge are both given; put it into judges")
            if None in self.judges:
                raise ValueError("a judge of judges is None; expected judges, generators or names of models")
        return self


class WithEmbeddingMixin(_WithParts):
    """Something that asks an embedding model; put it before the other bases of a class.

    Parameters
    ----------
    embedding_model
        The model: an object with ``async embed(texts, metadata)``, or a model's name.  Left out, the default one
        is taken when it runs.
    """

    embedding_model: GivenEmbeddingModel = None
