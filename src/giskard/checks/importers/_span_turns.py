"""The turns of a conversation out of the pieces of work that gave its answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from giskard.checks.importers._messages import Message
from giskard.checks.importers._span import Span
from giskard.checks.importers._span_calls import Step, settle_calls
from giskard.checks.importers._span_figures import figures_of
from giskard.checks.importers._span_history import (
    Key,
    comparable,
    heard_by,
    in_order,
    keys_of,
    last_question,
    split,
    talk,
    unheard,
)
from giskard.checks.importers._span_tree import Unit
from giskard.checks.importers._span_values import iso

__all__ = ["Conversation"]


@dataclass(slots=True, eq=False)
class _Turn:
    """What is known of a turn so far.

    Parameters
    ----------
    past
        Earlier turns that were told to a model, but not recorded themselves: all of them in one.
    unrecorded
        What models said by calls of which there is no span, as far as it is known to be such.
    """

    asked: list[Message]
    units: list[Unit] = field(default_factory=list[Unit])
    steps: list[Step] = field(default_factory=list[Step])
    retries: list[str] = field(default_factory=list[str])
    past: bool = False
    unrecorded: list[Message] = field(default_factory=list[Message])

    @property
    def answer(self) -> Step | None:
        """The last step, when it says something and calls nothing."""
        last = self.steps[-1] if self.steps else None
        if last is None or last.message.role != "assistant" or last.message.calls or last.message.content in (None, ""):
            return None
        return last


class Conversation:
    """Takes the pieces of work of a conversation one by one, in the order of time."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._known: list[Key] = []  # what was said so far, as models are told it
        self._prompt: list[Message] = []

    def add(self, unit: Unit) -> None:
        """The next piece of work: a turn, or the rest of the one before."""
        models = in_order(span for span, agent in unit.models if agent is None)
        asked, gave = _own_words(unit)
        given = [] if asked is None else asked.inputs
        first = asked or (models[0] if models else None)
        heard, keys = ([], []) if first is None else heard_by(first)
        self._keep_prompt([*given, *(models[0].inputs if models else [])])
        new, found = unheard(heard, keys, self._known)
        before, question, after = split(new)
        if question or not self._goes_on(unit, given, new, found):
            if not question and heard:
                before, (_, question, after) = [], split(heard)
            self._remember(before)
            self._turns.append(_Turn(question))
        else:
            after = new
        turn = self._turns[-1]
        turn.units.append(unit)
        if given and models:  # what a model was told of the turn, when not all of its calls were recorded
            _, question, after = split(unheard(*heard_by(models[0]), self._known)[0])
            after = after if question else []
        told = after if models or not given else []
        turn.steps += [Step(message) for message in told]
        if len(turn.units) == 1:
            turn.unrecorded += [message for message in told if message.role == "assistant" and message.calls]
        self._known = list(keys) if found or not self._known else [*self._known, *keys_of(new)]
        self._let_models_speak(turn, unit, models)
        produced = _produced(talk(gave), [] if asked is None else heard_by(asked)[1])
        self._let_root_speak(turn, produced, any(span.outputs for span in models))
        _add_nested(turn, unit)

    def messages(self, keep_raw: bool) -> Iterator[Message]:
        """All that was said and done, each turn begun by a message of the user."""
        yield from self._prompt
        index = 0
        for turn in self._turns:
            if turn.past:
                for message in turn.asked:
                    message.index, index = index, index + 1
                    message.metadata = {"from_history": True}  # nothing but the words is known of these turns
                    yield message
                continue
            settle_calls(turn.steps, [tool for unit in turn.units for tool in unit.tools])
            for message in turn.asked or [Message("user")]:
                message.index, index = index, index + 1
                yield message
            facts = _facts(turn, keep_raw)
            for step in turn.steps:
                step.message.usage = None  # it counts among the figures of the turn, or is told once more
                for message in _in_its_order(step.message):
                    message.index = index
                    yield message
                index += 1
            yield facts

    # --- who said what ----------------------------------------------------------------

    def _keep_prompt(self, messages: list[Message]) -> None:
        if not self._prompt:
            system = [message for message in messages if message.role == "system" and message.content]
            self._prompt = system[:1] + [other for other in system[1:] if other.content != system[0].content]

    def _goes_on(self, unit: Unit, given: list[Message], new: list[Message], found: bool) -> bool:
        """Whether work that answers no new question belongs to the turn before."""
        if not self._turns or self._turns[-1].past or given:
            return False
        last = self._turns[-1]
        if last.units[-1].trace_id != unit.trace_id:
            return found and bool(new) and all(message.role == "tool" for message in new)
        is_model = unit.root is None or unit.root.kind == "llm"
        return is_model or found

    def _remember(self, messages: list[Message]) -> None:
        """Keep what was said before, as far as no turn holds it."""
        start = next((place for place, message in enumerate(messages) if message.role == "user"), len(messages))
        last = self._turns[-1] if self._turns else None
        if last is None:
            start = 0  # it may be a conversation that the assistant began
        elif not last.past and last.answer is None:
            last.steps += [Step(message) for message in messages[:start]]
        if messages[start:]:
            self._turns.append(_Turn(messages[start:], past=True))

    def _let_models_speak(self, turn: _Turn, unit: Unit, models: list[Span]) -> None:
        for place, span in enumerate(models):
            if place:
                heard, keys = heard_by(span)
                new, found = unheard(heard, keys, self._known)
                asked = any(message.role == "user" for message in new)
                if found or not asked:
                    self._known = list(keys) if found else [*self._known, *keys_of(new)]
                    for message in new:
                        if message.role != "user":
                            turn.steps.append(Step(message))
                        elif isinstance(message.content, str) and message.content:
                            turn.retries.append(message.content)  # what a framework told the model: try again
            replies = _replies(span, span.agent or (unit.root.agent if unit.root is not None else None))
            turn.steps += replies
            self._known += keys_of(step.message for step in replies if step.message.content or step.message.calls)

    def _let_root_speak(self, turn: _Turn, produced: list[Message], models_spoke: bool) -> None:
        """Add what only the root says: its answer when that is not the model's, all of it when no model's is known."""
        if not produced:
            return
        if not models_spoke:
            if not turn.units[-1].models:
                turn.unrecorded += [message for message in produced if message.role == "assistant"]
            turn.steps += [Step(message) for message in produced]
            self._known += keys_of(produced)
            return
        final = produced[-1]
        if final.role != "assistant" or final.calls or final.content in (None, ""):
            return
        answer = turn.answer
        if answer is not None:
            if comparable(answer.message.content) == comparable(final.content):
                if isinstance(cast("Any", final).content, dict):
                    answer.message.content = final.content
                return
            if isinstance(final.content, dict):
                return  # the state of a program
        for step in turn.steps:
            step.message.finish_reason = None  # how the call that gave this answer ended is not known
        turn.steps.append(Step(Message("assistant", final.content, reasoning=final.reasoning)))
        self._known += keys_of([final])


def _own_words(unit: Unit) -> tuple[Span | None, list[Message]]:
    """The span that tells what the root was asked, itself or one around it, and what the root said."""
    root = unit.root
    near = [] if root is None else [*([root] if root.kind != "llm" else []), *unit.frames]
    asked = next((span for span in near if _tells(span.inputs)), None)
    if asked is None and not unit.models:  # the state of a program, when there is no model to ask
        asked = next((span for span in near if span.inputs), None)
    gave = next((span.outputs for span in near if _tells(span.outputs)), None)
    return asked, gave or next((span.outputs for span in near if span.outputs), list[Message]())


def _tells(messages: list[Message]) -> bool:
    return any(not isinstance(message.content, dict) and message.role != "system" for message in messages)


def _produced(messages: list[Message], given: list[Key]) -> list[Message]:
    """What a root said, without what it was given."""
    keys = keys_of(messages)
    if given and keys[: len(given)] == given:
        return messages[len(given) :]
    return split(messages)[2] if last_question(messages) else messages


def _replies(span: Span, agent: str | None) -> list[Step]:
    """What a call of a model gave, with what is known of the call."""
    messages = span.outputs or [Message("assistant")]
    messages[0].model = span.model
    messages[-1].finish_reason = span.finish_reason or messages[-1].finish_reason
    for message in messages:
        for call in message.calls:
            call.agent = agent
    return [Step(message, span.start, span) for message in messages]


def _add_nested(turn: _Turn, unit: Unit) -> None:
    """Add what agents did that were asked by the agent: what they called and used, not what they told it."""
    models = sorted(unit.models, key=lambda pair: pair[0].order)
    final = models[-1][0] if models and turn.answer is None and _took_over(models[-1][0], unit) else None
    for span, agent in models:
        if agent is None:
            continue
        heard = heard_by(span)[0]
        told = next((place for place in range(len(heard), 0, -1) if heard[place - 1].role == "assistant"), 0)
        results = [message for message in heard[told:] if message.results] if told else []
        replies = _replies(span, span.agent or agent.agent or agent.name or None)
        for step in replies if span is not final else []:
            step.message.content = None
        _insert(turn.steps, [Step(message, span.start) for message in results] + replies, span.start)
    for span in unit.asides:
        _insert(turn.steps, [Step(Message("assistant"), span.start, span)], span.start)


def _took_over(span: Span, unit: Unit) -> bool:
    """Whether a call of a model lies in an agent that the turn was handed over to, rather than in a tool."""
    up = span.up
    while up is not None and up is not unit.root:
        if up.kind == "tool":
            return False
        up = up.up
    return True


def _insert(steps: list[Step], new: list[Step], start: int | None) -> None:
    place = len(steps) - 1 if steps and steps[-1].message.content and not steps[-1].message.calls else len(steps)
    if start is not None:
        later = (i for i, step in enumerate(steps) if step.start is not None and step.start > start)
        place = min(place, next(later, len(steps)))
    steps[max(place, 0) : max(place, 0)] = new


def _in_its_order(message: Message) -> list[Message]:
    """A text stands before the calls that it announces, whether their results are known or not."""
    if message.role == "assistant" and message.results:  # of tools that ran while the model wrote
        ran = Message("tool", results=message.results)
        called = Message("assistant", calls=message.calls, name=message.name)
        message.results, message.calls = [], []
        return [called, ran, message] if called.calls else [ran, message]
    if not message.calls or message.content in (None, ""):
        return [message]
    text = Message("assistant", message.content, name=message.name, reasoning=message.reasoning)
    message.content, message.reasoning = None, []
    return [text, message]


def _facts(turn: _Turn, keep_raw: bool) -> Message:
    """What is known of a turn as a whole: a message of the assistant that says nothing."""
    spans = list(dict.fromkeys(span for unit in turn.units for span in unit.spans))
    rooted = [span for unit in turn.units for span in (*unit.frames[::-1], unit.root) if span is not None]
    models = [span for unit in turn.units for span, _ in unit.models]
    fact = Message("assistant")
    fact.latency_ms = _latency(turn, rooted, spans)
    fact.timestamp = iso(min((span.start for span in rooted or spans if span.start is not None), default=None))
    whole = rooted[:1]
    figures = figures_of(turn.units, turn.unrecorded)
    fact.usage, fact.cost_usd, fact.ttft_ms = figures.usage, figures.cost_usd, figures.ttft_ms
    if not any(span.model for span in models):
        fact.model = next((span.model for span in rooted if span.model), None)
    failed = [span.error for span in models if span.error]
    retries = [*turn.retries, *(failed if turn.answer is not None else [])]
    errors = [span.error for span in rooted if span.error and span.kind != "llm"]
    errors += failed if turn.answer is None else []
    documents = [document for unit in turn.units for span in unit.retrievers for document in span.documents]
    speaking = [span for unit in turn.units for span, agent in unit.models if agent is None] + rooted
    fact.labels = {name: value for span in [*spans, *whole] for name, value in span.labels.items()} or None
    fact.metadata = {
        "error": errors[0] if errors else None,
        "retries": retries or None,
        "retrieved": documents or None,
        "partial_usage": figures.partial or None,
        "content_recorded": None if any(span.speaks for span in speaking) else False,
        "raw": [span.raw for span in spans if span.raw is not None] or None if keep_raw else None,
    }
    return fact


def _latency(turn: _Turn, rooted: list[Span], spans: list[Span]) -> float | None:
    """How long it took: the root, or from the first start to the last end of several."""
    if len(turn.units) == 1 and rooted:
        return next((span.duration_ms for span in rooted if span.duration_ms is not None), None)
    starts = [span.start for span in rooted or spans if span.start is not None]
    ends = [span.end for span in rooted or spans if span.end is not None]
    if starts and ends and max(ends) >= min(starts):
        return (max(ends) - min(starts)) / 1e6
    known = [span.latency_ms for span in rooted if span.latency_ms is not None]
    return sum(known) if known else None
