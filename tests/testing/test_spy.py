"""Spies see the calls of their own scenario, and leave the function as they found it."""

import asyncio
import contextlib
import functools
import gc
import json
import sys
import threading
import types
from unittest import mock
from unittest.mock import MagicMock, call

import pytest
from pydantic import BaseModel

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.extraction import resolve
from giskard.checks.core.interaction.base import InteractionSpec
from giskard.checks.core.interaction.interact import Interact
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.scenario import Scenario
from giskard.checks.testing import WithSpy
from giskard.checks.testing import _dispatch as dispatch

SOURCE = """
import asyncio, contextvars, functools, threading

class Client:
    base = "real"
    def __init__(self, name="c"): self.name = name
    def fetch(self, x): return f"{self.name} {x}"
    async def afetch(self, x): return f"{self.name} {x}"
    @classmethod
    def make(cls, name): return cls(name)
    @staticmethod
    def helper(x): return f"helped {x}"
    @property
    def label(self): return "label"

class Special(Client): pass

class Callable_:
    attribute = "of the object"
    def __call__(self, x): return f"object {x}"

class ACallable:
    async def __call__(self, x): return f"object {x}"

def fetch(x, **options): return f"real {x}"
async def afetch(x): return f"real {x}"
def stream(n): yield from range(n)
async def astream(n):
    for i in range(n): yield i
cached = functools.lru_cache(fetch)
an_object = Callable_()
an_async_object = ACallable()
client = Client("shared")
NUMBER = 3
"""


@pytest.fixture
def mod():
    name = f"spied_app_{id(object())}"
    module = sys.modules[name] = types.ModuleType(name)
    exec(SOURCE, module.__dict__)
    yield module
    assert dispatch._patches == {}
    del sys.modules[name]


def path(mod, name="fetch"):
    return f"{mod.__name__}.{name}"


def spied(mod, target, outputs, *, inputs="q", name="s", **options):
    spec = WithSpy(interaction_generator=Interact(inputs=inputs, outputs=outputs), target=path(mod, target), **options)
    return Scenario(name).add_interaction(spec)


def calls_of(result, mod, target="fetch"):
    return result.final_trace.last.metadata[path(mod, target)]


def run(scenario, **options):
    return asyncio.run(scenario.run(**options))


def is_real(result):
    return not isinstance(result, mock.NonCallableMock)


# ------------------------------------------------------------------ what is recorded


def test_the_calls_of_a_turn_are_kept_as_mock_has_them(mod):
    def agent(inputs):
        mod.fetch(inputs, limit=3)
        mod.fetch("again").rows()
        return "done"

    result = run(spied(mod, "fetch", agent))

    assert result.passed
    assert calls_of(result, mod) == {
        "call_count": 2,
        "call_args": call("again"),
        "call_args_list": [call("q", limit=3), call("again")],
        "mock_calls": [call("q", limit=3), call("again"), call().rows()],
    }
    assert calls_of(result, mod)["call_args_list"][0].kwargs == {"limit": 3}
    assert mod.fetch("x") == "real x"


def test_each_turn_has_its_own_calls_and_the_trace_goes_back_to_the_inner_spec(mod):
    seen = []

    def users(trace):
        for text in ("one", "two", "three"):
            updated = yield text
            seen.append(len(updated.interactions))

    def agent(inputs):
        for _ in range(3 if inputs == "two" else 0):
            mod.fetch(inputs)
        return inputs.upper()

    spec = WithSpy(interaction_generator=Interact(inputs=users, outputs=agent, metadata={"k": 1}), target=path(mod))
    trace = asyncio.run(Trace.from_interactions(spec))

    assert seen == [1, 2, 3]
    assert [turn.outputs for turn in trace.interactions] == ["ONE", "TWO", "THREE"]
    assert [turn.metadata[path(mod)]["call_count"] for turn in trace.interactions] == [0, 3, 0]
    assert trace.last.metadata["k"] == 1
    assert trace.last.metadata[path(mod)]["call_args"] is None
    assert trace.interactions[1].metadata[path(mod)]["mock_calls"] == [call("two")] * 3


def test_the_function_of_a_turn_without_calls_is_listed_too(mod):
    assert calls_of(run(spied(mod, "fetch", "static")), mod) == {
        "call_count": 0,
        "call_args": None,
        "call_args_list": [],
        "mock_calls": [],
    }


def test_arguments_are_snapshots(mod):
    class Order(BaseModel):
        items: list[str]

    def agent(inputs):
        order, options = Order(items=["a"]), {"deep": [1]}
        mod.fetch(order, options=options)
        order.items.append("b")
        options["deep"].append(2)
        return "done"

    args = calls_of(run(spied(mod, "fetch", agent)), mod)["call_args"]

    assert args.args[0].items == ["a"]
    assert args.kwargs == {"options": {"deep": [1]}}
    with pytest.raises(TypeError, match="recorded"):
        args.kwargs["options"]["deep"].append(3)


def test_calls_can_be_read_by_paths_and_written_to_files(mod):
    result = run(spied(mod, "fetch", lambda inputs: str(mod.fetch(inputs, n=1))[:0]))

    key = f"trace.last.metadata['{path(mod)}']"
    assert resolve(result.final_trace, f"{key}.call_count") == 1
    assert resolve(result.final_trace, f"{key}.call_args.args[0]") == "q"
    assert resolve(result.final_trace, f"{key}.call_args_list[*].kwargs.n") == [1]
    dumped = json.loads(result.model_dump_json())
    metadata = dumped["final_trace"]["interactions"][0]["metadata"]
    assert metadata[path(mod)]["call_args"] == {"args": ["q"], "kwargs": {"n": 1}}


# ------------------------------------------------------------------ what is called


def test_a_function_is_replaced_by_a_mock(mod):
    kept = []

    def agent(inputs):
        kept.append(mod.fetch(inputs))
        return "done"

    assert run(spied(mod, "fetch", agent)).passed
    assert isinstance(kept[0], MagicMock)


def test_passthrough_calls_the_real_function(mod):
    result = run(spied(mod, "fetch", lambda inputs: mod.fetch(inputs), passthrough=True))

    assert result.final_trace.last.outputs == "real q"
    assert calls_of(result, mod)["call_args"] == call("q")


@pytest.mark.parametrize("passthrough", [True, False])
def test_async_functions(mod, passthrough):
    async def agent(inputs):
        answer = await mod.afetch(inputs)
        return answer if passthrough else f"mocked {is_real(answer)}"

    result = run(spied(mod, "afetch", agent, passthrough=passthrough))

    assert result.final_trace.last.outputs == ("real q" if passthrough else "mocked False")
    assert calls_of(result, mod, "afetch")["call_args_list"] == [call("q")]


def test_a_patched_async_function_still_looks_like_one(mod):
    import inspect

    real = inspect.signature(mod.afetch)
    looks = []

    async def agent(inputs):
        looks.extend([inspect.iscoroutinefunction(mod.afetch), inspect.signature(mod.afetch) == real])
        return "done"

    run(spied(mod, "afetch", agent))
    assert looks == [True, True]


@pytest.mark.parametrize("target", ["stream", "astream"])
def test_streams(mod, target):
    async def agent(inputs):
        stream = getattr(mod, target)(3)
        return [i async for i in stream] if target == "astream" else list(stream)

    real = run(spied(mod, target, agent, passthrough=True))
    mocked = run(spied(mod, target, agent))

    assert (real.final_trace.last.outputs, mocked.final_trace.last.outputs) == ([0, 1, 2], [])
    assert calls_of(mocked, mod, target)["call_args"] == call(3)


@pytest.mark.parametrize(
    ("target", "use", "expected", "recorded"),
    [
        ("Client.fetch", lambda m: m.Client("n").fetch(1), "n 1", call(1)),
        ("Client.fetch", lambda m: m.Client.fetch(m.client, 1), "shared 1", None),
        ("Special.fetch", lambda m: m.Special("n").fetch(1), "n 1", call(1)),
        ("Client.make", lambda m: m.Client.make("n").name, "n", call("n")),
        ("Client.make", lambda m: m.client.make("n").name, "n", call("n")),
        ("Client.helper", lambda m: m.Client.helper(1), "helped 1", call(1)),
        ("Client.helper", lambda m: m.client.helper(1), "helped 1", call(1)),
        ("client.fetch", lambda m: m.client.fetch(1), "shared 1", call(1)),
        ("Client", lambda m: m.Client("n").fetch(1), "n 1", call("n")),
        ("cached", lambda m: m.cached(1), "real 1", call(1)),
        ("an_object", lambda m: m.an_object(1), "object 1", call(1)),
        ("Callable_.__call__", lambda m: m.an_object(1), "object 1", call(1)),
    ],
)
def test_methods_classes_and_objects(mod, target, use, expected, recorded):
    def held():
        # `copy` keeps the names of slots in the class of what it copies
        objects = {name: getattr(mod, name) for name in ("Client", "Special", "client", "Callable_")}
        return {k: {n: v for n, v in vars(o).items() if n != "__slotnames__"} for k, o in objects.items()}

    before = held()
    real = run(spied(mod, target, lambda inputs: use(mod), passthrough=True))
    mocked = run(spied(mod, target, lambda inputs: str(use(mod))[:0]))

    assert real.final_trace.last.outputs == expected
    for result in (real, mocked):
        found = calls_of(result, mod, target)
        assert found["call_count"] == 1
        if recorded is not None:
            assert found["call_args"] == recorded
    assert mocked.final_trace.last.outputs == ""
    assert held() == before
    assert use(mod) == expected


@pytest.mark.parametrize("target", ["Client.afetch", "client.afetch", "an_async_object"])
@pytest.mark.parametrize("passthrough", [True, False])
def test_async_methods_and_objects(mod, target, passthrough):
    async def agent(inputs):
        function = mod.an_async_object if target == "an_async_object" else mod.client.afetch
        return str(await function("x")) if passthrough else is_real(await function("x"))

    result = run(spied(mod, target, agent, passthrough=passthrough))

    assert calls_of(result, mod, target)["call_args"] == call("x")
    assert result.final_trace.last.outputs in (False, "shared x", "object x")


def test_a_class_that_is_spied_on_stays_a_class_for_the_others(mod):
    Client = mod.Client
    found = []

    def agent(inputs):
        with dispatch.unspied():
            found.extend(
                [
                    isinstance(mod.client, mod.Client),
                    issubclass(mod.Special, mod.Client),
                    mod.Client.base,
                    type("New", (Client,), {}).__mro__[1] is Client,
                    types.new_class("Newer", (mod.Client,)).__mro__[1] is Client,
                ]
            )
        found.append(is_real(mod.Client.base))
        return "done"

    run(spied(mod, "Client", agent))
    assert found == [True, True, "real", True, True, False]


def test_two_functions_at_once(mod):
    async def agent(inputs):
        mod.fetch(1)
        await mod.afetch(2)
        return mod.Client("n").name

    inner = WithSpy(interaction_generator=Interact(inputs="q", outputs=agent), target=path(mod))
    outer = WithSpy(interaction_generator=inner, target=path(mod, "afetch"))
    whole = WithSpy(
        interaction_generator=WithSpy(interaction_generator=outer, target=path(mod, "Client"), passthrough=True),
        target=path(mod, "Client.fetch"),
    )
    metadata = asyncio.run(Trace.from_interactions(whole)).last.metadata

    assert metadata[path(mod)]["call_args"] == call(1)
    assert metadata[path(mod, "afetch")]["call_args"] == call(2)
    assert metadata[path(mod, "Client")]["call_args"] == call("n")
    assert metadata[path(mod, "Client.fetch")]["call_count"] == 0


def test_a_method_of_a_class_that_is_spied_on_too(mod):
    def agent(inputs):
        return mod.Client("n").fetch(7)

    inner = WithSpy(
        interaction_generator=Interact(inputs="q", outputs=agent), target=path(mod, "Client.fetch"), passthrough=True
    )
    outer = WithSpy(interaction_generator=inner, target=path(mod, "Client"), passthrough=True)
    turn = asyncio.run(Trace.from_interactions(outer)).last

    assert turn.outputs == "n 7"
    assert turn.metadata[path(mod, "Client.fetch")]["call_args"] == call(7)
    assert "fetch" in vars(mod.Client)


@pytest.mark.parametrize("target", ["copy.deepcopy", "threading.Lock"])
def test_what_the_spy_itself_uses_can_be_spied_on(target):
    import copy

    def agent(inputs):
        copy.deepcopy([1])
        threading.Lock()
        return "done"

    spec = WithSpy(interaction_generator=Interact(inputs="q", outputs=agent), target=target, passthrough=True)
    result = run(Scenario("s").add_interaction(spec))

    assert result.final_trace.last.metadata[target]["call_count"] >= 1


def test_a_module_that_was_imported_meanwhile_keeps_a_working_function(mod):
    kept = []

    def agent(inputs):
        kept.append(mod.fetch)
        return "done"

    run(spied(mod, "fetch", agent))
    assert kept[0] is not mod.fetch
    assert kept[0]("x") == "real x"


# ------------------------------------------------------------------ whose calls they are


def test_calls_from_outside_reach_the_real_function(mod):
    started, over = threading.Event(), threading.Event()

    def agent(inputs):
        mod.fetch(inputs)
        started.set()
        over.wait(5)
        return "done"

    async def main():
        task = asyncio.create_task(spied(mod, "fetch", agent).run())
        await asyncio.to_thread(started.wait, 5)
        other = await Scenario("other").interact("o", lambda inputs: mod.fetch(inputs)).run()
        here = mod.fetch("here")
        over.set()
        return await task, other, here

    result, other, here = asyncio.run(main())
    assert here == "real here"
    assert other.final_trace.last.outputs == "real o"
    assert calls_of(result, mod)["call_args_list"] == [call("q")]


def test_tasks_and_threads_that_copy_the_context_belong_to_the_scenario(mod):
    async def agent(inputs):
        await asyncio.gather(*(asyncio.to_thread(mod.fetch, i) for i in range(20)))
        await asyncio.create_task(asyncio.to_thread(mod.fetch, "task"))
        thread = threading.Thread(target=mod.fetch, args=("thread",))  # its context is empty
        thread.start()
        thread.join()
        return "done"

    assert calls_of(run(spied(mod, "fetch", agent)), mod)["call_count"] == 21


def test_a_check_calls_the_real_function(mod):
    from giskard.checks.builtin.fn import FnCheck

    scenario = spied(mod, "fetch", "static").check(FnCheck(fn=lambda trace: mod.fetch("x") == "real x"))

    assert run(scenario).passed


def test_two_hundred_scenarios_side_by_side(mod):
    real, areal, method = mod.fetch, mod.afetch, vars(mod.Client)["fetch"]

    async def agent(inputs):
        number = int(inputs)
        for turn in range(number % 3):
            await asyncio.sleep(0.001 * (number % 7))
            mod.fetch(inputs, turn=turn)
        await mod.afetch(inputs)
        return str(number)

    def blocking(inputs):
        mod.fetch(inputs)
        mod.fetch(inputs)
        return inputs

    def crashing(inputs):
        mod.fetch(inputs)
        raise ValueError("later")

    def scenario(number):
        outputs = (agent, blocking, crashing)[number % 10 // 8 + (number % 10 == 9)]
        inner = WithSpy(
            interaction_generator=Interact(inputs=str(number), outputs=outputs),
            target=path(mod),
            passthrough=number % 2 == 0,
        )
        spec = WithSpy(interaction_generator=inner, target=path(mod, "afetch"))
        return Scenario(f"s{number}").add_interaction(spec)

    async def main():
        return await asyncio.gather(*(scenario(i).run(return_exception=True) for i in range(200)))

    results = asyncio.run(main())

    assert (mod.fetch, mod.afetch, vars(mod.Client)["fetch"]) == (real, areal, method)
    for number, result in enumerate(results):
        if number % 10 == 9:
            assert result.errored and "later" in result.steps[0].error.message
            continue
        found = calls_of(result, mod)
        blocked = number % 10 == 8
        assert found["call_count"] == (2 if blocked else number % 3)
        assert {args.args[0] for args in found["call_args_list"]} <= {str(number)}
        assert calls_of(result, mod, "afetch")["call_args_list"] == ([] if blocked else [call(str(number))])


def test_runs_in_several_threads_with_loops_of_their_own(mod):
    real, counts = mod.fetch, []

    def agent(inputs):
        for _ in range(50):
            mod.fetch(inputs)
        return "done"

    def work():
        counts.append(calls_of(run(spied(mod, "fetch", agent)), mod)["call_count"])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == [50] * 8
    assert mod.fetch is real


def test_many_threads_of_one_turn_are_counted_right(mod):
    async def agent(inputs):
        def work():
            for _ in range(100):
                mod.fetch(inputs)

        await asyncio.gather(*(asyncio.to_thread(work) for _ in range(8)))
        return "done"

    assert calls_of(run(spied(mod, "fetch", agent)), mod)["call_count"] == 800


# ------------------------------------------------------------------ the function comes back


class Broken(InteractionSpec):
    closed: list = []

    async def generate(self, trace):
        try:
            yield Interaction(inputs=1, outputs=2)
            raise ValueError("broken")
        finally:
            self.closed.append(True)


def test_restored_after_a_crash_and_the_inner_spec_is_closed(mod):
    real, spec = mod.fetch, Broken()
    scenario = Scenario("s").add_interaction(WithSpy(interaction_generator=spec, target=path(mod)))

    result = run(scenario, return_exception=True)

    assert result.errored and result.steps[0].error.message == "broken"
    assert len(result.final_trace.interactions) == 1
    assert spec.closed == [True]
    assert mod.fetch is real


def test_restored_after_a_timeout(mod):
    real = mod.fetch

    async def agent(inputs):
        mod.fetch(inputs)
        await asyncio.sleep(30)

    scenario = spied(mod, "fetch", agent)
    scenario.timeout = 0.05
    result = run(scenario, return_exception=True)

    assert result.errored and result.steps[0].error.error_kind == "timeout"
    assert mod.fetch is real


def test_a_thread_that_was_given_up_reaches_the_real_function_in_the_end(mod):
    over, late = threading.Event(), []

    def agent(inputs):
        fetch = mod.fetch
        over.wait(5)
        late.append(fetch("late"))
        over.set()

    async def main():
        spec = Interact(inputs="q", outputs=agent, timeout=0.05)
        scenario = Scenario("s").add_interaction(WithSpy(interaction_generator=spec, target=path(mod)))
        result = await scenario.run(return_exception=True)
        over.set()
        while not late:
            await asyncio.sleep(0.01)
        return result

    assert asyncio.run(main()).errored
    assert late == ["real late"]


def test_restored_after_a_cancellation(mod):
    real = mod.fetch
    seen = []

    async def agent(inputs):
        mod.fetch(inputs)
        seen.append(mod.fetch is real)
        await asyncio.sleep(30)

    async def main():
        task = asyncio.create_task(spied(mod, "fetch", agent).run())
        while not seen:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == [False]
    assert mod.fetch is real


def test_restored_when_the_generator_is_left(mod):
    real = mod.fetch

    async def main():
        spec = WithSpy(interaction_generator=Broken(), target=path(mod))
        turns = spec.generate(Trace())
        await turns.asend(None)
        assert mod.fetch is not real
        await turns.aclose()
        assert mod.fetch is real
        abandoned = spec.generate(Trace())
        await abandoned.asend(None)
        del abandoned
        gc.collect()
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert mod.fetch is real


def test_a_patch_of_somebody_else_is_left_in_place(mod):
    real = mod.fetch

    def agent(inputs):
        mod.fetch = "theirs"
        return "done"

    run(spied(mod, "fetch", agent))
    assert mod.fetch == "theirs"

    mod.fetch = real
    with mock.patch(path(mod)) as theirs:
        result = run(spied(mod, "fetch", lambda inputs: f"{mod.fetch(inputs)}"[:0]))
        assert mod.fetch is theirs
    assert calls_of(result, mod)["call_count"] == 1
    assert theirs.call_count == 0
    assert mod.fetch is real


def test_objects_without_a_dict_are_restored(mod):
    class Slotted:
        __slots__ = ("fetch",)

    mod.slotted = Slotted()
    mod.slotted.fetch = real = mod.fetch
    result = run(spied(mod, "slotted.fetch", lambda inputs: f"{mod.slotted.fetch(1)}"[:0]))

    assert calls_of(result, mod, "slotted.fetch")["call_args"] == call(1)
    assert mod.slotted.fetch is real


def test_names_made_on_the_fly_are_taken_back(mod):
    mod.__getattr__ = lambda name: (
        mod.__dict__["fetch"] if name == "lazy" else (_ for _ in ()).throw(AttributeError(name))
    )

    result = run(spied(mod, "lazy", lambda inputs: f"{mod.lazy(1)}"[:0]))

    assert calls_of(result, mod, "lazy")["call_count"] == 1
    assert "lazy" not in vars(mod)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "target", ["trace.last.outputs", "trace.fetch", "fetch", "", "a..b", "a.b()", "a.b[0]", "a:b", " a.b", "1.b"]
)
def test_what_is_no_import_path_is_refused_when_it_is_built(target):
    with pytest.raises(ValueError, match=r"import path of a function.*myapp\.db\.fetch_orders"):
        WithSpy(interaction_generator=Interact(inputs=1), target=target)


@pytest.mark.parametrize("spec", ["text", 3, None, Interaction(inputs=1, outputs=2), {"kind": "nope"}])
def test_what_is_no_spec_is_refused_when_it_is_built(spec):
    with pytest.raises(ValueError, match="spec"):
        WithSpy(interaction_generator=spec, target="a.b")


def test_the_same_function_twice_is_refused():
    inner = WithSpy(interaction_generator=Interact(inputs=1), target="a.b")
    between = WithSpy(interaction_generator=inner, target="a.c")

    with pytest.raises(ValueError, match="inner WithSpy already"):
        WithSpy(interaction_generator=between, target="a.b")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("fecth", ["has no attribute 'fecth'", "did you mean 'fetch'?"]),
        ("Client.fecth", ["Client' has no attribute 'fecth'", "did you mean"]),
        ("Nope.fetch", ["has no attribute 'Nope'"]),
        ("NUMBER", ["is int", "expected a function"]),
        ("Client.label", ["is property", "expected a function"]),
    ],
)
def test_what_is_not_there_is_an_error_that_names_it(mod, target, words):
    result = run(spied(mod, target, "static"), return_exception=True)

    assert result.errored
    error = result.steps[0].error
    assert error.error_kind == "config"
    assert all(word in error.message for word in [path(mod, target), *words]), error.message


def test_a_module_that_is_not_there_is_named():
    spec = WithSpy(interaction_generator=Interact(inputs="q", outputs="a"), target="no_such_app.db.fetch")

    with pytest.raises(ConfigurationError, match=r"'no_such_app\.db\.fetch'.*no module 'no_such_app'"):
        run(Scenario("s").add_interaction(spec))


def test_a_module_that_misses_another_one_says_so(tmp_path, monkeypatch):
    (tmp_path / "misses_one.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = WithSpy(interaction_generator=Interact(inputs="q", outputs="a"), target="misses_one.fetch")

    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        run(Scenario("s").add_interaction(spec))


def test_what_cannot_be_replaced_says_so():
    spec = WithSpy(interaction_generator=Interact(inputs="q", outputs="a"), target="builtins.str.upper")

    with pytest.raises(ConfigurationError, match=r"builtins\.str\.upper.*cannot be replaced"):
        run(Scenario("s").add_interaction(spec))
    assert dispatch._patches == {}


def test_submodules_are_found():
    spec = WithSpy(
        interaction_generator=Interact(inputs="q", outputs=lambda inputs: __import__("os").path.join("a", inputs)),
        target="os.path.join",
        passthrough=True,
    )
    assert run(Scenario("s").add_interaction(spec)).final_trace.last.metadata["os.path.join"]["call_count"] == 1

    spec = WithSpy(interaction_generator=Interact(inputs="q", outputs="a"), target="json.decoder.scanstring")
    assert run(Scenario("s").add_interaction(spec)).passed


class NoInteraction(InteractionSpec):
    async def generate(self, trace):
        yield "text"


def test_a_spec_that_yields_something_else_is_named(mod):
    spec = WithSpy(interaction_generator=NoInteraction(), target=path(mod))

    with pytest.raises(TypeError, match=r"NoInteraction\.generate yielded str"):
        run(Scenario("s").add_interaction(spec))


# ------------------------------------------------------------------ as a spec


def test_save_and_load(mod):
    spec = WithSpy(
        interaction_generator=Interact(inputs="q", outputs="a", metadata={"k": 1}), target=path(mod), passthrough=True
    )
    for dumped in (json.loads(spec.model_dump_json()), spec.model_dump()):
        assert dumped["kind"] == "with_spy"
        loaded = InteractionSpec.model_validate(dumped)
        assert type(loaded) is WithSpy
        assert loaded == spec

    scenario = Scenario("s").add_interaction(spec)
    again = Scenario.model_validate_json(scenario.model_dump_json())
    assert run(again).final_trace == run(scenario).final_trace


def test_outputs_that_are_missing_are_asked_of_the_target(mod):
    spec = WithSpy(interaction_generator=Interact(inputs="q"), target=path(mod))
    scenario = Scenario("s", target=lambda inputs: f"{mod.fetch(inputs)}"[:0] + "answer").add_interaction(spec)

    result = run(scenario)
    assert result.final_trace.last.outputs == "answer"
    assert calls_of(result, mod)["call_args"] == call("q")


def test_context_variables_that_a_target_sets_stay_set(mod):
    from contextvars import ContextVar

    variable = ContextVar("variable", default="unset")

    async def agent(inputs):
        variable.set("set")
        return "done"

    from giskard.checks.builtin.fn import FnCheck

    scenario = spied(mod, "fetch", agent).check(FnCheck(fn=lambda trace: variable.get() == "set"))
    assert run(scenario).passed


def test_partial_and_late_bound_names(mod):
    def agent(inputs):
        return functools.partial(mod.fetch, inputs)()

    with contextlib.suppress(AttributeError):
        del mod.cached
    result = run(spied(mod, "fetch", agent, passthrough=True))
    assert result.final_trace.last.outputs == "real q"
