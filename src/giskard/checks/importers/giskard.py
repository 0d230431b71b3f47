"""Our own formats: what `save_traces` writes, a trace as JSON, and the results that ``to_json_lines`` writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.models import SCHEMA_VERSION
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["GiskardFormat"]

# What of the line of an attempt is known of the conversation as a whole.
_OF_ATTEMPT = ("suite_name", "scenario_name", "scenario_id", "run_id", "tags", "trial", "status", "conversation_id")


class GiskardFormat(RecordFormat):
    """Traces as `save_traces` writes them, and those in the results that ``to_json_lines`` writes."""

    name = "giskard"

    def detect(self, value: Any) -> bool:
        """Whether it has our turns: ``interactions`` of ``inputs`` and ``outputs``, or a ``final_trace`` of them."""
        if not isinstance(value, dict):
            return False
        record = cast("dict[str, Any]", value)
        if "final_trace" in record:
            return "scenario_name" in record and "steps" in record
        turns = record.get("interactions")
        if not isinstance(turns, list):
            return False
        if not turns:
            return record.keys() <= {"schema_version", "interactions", "annotations", "last"}
        first = cast("list[Any]", turns)[0]
        return isinstance(first, dict) and "inputs" in first and first.keys() <= {"inputs", "outputs", "metadata"}

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """The trace that was saved; its ``source`` is what it was when it was saved."""
        if not isinstance(value, dict):
            raise BadRecord("an object was expected")
        record = cast("dict[str, Any]", value)
        _refuse_newer(record.get("schema_version"))
        if "final_trace" not in record:
            return _trace(record)
        trace = record["final_trace"]
        if not isinstance(trace, dict):
            raise BadRecord("this result is of a test case: its trace was not kept")
        made = _trace(cast("dict[str, Any]", trace))
        known = {key: record[key] for key in _OF_ATTEMPT if record.get(key) is not None and record[key] != []}
        return made.with_annotations({**made.annotations, **known, "source": source})


def _refuse_newer(version: Any) -> None:
    if version is None:
        return
    major, ours = str(version).partition(".")[0], SCHEMA_VERSION.partition(".")[0]
    if not major.isdigit():
        raise BadRecord(f"schema_version is {version!r:.100}; expected a text such as {SCHEMA_VERSION!r}")
    if int(major) > int(ours):
        raise BadRecord(
            f"this data has schema_version {version}, and this package reads up to {ours}.x ({SCHEMA_VERSION}): "
            "update giskard-checks to load it"
        )


def _trace(record: dict[str, Any]) -> Trace[Any, Any]:
    turns, annotations = record.get("interactions"), record.get("annotations")
    if not isinstance(turns, list):
        raise BadRecord("interactions is no list of turns")
    if annotations is not None and not isinstance(annotations, dict):
        raise BadRecord("annotations is no object")
    made = [_turn(number, turn) for number, turn in enumerate(cast("list[Any]", turns), 1)]
    if not annotations:
        return Trace(interactions=made)
    return Trace(interactions=made, annotations=cast("dict[str, Any]", annotations))


def _turn(number: int, turn: Any) -> Interaction[Any, Any]:
    if not isinstance(turn, dict) or "inputs" not in turn or "outputs" not in turn:
        raise BadRecord(f"turn {number} has no inputs and outputs")
    fields = cast("dict[str, Any]", turn)
    metadata: Any = fields.get("metadata")
    if not metadata:
        return Interaction(inputs=fields["inputs"], outputs=fields["outputs"])
    if not isinstance(metadata, Mapping):
        raise BadRecord(f"the metadata of turn {number} is no object")
    return Interaction(inputs=fields["inputs"], outputs=fields["outputs"], metadata=cast("dict[str, Any]", metadata))
