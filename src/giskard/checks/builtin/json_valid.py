"""A check for JSON."""

from __future__ import annotations

from typing import Any, Generic, Self

from pydantic import AliasChoices, Field, model_validator

from giskard.checks.builtin._json import JsonSyntaxError, JsonTooDeep, find_not_json, parse_json, unfenced
from giskard.checks.builtin._json_schema import CompiledSchema, Undecidable, compile_schema
from giskard.checks.builtin._shown import json_path, shown, type_name
from giskard.checks.builtin._texts import unanswered
from giskard.checks.core.check import Check, CodeCheck, JSONPathStr, NoVerdict, lookup
from giskard.checks.core.result import CheckStatus, Verdict
from giskard.checks.core.types import In, Out, TraceT

__all__ = ["JsonValid"]


@Check.register("json_valid")
class JsonValid(CodeCheck[In, Out, TraceT], Generic[In, Out, TraceT]):
    r"""Checks that a value is JSON, and that it meets a JSON Schema.

    Parameters
    ----------
    target_key
        The path of the value that is checked.
    parse
        True: the value must be a text (else ERROR), which is parsed.  False: the value itself is looked at; lists,
        tuples and dicts of texts, numbers, bools and None are JSON, sets, NaN and keys that are no texts are not.
    expected_schema
        A JSON Schema, also spelt ``schema``: of Draft 2020-12, or of the draft that its ``$schema`` names.  It is
        checked when the check is built; nothing that it refers to is ever fetched.
    check_formats
        Whether ``format`` (date, email, uri …) is asserted; otherwise it is only a note.
    unique_keys
        Whether a text in which an object has a key twice is refused.
    accept_fence
        Whether the text may stand in a Markdown fence (three backquotes), as language models like to put it.

    Examples
    --------
    >>> import asyncio
    >>> from giskard.checks import Interaction, JsonValid, Trace
    >>> trace = Trace(interactions=[Interaction(inputs="fee?", outputs='{"fee": "three"}')])
    >>> check = JsonValid(expected_schema={"properties": {"fee": {"type": "number"}}})
    >>> asyncio.run(check.run(trace)).message
    'the JSON at \'trace.last.outputs\' does not meet the schema: $.fee: "three" is not of type "number"'
    """

    target_key: JSONPathStr = "trace.last.outputs"
    parse: bool = True
    expected_schema: dict[str, Any] | bool | None = Field(
        default=None, validation_alias=AliasChoices("expected_schema", "schema"), serialization_alias="schema"
    )
    check_formats: bool = False
    unique_keys: bool = False
    accept_fence: bool = False

    @model_validator(mode="after")
    def _check_schema(self) -> Self:
        compiled = self._compiled()
        if compiled is not None:
            # One copy for all checks with an equal schema; later changes of the caller's dict do not reach it.
            vars(self)["expected_schema"] = compiled.schema
        return self

    def _compiled(self) -> CompiledSchema | None:
        schema = self.expected_schema
        return None if schema is None else compile_schema(schema, check_formats=self.check_formats)

    def verdict(self, trace: TraceT) -> Verdict:
        """PASS when the value is JSON and meets the schema, else FAIL."""
        value = lookup(trace, self.target_key)
        details: dict[str, Any] = {"value": value}
        if missing := unanswered(trace, self.target_key, value):
            message = f"expected JSON at {self.target_key!r}, got NoneType: None{missing}"
            raise NoVerdict(message, kind="missing_value", details=details)
        try:
            parsed, text = self._parse(value, details)
            details["parsed_value"] = parsed
            compiled = self._compiled()
            problems = [] if compiled is None else compiled.problems(parsed, text=text)
        except JsonSyntaxError as error:
            return Verdict(CheckStatus.FAIL, f"{shown(value)} at {self.target_key!r} is not JSON: {error}", details)
        except JsonTooDeep as error:
            if self.expected_schema is None and not self.unique_keys:
                return Verdict(CheckStatus.PASS, "it is JSON", details)
            raise NoVerdict(f"cannot check the JSON at {self.target_key!r}: {error}", details=details) from error
        except Undecidable as error:
            raise NoVerdict(
                f"cannot check the JSON at {self.target_key!r}: {error}", kind="config", details=details
            ) from error
        if problems:
            details["problems"] = problems
            return Verdict(
                CheckStatus.FAIL,
                f"the JSON at {self.target_key!r} does not meet the schema: {'; '.join(problems)}",
                details,
            )
        return Verdict(
            CheckStatus.PASS, "it is JSON" if compiled is None else "it is JSON and meets the schema", details
        )

    def _parse(self, value: Any, details: dict[str, Any]) -> tuple[Any, str | None]:
        """The JSON value, and the text that it was read from."""
        if not self.parse:
            found = find_not_json(value)
            if found is not None:
                raise JsonSyntaxError(f"{json_path(found.path)}: {found.reason}")
            return value, None
        if not isinstance(value, str):
            raise NoVerdict(
                f"expected a text at {self.target_key!r}, got {type_name(value)}: {shown(value)}; "
                "for a value that is parsed already use parse=False",
                kind="bad_type",
                details=details,
            )
        text = str.__str__(value)
        if self.accept_fence:
            text = unfenced(text)
        return parse_json(text, unique_keys=self.unique_keys), text
