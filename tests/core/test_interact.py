"""How turns are made: inputs and outputs in every form."""

import asyncio
import functools
import threading
from collections.abc import AsyncGenerator
from unittest.mock import AsyncMock, MagicMock, Mock, create_autospec

import pytest
from pydantic import BaseModel, ValidationError

from giskard.checks import (
    MISSING,
    ConfigurationError,
    FnCheck,
    Interact,
    Interaction,
    InteractionGenerationError,
    InteractionSpec,
    Scenario,
    Trace,
    thread_bound,
)
from giskard.checks.core.attempt import Attempt, current_attempt
from giskard.checks.core.input_generator import InputGenerator
from giskard.checks.core.interaction.reply import Reply as Answered


def trace_of(spec: InteractionSpec) -> Trace:
    """The turns that a spec makes, on its own."""
    return asyncio.run(Trace.from_interactions(spec))


def turns(**fields):
    return list(trace_of(Interact(**fields)).interactions)


def the_turn(**fields) -> Interaction:
    [turn] = turns(**fields)
    return turn


# --- outputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, 0, "", False, [], {}, "text", 1.5, {"a": [1]}, (1, 2), b"x"])
def test_outputs_that_are_a_value_are_kept(value):
    turn = the_turn(inputs="q", outputs=value)

    assert turn.outputs == value
    assert type(turn.outputs) in {type(value), *type(turn.outputs).__mro__}


class Caller:
    def __call__(self, inputs):
        return f"got {inputs}"

    def method(self, inputs):
        return f"got {inputs}"

    @classmethod
    def class_method(cls, inputs):
        return f"got {inputs}"


class AsyncCaller:
    async def __call__(self, inputs):
        return f"got {inputs}"

    async def method(self, inputs):
        return f"got {inputs}"


class Reply:
    def __init__(self, inputs):
        self.text = f"got {inputs}"

    def __eq__(self, other):
        return str(other) == self.text or getattr(other, "text", None) == self.text


def plain(inputs):
    return f"got {inputs}"


async def coroutine(inputs):
    return f"got {inputs}"


def two(prefix, inputs):
    return f"{prefix} {inputs}"


async def async_two(prefix, inputs):
    return f"{prefix} {inputs}"


def positional_only(inputs, /):
    return f"got {inputs}"


def keyword_only(*, inputs):
    return f"got {inputs}"


def any_name(question):
    return f"got {question}"


def with_default(inputs, temperature=0.2):
    assert temperature == 0.2
    return f"got {inputs}"


def with_variadic(inputs, *args, **kwargs):
    assert (args, kwargs) == ((), {})
    return f"got {inputs}"


def with_all(inputs, trace, *, trial, conversation_id):
    assert isinstance(trace, Trace)
    assert trial == 1
    assert isinstance(conversation_id, str)
    return f"got {inputs}"


def trace_by_hint(conversation: Trace, message):
    assert conversation.interactions == []
    return f"got {message}"


def trace_by_optional_hint(message, conversation: "Trace[str, str] | None" = None):
    assert conversation is not None
    return f"got {message}"


@pytest.mark.parametrize(
    "target",
    [
        plain,
        coroutine,
        Caller(),
        Caller().method,
        Caller.class_method,
        AsyncCaller(),
        AsyncCaller().method,
        Reply,
        functools.partial(two, "got"),
        functools.partial(async_two, "got"),
        functools.partial(two, prefix="got"),
        functools.partial(functools.partial(async_two, "got")),
        lambda inputs: f"got {inputs}",
        lambda inputs: coroutine(inputs),
        positional_only,
        keyword_only,
        any_name,
        with_default,
        with_variadic,
        with_all,
        trace_by_hint,
        trace_by_optional_hint,
    ],
)
def test_every_callable_is_a_target(target):
    assert the_turn(inputs="hi", outputs=target).outputs == "got hi"


def test_a_target_without_a_readable_signature_gets_the_inputs():
    assert the_turn(inputs=5, outputs=str).outputs == "5"
    assert the_turn(inputs="5", outputs=int).outputs == 5


@pytest.mark.parametrize("mock", [Mock, MagicMock, AsyncMock])
def test_a_mock_is_a_target(mock):
    target = mock(return_value="a")

    assert the_turn(inputs="q", outputs=target).outputs == "a"
    target.assert_called_once_with()
    spec = create_autospec(plain, return_value="b")
    assert the_turn(inputs="q", outputs=spec).outputs == "b"
    spec.assert_called_once_with("q")


def test_a_target_of_no_parameters_is_called_with_nothing():
    assert the_turn(inputs="q", outputs=lambda: "a").outputs == "a"


@pytest.mark.parametrize(
    ("target", "named"),
    [
        (lambda a, b: None, ["'a'", "'b'", "inputs", "trace"]),
        (lambda inputs, temperature: None, ["'temperature'", "conversation_id", "trial"]),
        (lambda *, a, b: None, ["'a'", "'b'"]),
    ],
)
def test_a_parameter_that_nothing_fills_is_refused_when_the_spec_is_built(target, named):
    with pytest.raises(TypeError) as refused:
        Interact(inputs="q", outputs=target)
    assert all(name in str(refused.value) for name in named)

    with pytest.raises(TypeError):
        Scenario("s").interact("q", target)
    with pytest.raises(TypeError):
        Interact(inputs="q").set_outputs(target)


def test_an_input_callable_asks_for_trace_and_input_type_only():
    with pytest.raises(TypeError, match="'inputs', 'other'"):
        Interact(inputs=lambda inputs, other: None, outputs="x")


def test_an_interaction_that_a_target_returns_is_used_as_it_is():
    mine = Interaction(inputs="other", outputs="b", metadata={"mine": 1})

    assert the_turn(inputs="q", outputs=lambda inputs: mine, metadata={"spec": 1}) == mine


def test_each_turn_has_the_metadata_of_the_spec():
    spec = Interact(inputs=lambda: iter_inputs("a", "b"), outputs=plain, metadata={"k": [1]})

    assert [turn.metadata for turn in trace_of(spec).interactions] == [{"k": [1]}, {"k": [1]}]


def test_metadata_is_a_snapshot():
    spec = Interact(inputs="q", outputs="a", metadata={"k": [1]})
    turn = trace_of(spec).last
    spec.metadata["k"].append(2)

    assert turn.metadata == {"k": [1]}


# --- streams -----------------------------------------------------------------------------------------


def sync_text(inputs):
    yield "a"
    yield "b"


async def async_text(inputs):
    yield "a"
    yield "b"


def returns_async_stream(inputs):
    return async_text(inputs)


async def awaits_to_async_stream(inputs):
    return async_text(inputs)


async def awaits_to_sync_stream(inputs):
    return iter(["a", "b"])


class Stream:
    def __init__(self, inputs):
        self.left = ["b", "a"]

    def __aiter__(self):
        return self

    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        return self.left.pop()


@pytest.mark.parametrize(
    "target",
    [sync_text, async_text, returns_async_stream, awaits_to_async_stream, awaits_to_sync_stream, Stream],
)
def test_text_chunks_are_joined(target):
    turn = the_turn(inputs="q", outputs=target, metadata={"k": 1})

    assert turn.outputs == "ab"
    assert turn.metadata["k"] == 1
    assert turn.metadata["time_to_first_chunk"] >= 0


def test_other_chunks_are_listed():
    async def target(inputs):
        yield {"delta": 1}
        yield "b"

    assert the_turn(inputs="q", outputs=target).outputs == [{"delta": 1}, "b"]


def test_a_stream_without_chunks_gives_an_empty_list_and_no_time():
    turn = the_turn(inputs="q", outputs=lambda inputs: iter(()))

    assert turn.outputs == []
    assert "time_to_first_chunk" not in turn.metadata


def test_a_list_or_dict_that_is_returned_is_no_stream():
    assert the_turn(inputs="q", outputs=lambda inputs: ["a", "b"]).outputs == ["a", "b"]
    assert the_turn(inputs="q", outputs=lambda inputs: {"a": "b"}).outputs == {"a": "b"}


def test_a_stream_that_breaks_is_closed_and_keeps_nothing_of_the_turn():
    closed = []

    async def target(inputs):
        try:
            yield "a"
            raise ConnectionError("gone")
        finally:
            closed.append(True)

    with pytest.raises(InteractionGenerationError, match="gone") as failed:
        trace_of(Interact(inputs="q", outputs=target))
    assert failed.value.partial_trace.interactions == []
    assert isinstance(failed.value.__cause__, ConnectionError)
    assert closed == [True]


# --- inputs ------------------------------------------------------------------------------------------


def iter_inputs(*items):
    yield from items


async def aiter_inputs(*items):
    for item in items:
        yield item


async def promised():
    return "a"


class Listing(InputGenerator):
    """An input generator that leaves `input_type` out."""

    items: list[str]

    async def __call__(self, trace):
        for item in self.items:
            yield item


@pytest.mark.parametrize("value", [None, "", 0, [], ["a", "b"], {"a": 1}, ("a",)])
def test_an_input_that_is_a_value_makes_one_turn(value):
    assert the_turn(inputs=value, outputs="x").inputs == value


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: "a", ["a"]),
        (lambda: promised, ["a"]),
        (lambda: lambda: "a", ["a"]),
        (lambda: lambda trace: f"{len(trace.interactions)}", ["0"]),
        (lambda: lambda conversation: f"{len(conversation.interactions)}", ["0"]),
        (lambda: lambda trace, input_type: f"{input_type}", ["None"]),
        (lambda: lambda depth=3: depth, [3]),
        (lambda: functools.partial(iter_inputs, "a", "b"), ["a", "b"]),
        (lambda: functools.partial(aiter_inputs, "a", "b"), ["a", "b"]),
        (lambda: iter_inputs("a", "b"), ["a", "b"]),
        (lambda: aiter_inputs("a", "b"), ["a", "b"]),
        (lambda: lambda: iter_inputs("a", "b"), ["a", "b"]),
        (lambda: lambda: aiter_inputs("a", "b"), ["a", "b"]),
        (lambda: Listing(items=["a", "b"]), ["a", "b"]),
    ],
)
@pytest.mark.parametrize("target", [plain, coroutine])
def test_every_form_of_inputs(make, expected, target):
    inputs = make()
    if inputs == "a":
        inputs = lambda: "a"  # noqa: E731

    assert [turn.inputs for turn in turns(inputs=inputs, outputs=target)] == expected


def test_an_empty_generator_makes_no_turn():
    assert turns(inputs=lambda: iter_inputs(), outputs="x") == []


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_generators_receive_the_updated_trace(kind):
    seen = []

    def sync_user(trace):
        seen.append(len(trace.interactions))
        for text in "ab":
            trace = yield text
            seen.append(trace.last.outputs)

    async def async_user(trace) -> AsyncGenerator:
        seen.append(len(trace.interactions))
        for text in "ab":
            trace = yield text
            seen.append(trace.last.outputs)

    turns(inputs=sync_user if kind == "sync" else async_user, outputs=plain)

    assert seen == [0, "got a", "got b"]


@pytest.mark.parametrize("make", [iter_inputs, aiter_inputs])
def test_a_generator_that_is_used_up_is_an_error(make):
    scenario = Scenario("s").interact(make("a", "b"), plain).check(FnCheck(fn=lambda trace: True))

    first, second = scenario.run_sync(), scenario.run_sync(return_exception=True)

    assert first.passed
    assert len(first.final_trace.interactions) == 2
    assert second.errored
    assert second.steps[0].error.error_kind == "config"
    assert repr(make.__name__) in second.steps[0].error.message


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_input_generator_is_closed_in_its_task_when_the_target_crashes(kind):
    closed = []

    def task():
        return asyncio.current_task()

    def sync_user():
        mine = task()
        try:
            yield "a"
        finally:
            closed.append(task() is mine)

    async def async_user():
        mine = task()
        try:
            yield "a"
        finally:
            closed.append(task() is mine)

    def crash(inputs):
        raise ValueError("boom")

    scenario = Scenario("s").interact(sync_user if kind == "sync" else async_user, crash)
    assert scenario.run_sync(return_exception=True).errored
    assert closed == [True]


@pytest.mark.parametrize("error", [ValueError("boom"), StopAsyncIteration(), StopIteration(), GeneratorExit()])
def test_an_input_generator_that_fails_is_an_error_with_the_turns_before(error):
    async def user():
        yield "a"
        raise error

    scenario = Scenario("s").interact(user, plain)
    if isinstance(error, GeneratorExit):
        return  # it stops the run: see the tests of cancellation
    result = scenario.run_sync(return_exception=True)

    assert result.errored
    assert [turn.inputs for turn in result.final_trace.interactions] == ["a"]


class Question(BaseModel):
    text: str


def question_target(inputs: Question) -> str:
    return inputs.text


def trace_first_target(history: Trace, message: Question, temperature: float = 0.5) -> str:
    return message.text


def hint_of_another_parameter(inputs, temperature: float = 0.5):
    return "x"


def unresolvable_hint(inputs: "Nowhere", temperature: float = 0.5):  # noqa: F821
    return "x"


def keyword_inputs(temperature: float = 0.5, *, inputs: Question):
    return "x"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (question_target, Question),
        (trace_first_target, Question),
        (keyword_inputs, Question),
        (functools.partial(question_target), Question),
        (hint_of_another_parameter, None),
        (unresolvable_hint, None),
        (str, None),
        (lambda inputs: "x", None),
        ("a value", None),
    ],
)
def test_the_input_type_is_that_of_the_parameter_that_gets_the_inputs(target, expected):
    seen = []

    def inputs(input_type):
        seen.append(input_type)
        return Question(text="q")

    turns(inputs=inputs, outputs=target)
    Scenario("s").interact(inputs).run_sync(target=target)

    assert seen == [expected, expected]


# --- MISSING outputs ---------------------------------------------------------------------------------


def test_outputs_without_a_target_are_an_error_that_says_what_to_do():
    with pytest.raises(InteractionGenerationError, match=r"(?s)MISSING.*target=") as failed:
        trace_of(Interact(inputs="q"))
    assert isinstance(failed.value.__cause__, ConfigurationError)


def test_set_outputs_returns_the_spec():
    spec = Interact(inputs="q")

    assert spec.outputs is MISSING
    assert spec.set_outputs("a") is spec
    assert trace_of(spec).last.outputs == "a"
    assert trace_of(spec.set_outputs(None)).last.outputs is None


def test_model_copy_with_an_update_is_honoured():
    spec = Interact(inputs="q", outputs=plain)
    assert trace_of(spec).last.outputs == "got q"

    other = spec.model_copy(update={"outputs": any_name, "inputs": "r"})

    assert trace_of(other).last.outputs == "got r"
    assert trace_of(other.model_copy(update={"outputs": "x"})).last.outputs == "x"
    assert trace_of(spec).last.inputs == "q"


def test_unknown_fields_are_refused_with_a_hint():
    with pytest.raises(ValidationError, match="did you mean 'outputs'"):
        Interact(inputs="q", output="a")
    with pytest.raises(ValidationError, match="inputs"):
        Interact(outputs="a")


# --- what is recorded, and who may change it ----------------------------------------------------------


def test_a_target_may_edit_its_inputs_and_nobody_else_sees_it():
    sent = {"messages": ["a"]}

    def target(inputs):
        inputs["messages"].append("b")
        inputs["new"] = True
        return list(inputs["messages"])

    turn = the_turn(inputs=sent, outputs=target)

    assert turn.inputs == sent == {"messages": ["a"]}
    assert turn.outputs == ["a", "b"]


def test_outputs_are_snapshots():
    shared = {"items": []}

    def target(inputs):
        shared["items"].append(inputs)
        return shared

    first, second = turns(inputs=lambda: iter_inputs("a", "b"), outputs=target)

    assert first.outputs == {"items": ["a"]}
    assert second.outputs == {"items": ["a", "b"]}


# --- threads and time limits ----------------------------------------------------------------------------


def test_a_sync_target_runs_outside_of_the_thread_of_the_loop():
    seen = []

    def target(inputs):
        seen.append(threading.current_thread() is not threading.main_thread())

    def bound(inputs):
        seen.append(threading.current_thread() is threading.main_thread())

    turns(inputs="q", outputs=target)
    turns(inputs="q", outputs=thread_bound(bound))
    turns(inputs="q", outputs=lambda inputs: target(inputs))

    assert seen == [True, True, True]


def test_a_target_that_hangs_is_a_timeout_that_names_the_turn():
    async def target(inputs):
        if inputs == "b":
            await asyncio.Event().wait()
        return "x"

    scenario = Scenario("s").append(Interact(inputs=lambda: iter_inputs("a", "b"), outputs=target, timeout=0.05))
    result = scenario.run_sync(return_exception=True)

    error = result.steps[0].error
    assert (error.error_kind, error.retryable, error.phase) == ("timeout", True, "input_generation")
    assert "0.05 s" in error.message
    assert "turn 2" in error.message
    assert [turn.inputs for turn in result.final_trace.interactions] == ["a"]


def test_a_sync_target_that_hangs_is_given_up():
    release = threading.Event()

    def target(inputs):
        release.wait(10)

    scenario = Scenario("s").append(Interact(inputs="q", outputs=target, timeout=0.05))
    try:
        result = scenario.run_sync(return_exception=True)
    finally:
        release.set()

    assert result.steps[0].error.error_kind == "timeout"


def test_a_timeout_error_of_the_target_itself_is_a_crash():
    def target(inputs):
        raise TimeoutError("the database took too long")

    scenario = Scenario("s").append(Interact(inputs="q", outputs=target, timeout=30))
    error = scenario.run_sync(return_exception=True).steps[0].error

    assert (error.error_kind, error.message) == ("crash", "the database took too long")


@pytest.mark.parametrize("timeout", [0, -1, "soon"])
def test_an_impossible_timeout_is_refused(timeout):
    with pytest.raises(ValidationError):
        Interact(inputs="q", timeout=timeout)


# --- specs -----------------------------------------------------------------------------------------------


def test_the_base_class_makes_an_interact():
    spec = InteractionSpec(inputs="q", outputs="a", metadata={"k": 1})

    assert type(spec) is Interact
    assert isinstance(Interact(inputs="q"), InteractionSpec)
    assert spec == Interact(inputs="q", outputs="a", metadata={"k": 1})
    assert isinstance(InteractionSpec[str, str, Trace](inputs="q"), Interact)


class Twice(InteractionSpec):
    text: str

    async def generate(self, trace):
        trace = yield Interaction(inputs=self.text, outputs=len(trace.interactions))
        yield Interaction(inputs=self.text, outputs=len(trace.interactions))


def test_a_spec_of_ones_own():
    assert [turn.outputs for turn in trace_of(Twice(text="x")).interactions] == [0, 1]


class Broken(InteractionSpec):
    closed: list = []

    async def generate(self, trace):
        try:
            yield Interaction(inputs="a", outputs="b")
            yield "no interaction"
        finally:
            self.closed.append(True)


def test_a_spec_that_yields_something_else_is_an_error_and_is_closed():
    spec = Broken()
    with pytest.raises(InteractionGenerationError, match="Broken") as failed:
        trace_of(spec)

    assert isinstance(failed.value.__cause__, TypeError)
    assert [turn.inputs for turn in failed.value.partial_trace.interactions] == ["a"]
    assert spec.closed == [True]


class Nested(InteractionSpec):
    inner: InteractionSpec

    async def generate(self, trace):
        async for turn in self.inner.generate(trace):
            yield turn


class Wrapping(InteractionSpec):
    async def generate(self, trace):
        await trace.with_interaction(Interact(inputs="q", outputs=lambda inputs: 1 / 0))
        yield Interaction(inputs="never", outputs="")


@pytest.mark.parametrize("spec", [Wrapping(), Nested(inner=Wrapping())])
def test_nested_failures_are_wrapped_once(spec):
    with pytest.raises(InteractionGenerationError) as failed:
        trace_of(spec)

    assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_the_attempt_is_known_to_targets():
    seen = []

    def target(inputs, trial, conversation_id):
        seen.append((trial, conversation_id))
        return "x"

    Scenario("s").interact("q", target).interact("r", target).run_sync(multiple_runs=2)

    assert [trial for trial, _ in seen] == [1, 1, 2, 2]
    assert seen[0] == seen[1]
    assert len({conversation for _, conversation in seen}) == 2


def test_outside_of_a_run_there_is_no_attempt():
    assert current_attempt.get() is None
    assert Attempt().trial == 1
    assert (Attempt().conversation_id, Attempt().first_chunk) == ("", None)


def test_a_failure_names_the_spec_the_turn_and_the_error():
    def answer(inputs):
        if inputs == "two":
            raise KeyError("no such fee")
        return "x"

    def questions():
        yield from ("one", "two")

    with pytest.raises(InteractionGenerationError) as failed:
        trace_of(Interact(inputs=questions, outputs=answer))
    assert str(failed.value) == "Interact failed in turn 2: KeyError: 'no such fee'"
    with pytest.raises(InteractionGenerationError) as failed:
        trace_of(Broken())
    reason = "TypeError: Broken.generate yielded str, expected an Interaction: 'no interaction'"
    assert str(failed.value) == f"Broken failed in turn 2: {reason}"


def test_what_is_no_spec_is_named():
    with pytest.raises(TypeError) as refused:
        trace_of(5)
    assert str(refused.value) == "expected an Interaction or an InteractionSpec, got int: 5"


def test_every_parameter_that_is_a_trace_gets_the_trace():
    def ask(conversation: Trace = None, *, again: Trace = None):
        return conversation is again and len(again.interactions)

    assert trace_of(Interact(inputs=ask, outputs="x")).last.inputs == 0


def test_an_error_without_a_text_is_told_with_its_class_and_its_place():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def answer(inputs):
        raise Mute

    (step,) = Scenario("s").interact("q", answer).run_sync(return_exception=True).steps
    assert step.error.message == "<Mute whose text cannot be made: its __str__ raises RuntimeError>"
    lines = step.error.traceback.splitlines()
    assert any("test_interact.py" in line and "in answer" in line for line in lines)
    assert "Mute" in lines[-1]


def test_a_traceback_that_cannot_be_written_has_the_places_at_least():
    def answer(inputs):
        error = SyntaxError("odd")
        error.lineno, error.text = 1, 5  # traceback expects a text
        raise error

    (step,) = Scenario("s").interact("q", answer).run_sync(return_exception=True).steps
    lines = step.error.traceback.splitlines()
    assert any("test_interact.py" in line and "in answer" in line for line in lines)
    assert "XX" not in step.error.traceback
    assert lines[-1] == "SyntaxError"


def test_an_input_generator_without_a_call_says_so():
    class Silent(InputGenerator):
        pass

    with pytest.raises(NotImplementedError) as refused:
        Silent()(Trace())
    assert str(refused.value) == "Silent does not implement __call__(trace, input_type)"


@pytest.mark.parametrize("turn", [Interaction(inputs="a", outputs="b"), Interact(inputs="a", outputs="b")])
def test_a_whole_turn_is_no_input(turn):
    with pytest.raises(
        ValidationError, match=rf"a whole turn is added with scenario.add_interaction\({type(turn).__name__}"
    ):
        Scenario("s").interact(turn)
    assert Scenario("s").add_interaction(turn).run_sync().final_trace.last.outputs == "b"


def test_a_reply_keeps_its_outputs_and_adds_to_what_the_turn_says():
    reply = Answered(inputs="sent", outputs="given", metadata={"both": "reply", "model": "m"})
    turn = the_turn(inputs="q", outputs=lambda inputs: reply, metadata={"both": "turn", "mine": 1})

    assert (turn.inputs, turn.outputs) == ("sent", "given")
    assert turn.metadata == {"both": "reply", "mine": 1, "model": "m"}
