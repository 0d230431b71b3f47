"""Results of promptfoo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._chat_messages import are_chat_messages, calls_of, chat_message
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._json import json_or_text
from giskard.checks.importers._lenient import dicts, first, known, listed, mapping, number, text, usage_of, within
from giskard.checks.importers._messages import Message
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["Promptfoo"]


class Promptfoo(RecordFormat):
    """A results file of promptfoo, or a single result as in its JSON lines; each result is a trace.

    What its assertions found goes to ``annotations["promptfoo"]``, what people rated to ``annotations["labels"]``.
    """

    name = "promptfoo"

    def detect(self, value: Any) -> bool:
        """Whether it is a result with prompt, variables and response, or a file of them."""
        row = mapping(value)
        results = _results_of(row)
        return _is_result(row) if results is None else bool(results) and all(_is_result(item) for item in results[:3])

    def convert(self, value: Any, source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        """The trace of each result."""
        row = mapping(value)
        results = _results_of(row)
        shared = known(source=source, evaluation_id=text(row.get("evalId")))
        for result in [row] if results is None else dicts(results, "results"):
            yield _trace(result, shared, options)


def _results_of(row: dict[str, Any]) -> list[Any] | None:
    held = row.get("results")
    found = mapping(held).get("results") if isinstance(held, dict) else held
    return listed(found) if isinstance(found, list) else None


def _is_result(value: Any) -> bool:
    row = mapping(value)
    return isinstance(row.get("vars"), dict) and "prompt" in row and ("gradingResult" in row or "success" in row)


def _trace(result: dict[str, Any], shared: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
    grading = mapping(result.get("gradingResult"))
    test = mapping(result.get("testCase"))
    provider = result.get("provider")
    annotations = {
        **shared,
        **known(
            conversation_id=text(result.get("id")),
            vars=result.get("vars"),
            description=text(test.get("description")),
            provider=text(provider) or text(within(provider, "id")),
            prompt_label=text(within(result, "prompt", "label")),
            promptfoo=known(
                success=result.get("success"),
                score=number(result.get("score")),
                reason=text(grading.get("reason")),
                named_scores=mapping(result.get("namedScores")) or None,
                error=text(result.get("error")),
                assertions=test.get("assert"),
            ),
            labels=_rated(grading) or None,
        ),
    }
    # What a provider called on its way to a text is not told.
    return to_trace([*_asked(result), _answer(result)], annotations, options, records_calls=False)


def _rated(grading: dict[str, Any]) -> dict[str, Any]:
    """What a person said of it in the viewer."""
    labels: dict[str, Any] = {}
    for part in map(mapping, listed(grading.get("componentResults"))):
        if within(part, "assertion", "type") == "human":
            labels |= known(human=part.get("pass"), score=number(part.get("score")), reason=text(part.get("reason")))
    return {**labels, **known(comment=text(grading.get("comment")))}


def _asked(result: dict[str, Any]) -> list[Message]:
    """The prompt, which is a text, or JSON text of the messages that were sent."""
    prompt = result.get("prompt")
    raw = prompt if isinstance(prompt, str) else first(mapping(prompt), "raw", "display")
    messages = json_or_text(raw)
    if are_chat_messages(messages):
        return [chat_message(item, place) for place, item in enumerate(listed(messages))]
    if raw is None:
        raise BadRecord("the result has no prompt")
    return [Message("user", raw)]


def _answer(result: dict[str, Any]) -> Message:
    response = mapping(result.get("response"))
    output = response.get("output")
    tokens = first(response, "tokenUsage") or result.get("tokenUsage")
    message = _called(output)
    return Message(
        "assistant",
        None if message else output,
        calls=calls_of(message),
        usage=usage_of(
            tokens,
            input_tokens="prompt",
            output_tokens="completion",
            cached_tokens="cached",
            reasoning_tokens="completionDetails.reasoning",
        ),
        latency_ms=number(result.get("latencyMs")),
        cost_usd=number(first(result, "cost")) or number(response.get("cost")),
        finish_reason=text(response.get("finishReason")),
        refusal=response.get("isRefusal") is True,
        metadata=known(error=text(first(response, "error")) or text(result.get("error"))),
        raw=result,
    )


def _called(output: Any) -> dict[str, Any]:
    """The message of an output that is nothing but calls of tools, empty for any other."""
    calls = listed(output)
    if calls and all(isinstance(within(call, "function", "name"), str) for call in calls):
        return {"tool_calls": calls}
    if isinstance(output, dict) and (mapping(output).get("tool_calls") or mapping(output).get("function_call")):
        return mapping(output)
    return {}
