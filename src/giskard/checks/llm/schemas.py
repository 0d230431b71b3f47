"""The form of an answer, as a JSON schema that a model is shown."""

from __future__ import annotations

import functools
import json
from typing import Any, cast

from pydantic import BaseModel

__all__ = ["schema_of", "schema_text"]

# Under these keys stand values, and not schemas.
_VALUES = frozenset({"const", "default", "enum", "examples"})
# Under these, schemas by a name that somebody has given.
_BY_NAME = frozenset({"$defs", "patternProperties", "properties"})


@functools.lru_cache(maxsize=256)
def schema_of(output_type: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a pydantic class, without titles and without the docstrings of classes.

    Those are for people.  What a model is to know of a field stands in its ``Field(description=…)``.  The schema is
    the same object each time: it is not to be changed.
    """
    schema = _bare(output_type.model_json_schema())
    for part in (schema, *cast("dict[str, Any]", schema.get("$defs", {})).values()):
        if isinstance(part, dict):
            cast("dict[str, Any]", part).pop("description", None)
    return schema


@functools.lru_cache(maxsize=256)
def schema_text(output_type: type[BaseModel]) -> str:
    """`schema_of` on one line."""
    return json.dumps(schema_of(output_type), ensure_ascii=False)


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    bare: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key in _BY_NAME:
            bare[key] = {name: _bare(part) for name, part in value.items()}
        elif key != "title":
            bare[key] = value if key in _VALUES else _bare(value)
    return bare
