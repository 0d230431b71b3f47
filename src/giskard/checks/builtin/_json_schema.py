"""JSON Schema: compiled once per schema, without a network.

A schema is Draft 2020-12 unless its ``$schema`` names another draft.  Nothing that it refers to is ever fetched,
neither over HTTP nor from a file: references lead into the schema itself or to the published meta-schemas.
"""

from __future__ import annotations

import marshal
import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, cast

from giskard.checks.builtin._json import (
    MAX_DEPTH,
    JsonTooDeep,
    find_not_json,
    parse_exactly,
    to_builtin,
    without_surrogates,
)
from giskard.checks.builtin._shown import json_path

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["BadSchema", "CompiledSchema", "Schema", "Undecidable", "compile_schema", "prepared"]

Schema: TypeAlias = dict[str, Any] | bool

_CACHED: Final = 512
_LONGEST_MESSAGE: Final = 500


class BadSchema(ValueError):
    """Something is not a JSON Schema; the message says what is wrong and where."""


class Undecidable(ValueError):
    """Whether a value meets a schema cannot be told: a reference leads nowhere, a pattern does not end."""


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A schema that is ready to be used; get one from `compile_schema`.

    Parameters
    ----------
    schema
        A copy of the schema, shared by all that were compiled from an equal one: do not change it.
    check_formats
        Whether ``format`` is asserted.
    unresolved
        What a reference of the schema leads to when it cannot be followed, else None.
    """

    schema: Schema
    check_formats: bool
    unresolved: str | None
    _validator: jsonschema_rs.Validator | None

    def accepts(self, value: Any) -> bool:
        """Whether `value`, which `prepared` has made, meets the schema.

        True is certain; when it is False, `problems` says what is wrong, or that nothing can be said.
        """
        try:
            return self._validator is not None and self._validator.is_valid(value)
        except ValueError:
            return False

    def problems(self, value: Any, *, text: str | None = None, limit: int = 5) -> list[str]:
        """What in `value` does not meet the schema: at most `limit` lines, each with its place; empty when all does.

        Parameters
        ----------
        value
            JSON data: what `parse_json` gives, or a value in which `find_not_json` finds nothing.
        text
            The text that `value` was parsed from: numbers beyond the range of float are read from it.
        limit
            After so many lines another one says that there are more.

        Raises
        ------
        Undecidable
            When a reference of the schema cannot be followed, or a pattern takes too long.
        JsonTooDeep
            When the value is nested deeper than `MAX_DEPTH` levels.

        Examples
        --------
        >>> schema = compile_schema({"properties": {"fee": {"type": "integer"}}})
        >>> schema.problems({"fee": 1.0}), schema.problems({"fee": True})
        ([], ['$.fee: true is not of type "integer"'])
        """
        validator = self._validator
        if validator is None:
            raise Undecidable(f"a reference of the schema cannot be followed: {self.unresolved}")
        if text is None:
            _refuse_deep(value)
            value = to_builtin(value)
        elif _holds_infinity(value):
            value = parse_exactly(text)
        try:
            if validator.is_valid(value):
                return []
            errors = list(islice(validator.iter_errors(value), limit + 1))
        except ValueError:  # half of a surrogate pair, or a very long number
            plain = to_builtin(value, without_surrogates)
            if validator.is_valid(plain):
                return []
            try:
                errors = list(islice(validator.iter_errors(plain), limit + 1))
            except ValueError:  # the report of an error quotes the value
                return ["$: the schema is not met; a number in it is too long to be shown"]
        for error in errors:
            if error.kind.name == "pattern" and "error" in error.kind.as_dict():
                raise Undecidable(f"{json_path(error.instance_path)}: a pattern of the schema takes too long on it")
        lines = [_line(error) for error in errors[:limit]]
        return lines if len(errors) <= limit else [*lines, "and more"]


def prepared(value: Any) -> Any:
    """JSON data as `CompiledSchema.accepts` takes it.

    Raises
    ------
    JsonTooDeep
        When it is nested deeper than `MAX_DEPTH` levels.
    """
    _refuse_deep(value)
    return to_builtin(value)


def _line(error: jsonschema_rs.ValidationError) -> str:
    message = error.message
    if len(message) > _LONGEST_MESSAGE:  # it quotes the value
        message = f"{message[: _LONGEST_MESSAGE // 2]} … {message[-_LONGEST_MESSAGE // 2 :]}"
    return f"{json_path(error.instance_path)}: {message}"


_cache: OrderedDict[tuple[bytes, bool], CompiledSchema] = OrderedDict()
# The same ones by the identity of their own copy of the schema.
_by_copy: dict[tuple[int, bool], CompiledSchema] = {}
_lock = Lock()


def compile_schema(schema: Schema, *, check_formats: bool = False) -> CompiledSchema:
    """The compiled form of a schema, which is kept for the next equal one.

    Parameters
    ----------
    schema
        A JSON Schema, or the `schema` of a compiled one.  Later changes of it have no effect.
    check_formats
        Whether ``format`` (date, email, uri …) is asserted; otherwise it is only a note, as the
        standard has it.

    Raises
    ------
    BadSchema
        When it is not a JSON Schema.
    """
    known = _by_copy.get((id(schema), check_formats))
    if known is not None and known.schema is schema:
        return known
    # The content of a caller's dict is the key, not its identity: it may change between two uses.  This is the fastest
    # way to the content; it tells True, 1 and 1.0 apart, and refuses everything but plain data.
    try:
        key = marshal.dumps(schema, 2), check_formats
    except ValueError:
        return _compile(schema, check_formats)
    with _lock:
        known = _cache.get(key)
        if known is not None:
            _cache.move_to_end(key)
            return known
    compiled = _compile(schema, check_formats)
    with _lock:
        _cache[key] = _by_copy[id(compiled.schema), check_formats] = compiled
        while len(_cache) > _CACHED:
            _, oldest = _cache.popitem(last=False)
            _by_copy.pop((id(oldest.schema), oldest.check_formats), None)
    return compiled


def _compile(schema: object, check_formats: bool) -> CompiledSchema:
    if not isinstance(schema, (Mapping, bool)):
        raise BadSchema(f"a JSON Schema is a dict or a bool, not {type(schema).__name__}")
    schema = cast("object", schema)
    found = find_not_json(schema)
    if found is not None:
        raise BadSchema(f"the schema is not JSON: {json_path(found.path)}: {found.reason}")
    try:
        _refuse_deep(schema)
    except JsonTooDeep as error:
        raise BadSchema(f"the schema cannot be used: {error}") from None
    own = cast("Schema", to_builtin(schema))
    library = _schema_library()
    try:
        validator = library.validator_for(own, validate_formats=check_formats, retriever=_never_fetch)
    except library.ValidationError as error:
        if error.kind.name == "$ref":
            return CompiledSchema(own, check_formats, error.message.replace(_NOT_FETCHED, ""), None)
        where = json_path(error.instance_path)
        raise BadSchema(f"this is not a JSON Schema: {where}: {error.message[:_LONGEST_MESSAGE]}") from None
    except ValueError as error:
        raise BadSchema(f"this is not a JSON Schema: {error}") from None
    return CompiledSchema(own, check_formats, None, validator)


_NOT_FETCHED = "ValueError: "


def _never_fetch(uri: str) -> NoReturn:
    raise ValueError(f"{uri!r} is outside of the schema, and nothing is fetched")


def _schema_library() -> Any:
    """The one door to the library: opened by the first schema, never by an import."""
    import jsonschema_rs  # noqa: PLC0415

    return jsonschema_rs


def _children(value: object) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, (list, tuple)) else ()


def _refuse_deep(value: object) -> None:
    """Raise `JsonTooDeep` for data on which the validator would overflow the machine's stack."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for parent in level for item in _children(parent) if isinstance(item, (Mapping, list, tuple))]
        if not level:
            return
    raise JsonTooDeep(f"it is nested deeper than {MAX_DEPTH} levels")


def _holds_infinity(value: Any) -> bool:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        kind = cast("object", type(item))
        if kind is dict or kind is list:
            parts = item.values() if kind is dict else item
            if not _MAY_HOLD.isdisjoint(map(type, parts)):  # most hold none, and this is the fastest way to know
                stack.extend(parts)
        elif kind is float and math.isinf(item):
            return True
    return False


_MAY_HOLD: Final[frozenset[type]] = frozenset({dict, list, float})
