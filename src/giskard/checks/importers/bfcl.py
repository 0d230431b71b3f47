"""The Berkeley function-calling leaderboard: its questions, and the calls that it accepts."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._contents import plain
from giskard.checks.importers._lenient import dicts, known, listed, mapping
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["BFCL", "expected_calls"]

_OWN = {"id", "question", "function", "ground_truth"}


class BFCL(RecordFormat):
    """Questions, turns without an answer, and possible answers, turns of nothing but calls."""

    name = "bfcl"

    def detect(self, value: Any) -> bool:
        """Whether it is a question of turns of messages, or a list of accepted calls."""
        row = mapping(value)
        if not isinstance(row.get("id"), str):
            return False
        if isinstance(row.get("question"), list) and ("function" in row or "involved_classes" in row):
            turns = listed(row["question"])
            return bool(turns) and all(isinstance(turn, list) for turn in turns)
        return row.keys() == {"id", "ground_truth"} and bool(_calls_of(row["ground_truth"]))

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
        """A question as turns that nobody answered yet, or a possible answer as the first calls that it accepts.

        Functions and expected calls are annotations.
        """
        row = mapping(value)
        if "question" not in row and "ground_truth" not in row:
            raise BadRecord("expected 'question' or 'ground_truth'")
        annotations = {key: item for key, item in row.items() if key not in _OWN}
        prompts: list[Any] = []
        turns: list[Interaction[Any, Any]] = []
        for place, messages in enumerate(listed(row.get("question"))):
            spoken = dicts(messages, f"turn {place}")
            prompts += [message.get("content") for message in spoken if message.get("role") == "system"]
            turns.append(_turn(spoken, place))
        expected = expected_calls(row) if "ground_truth" in row else None
        if expected is not None and not turns:
            turns = [_called(turn) for turn in _turns_of(row["ground_truth"])]
        annotations |= known(
            source=source,
            conversation_id=row.get("id"),
            system_prompt=plain(prompts, "\n\n"),
            tools=row.get("function"),
            expected_calls=expected,
        )
        return Trace(interactions=turns, annotations=annotations)


def _turn(messages: list[dict[str, Any]], place: int) -> Interaction[Any, Any]:
    for message in messages:
        if message.get("role") not in ("user", "system"):
            raise BadRecord(f"turn {place}: expected messages of the user, got the role {message.get('role')!r}")
    said = [message.get("content") for message in messages if message["role"] == "user"]
    return Interaction(
        inputs=said[0] if len(said) == 1 else plain(said, "\n\n"),
        outputs=None,
        metadata={"messages": messages, "incomplete": True},
    )


def expected_calls(row: Any, functions: Sequence[Any] = ()) -> list[list[dict[str, Any]]]:
    """The calls that a possible answer accepts, turn by turn.

    Parameters
    ----------
    row
        A row of the possible answers: ``{"id": …, "ground_truth": …}``.
    functions
        Definitions of the functions, which name the arguments that a call in Python's form gives by position.

    Returns
    -------
    list
        For each turn its calls, ``{"name": …, "arguments": …, "match": "schema"}``, as ``ToolCallsMatch`` takes them:
        ``arguments`` is a JSON schema.  An argument whose accepted values include the empty text may be left out.

    Raises
    ------
    BadRecord
        When it holds no calls, or one that is neither an object nor a call in Python's form.
    """
    turns = _turns_of(mapping(row).get("ground_truth"))
    definitions = [mapping(function) for function in [*functions, *listed(mapping(row).get("function"))]]
    parameters = {
        definition.get("name"): list(mapping(mapping(definition.get("parameters")).get("properties")))
        for definition in definitions
    }
    return [[call for item in turn for call in _accepted(item, parameters)] for turn in turns]


def _turns_of(truth: Any) -> list[list[Any]]:
    """The calls of a ground truth, turn by turn."""
    if not isinstance(truth, list):
        raise BadRecord(f"ground_truth: expected a list of calls, got {type(truth).__name__}")
    items = listed(truth)
    return [listed(item) for item in items] if all(isinstance(item, list) for item in items) else [items]


def _calls_of(truth: Any) -> list[Any]:
    """The calls of a ground truth, of all turns."""
    return [
        call
        for item in listed(truth)
        for call in (listed(item) if isinstance(item, list) else [item])
        if isinstance(call, dict) or (isinstance(call, str) and call.endswith(")"))
    ]


def _accepted(item: Any, parameters: dict[Any, list[str]]) -> list[dict[str, Any]]:
    if isinstance(item, str):
        return [_of_text(item, parameters)]
    if not isinstance(item, dict):
        raise BadRecord(f"expected a call as an object or a text, got {item!r:.80}")
    return [_call(name, _object(mapping(values))) for name, values in mapping(item).items()]


def _call(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": schema, "match": "schema"}


def _object(accepted: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object, from the accepted values of each of its keys."""
    required = [name for name, values in accepted.items() if "" not in listed(values)]
    properties = {
        name: _one_of([value for value in listed(values) if value != ""]) for name, values in accepted.items()
    }
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _one_of(values: list[Any]) -> dict[str, Any]:
    schemas = [schema for value in values if (schema := _nested(value)) is not None]
    if not schemas:
        return {"enum": values or [""]}
    plain_values = [value for value in values if _nested(value) is None]
    return {"anyOf": [*([{"enum": plain_values}] if plain_values else []), *schemas]}


def _nested(value: Any) -> dict[str, Any] | None:
    """The schema of a value that holds objects, whose keys again list what they accept; None for any other value."""
    if isinstance(value, dict):
        return _object(mapping(value))
    items = [_nested(item) for item in listed(value)]
    if not any(items):
        return None
    schemas = [schema or {"const": item} for schema, item in zip(items, listed(value), strict=True)]
    return {"type": "array", "prefixItems": schemas, "minItems": len(schemas), "maxItems": len(schemas)}


def _called(turn: list[Any]) -> Interaction[Any, Any]:
    """A turn of the first calls that are accepted."""
    calls: list[dict[str, Any]] = []
    for item in turn:
        if isinstance(item, str):
            name, given, named = _parsed(item)
            made = [(name, {**{str(place): value for place, value in enumerate(given)}, **named})]
        else:
            made = [(name, _first_accepted(mapping(values))) for name, values in mapping(item).items()]
        for name, arguments in made:
            call = {"id": None, "name": name, "arguments": arguments, "result": None, "error": None, "answered": False}
            calls.append({**call, "message_index": 0})
    return Interaction(inputs=None, outputs=None, metadata={"tool_calls": calls, "incomplete": True})


def _first_accepted(accepted: dict[str, Any]) -> dict[str, Any]:
    """The first value of each argument, without those that may be left out before all."""
    made: dict[str, Any] = {}
    for name, values in accepted.items():
        value = listed(values)[0] if listed(values) else ""
        if value != "" or listed(values) == [""]:
            made[name] = _settled(value)
    return made


def _settled(value: Any) -> Any:
    if isinstance(value, dict):
        return _first_accepted(mapping(value))
    return [_settled(item) for item in listed(value)] if isinstance(value, list) else value


def _of_text(call: str, parameters: dict[Any, list[str]]) -> dict[str, Any]:
    """The schema of a call in Python's form, of which nothing is ever run."""
    name, given, named = _parsed(call)
    names = [known_name for known_name in parameters.get(name, []) if known_name not in named]
    if given and len(names) >= len(given):
        named = {**dict(zip(names, given, strict=False)), **named}
        given = []
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"const": value} for key, value in named.items()},
        "required": list(named),
        "additionalProperties": False,
    }
    if given:  # under which name is not known
        count = len(named) + len(given)
        schema |= {"additionalProperties": {"enum": given}, "minProperties": count, "maxProperties": count}
    return _call(name, schema)


def _parsed(call: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, the arguments by position and those by name."""
    try:
        made = ast.parse(call.strip(), mode="eval").body
        if not isinstance(made, ast.Call):
            raise ValueError("it is no call")
        name = ast.unparse(made.func)
        given = [ast.literal_eval(argument) for argument in made.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in made.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise BadRecord(f"expected a call such as cd(folder='document'), got {call!r:.120}: {error}") from None
    return name, given, named
