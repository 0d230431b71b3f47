"""What people, models and programs said of a span: scores, annotations, feedback."""

from __future__ import annotations

from typing import Any

from giskard.checks.importers._span_values import as_number, as_object, as_text, first

__all__ = ["label_values"]


def label_values(given: dict[str, Any]) -> dict[str, Any]:
    """One label, by its name; what was said with it, and by whom, stands under names of their own.

    Examples
    --------
    >>> label_values({"name": "correct", "value": 1, "comment": "as in the price list", "source": "ANNOTATION"})
    {'correct': 1, 'correct_comment': 'as in the price list', 'correct_source': 'ANNOTATION'}
    """
    name = as_text(first(given, "name", "key"))
    if name is None:
        return {}
    result = {**as_object(given.get("result")), **{key: value for key, value in given.items() if value is not None}}
    kind = as_text(first(result, "dataType", "data_type"))
    worded = first(result, "stringValue", "string_value", "label")
    value = first(result, "score", "value")
    if kind in ("NUMERIC", "BOOLEAN") and isinstance(value, str):  # as tables in text have numbers
        value = value if (number := as_number(value)) is None else number
    if value is None or (worded is not None and kind in (None, "CATEGORICAL", "TEXT") and "score" not in result):
        value = worded if worded is not None else value
    elif kind == "BOOLEAN" and value in (0, 1):
        value = bool(value)
    if value is None:
        return {}
    found = {name: value}
    if "score" in result and worded is not None:
        found[f"{name}_label"] = worded
    comment = as_text(first(result, "comment", "explanation"))
    source = as_text(first(result, "source", "annotator_kind", "annotatorKind"))
    if comment is not None:
        found[f"{name}_comment"] = comment
    if source is not None:
        found[f"{name}_source"] = source
    return found
