"""Two hundred scenarios that spy on the same functions at the same time: each sees its own calls, none is left."""

import asyncio
import json
import sys
import threading
import types
import uuid
from unittest.mock import call

import pytest

from giskard.checks import FnCheck, Interact, Interaction, Scenario, Suite, TestCase, Trace, WithSpy
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.testing import _dispatch as dispatch

SOURCE = """
import types

class Client:
    def __init__(self, name="c"): self.name = name
    def fetch(self, x): return f"method {x}"
    async def afetch(self, x): return f"async method {x}"
    @classmethod
    def make(cls, x): return f"{cls.__name__} {x}"
    @staticmethod
    def helper(x): return f"static {x}"

def fetch(x): return f"real {x}"
async def afetch(x): return f"async {x}"

client = Client("shared")
tools = types.SimpleNamespace(search=fetch)
"""

TARGETS = ["fetch", "afetch", "Client.fetch", "Client.afetch", "Client.make", "Client.helper", "tools.search"]
COUNT = 200


@pytest.fixture
def mod():
    name = f"spied_app_{uuid.uuid4().hex}"
    module = sys.modules[name] = types.ModuleType(name)
    exec(SOURCE, module.__dict__)
    before = held(module)
    yield module
    assert dispatch._patches == {}
    assert held(module) == before
    for target, function in before.items():
        assert held(module)[target] is function
    del sys.modules[name]


def held(mod):
    """The very objects that stand under the names."""
    found = {}
    for target in TARGETS:
        *path, name = target.split(".")
        owner = mod
        for part in path:
            owner = vars(owner)[part]
        found[target] = vars(owner)[name]
    return found


def spied(mod, number, outputs, passthrough, *, timeout=None):
    spec = Interact(inputs=str(number), outputs=outputs, timeout=timeout)
    for target in TARGETS:
        spec = WithSpy(interaction_generator=spec, target=f"{mod.__name__}.{target}", passthrough=passthrough)
    return Scenario(f"s{number}").add_interaction(spec)


def agents(mod):
    """An async and a sync agent; each calls everything with its own message, as often as its number says."""

    def times(inputs):
        return range(int(inputs) % 3 + 1)

    async def agent(inputs):
        answers = []
        for _ in times(inputs):
            await asyncio.sleep(0)
            answers += [mod.fetch(inputs), mod.client.fetch(inputs), mod.Client.make(inputs)]
            await asyncio.sleep(0)
            answers += [mod.Client.helper(inputs), mod.tools.search(inputs)]
            answers += [await mod.afetch(inputs), await mod.client.afetch(inputs)]
        return [str(answer) for answer in answers if isinstance(answer, str)]

    def blocking(inputs):
        answers = []
        for _ in times(inputs):
            answers += [mod.fetch(inputs), mod.client.fetch(inputs), mod.Client.make(inputs)]
            answers += [mod.Client.helper(inputs), mod.tools.search(inputs)]
            answers += [asyncio.run(mod.afetch(inputs)), asyncio.run(mod.client.afetch(inputs))]
        return [str(answer) for answer in answers if isinstance(answer, str)]

    return agent, blocking


def run(suite, **options):
    return suite.run_sync(parallel=True, verbose=False, **options)


def assert_own_calls(mod, result, number):
    metadata = result.final_trace.last.metadata
    for target in TARGETS:
        found = metadata[f"{mod.__name__}.{target}"]
        assert found["call_args_list"] == [call(str(number))] * (number % 3 + 1), (target, number)
        assert found["call_count"] == number % 3 + 1


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("kind", ["async", "sync", "both"])
def test_each_sees_its_own_calls(mod, kind, passthrough):
    both = agents(mod)
    chosen = {"async": [both[0]], "sync": [both[1]], "both": both}[kind]
    scenarios = [spied(mod, number, chosen[number % len(chosen)], passthrough) for number in range(COUNT)]

    result = run(Suite("all", scenarios), max_concurrency=50 if kind != "async" else None)

    assert result
    for number, one in enumerate(result.results):
        assert_own_calls(mod, one, number)
        expected = ["real {0}", "method {0}", "Client {0}", "static {0}", "real {0}", "async {0}", "async method {0}"]
        real = [text.format(number) for text in expected] * (number % 3 + 1)
        assert one.final_trace.last.outputs == (real if passthrough else [])


def test_some_spy_and_some_let_the_calls_through(mod):
    agent, _ = agents(mod)

    result = run(Suite("all", [spied(mod, number, agent, passthrough=number % 2 == 0) for number in range(60)]))

    for number, one in enumerate(result.results):
        assert_own_calls(mod, one, number)
        assert bool(one.final_trace.last.outputs) == (number % 2 == 0)


def test_crashes_and_timeouts_among_them(mod):
    agent, blocking = agents(mod)
    given_up = threading.Event()

    async def crash(inputs):
        await agent(inputs)
        raise ConnectionError(f"{inputs} hung up")

    async def hang(inputs):
        await agent(inputs)
        await asyncio.Event().wait()

    def crash_in_a_thread(inputs):
        blocking(inputs)
        raise ConnectionError(f"{inputs} hung up")

    def hang_in_a_thread(inputs):
        mod.fetch(inputs)
        given_up.wait(30)

    outputs = [agent, crash, hang, blocking, crash_in_a_thread]
    scenarios = []
    for number in range(COUNT):
        target = hang_in_a_thread if number % 50 == 2 else outputs[number % 5]
        limited = target in (hang, hang_in_a_thread)
        scenarios.append(spied(mod, number, target, number % 2 == 0, timeout=0.05 if limited else None))

    result = run(Suite("all", scenarios), return_exception=True)
    given_up.set()

    for number, one in enumerate(result.results):
        if number % 5 in (0, 3):
            assert one.passed, one
            assert_own_calls(mod, one, number)
        else:
            [step] = one.steps
            assert step.error.error_kind == ("timeout" if number % 5 == 2 else "crash")
            assert number % 5 == 2 or step.error.message == f"{number} hung up"


def test_limits_of_scenarios_and_of_the_whole_run(mod):
    agent, _ = agents(mod)

    async def hang(inputs):
        await agent(inputs)
        await asyncio.Event().wait()

    scenarios = [spied(mod, number, hang if number % 2 else agent, passthrough=False) for number in range(60)]
    for number in range(1, 60, 4):
        scenarios[number].timeout = 0.05

    result = run(Suite("all", scenarios), timeout=1)

    for number, one in enumerate(result.results):
        if one.passed:  # on a slow machine not all have the time
            assert number % 2 == 0
            assert_own_calls(mod, one, number)
        else:
            assert one.steps[0].error.error_kind == "timeout"


@pytest.mark.parametrize("passthrough", [False, True])
def test_a_cancellation_of_the_whole_run(mod, passthrough):
    agent, _ = agents(mod)
    over = threading.Event()

    async def main():
        waiting = 0
        all_wait = asyncio.Event()
        loop = asyncio.get_running_loop()

        def one_more():
            nonlocal waiting
            waiting += 1
            if waiting == COUNT // 2:
                all_wait.set()

        async def hang(inputs):
            await agent(inputs)
            one_more()
            await asyncio.Event().wait()

        def hang_in_a_thread(inputs):
            mod.fetch(inputs)
            loop.call_soon_threadsafe(one_more)
            over.wait(30)

        def outputs(number):
            return agent if number % 2 == 0 else hang_in_a_thread if number % 40 == 1 else hang

        scenarios = [spied(mod, number, outputs(number), passthrough) for number in range(COUNT)]
        task = asyncio.create_task(Suite("all", scenarios).run(parallel=True, return_exception=True, verbose=False))
        await all_wait.wait()
        assert dispatch._patches
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as stopped:
            await task
        over.set()
        return stopped.value.partial_result

    result = asyncio.run(main())

    assert [one.status.value for one in result.results] == ["pass", "error"] * (COUNT // 2)
    for number in range(0, COUNT, 2):
        assert_own_calls(mod, result.results[number], number)


def test_an_exception_that_ends_the_run(mod):
    agent, _ = agents(mod)

    async def crash(inputs):
        await agent(inputs)
        raise ConnectionError("peer hung up")

    scenarios = [spied(mod, number, crash if number == 40 else agent, passthrough=False) for number in range(60)]

    with pytest.raises(ConnectionError, match="peer hung up"):
        run(Suite("all", scenarios))


def test_scenarios_that_do_not_spy_are_left_alone(mod):
    agent, _ = agents(mod)
    scenarios = []
    for number in range(60):
        plain = Scenario(f"s{number}").interact(str(number), agent)
        scenarios.append(plain if number % 2 else spied(mod, number, agent, passthrough=False))
    checks = [FnCheck(fn=lambda trace: mod.fetch("x") == "real x" and mod.client.fetch("x") == "method x")]
    for scenario in scenarios:
        scenario.checks(*checks)
    scenarios.append(TestCase(trace=Trace(interactions=[Interaction(inputs=1, outputs=2)]), checks=checks))

    result = run(Suite("all", scenarios))

    result.assert_passed()
    for number, one in enumerate(result.results[:-1]):
        assert bool(one.final_trace.last.outputs) == bool(number % 2)


def test_attempts_see_the_calls_of_their_own(mod):
    agent, _ = agents(mod)
    scenarios = [spied(mod, number, agent, passthrough=True) for number in range(30)]

    result = run(Suite("all", scenarios), multiple_runs=3)

    for number, one in enumerate(result.results):
        assert len(one.attempts) == 3
        for attempt in one.attempts:
            assert_own_calls(mod, attempt, number)


def test_what_was_recorded_is_written_and_read_again(mod):
    agent, _ = agents(mod)
    result = run(Suite("all", [spied(mod, number, agent, passthrough=False) for number in range(5)]))

    dumped = json.loads(result.model_dump_json())

    metadata = dumped["results"][4]["final_trace"]["interactions"][0]["metadata"]
    assert metadata[f"{mod.__name__}.tools.search"]["call_args_list"] == [{"args": ["4"], "kwargs": {}}] * 2
    assert f'testcase classname="all" name="s{4}"' in result.to_junit_xml()


# ------------------------------------------------------------------ wrong targets


@pytest.mark.parametrize(
    ("target", "missing"),
    [
        ("fetsh", "has no attribute 'fetsh'; did you mean 'fetch'?"),
        ("Client.fetsh", "Client' has no attribute 'fetsh'; did you mean 'fetch'?"),
        ("Cleint.fetch", "has no attribute 'Cleint'; did you mean 'Client'?"),
        ("tools.serch", "tools' has no attribute 'serch'; did you mean 'search'?"),
        ("client.name", "is str, expected a function, a method or a class"),
        ("client.name.nothing", "client.name' has no attribute 'nothing'"),
        ("fetch.inner", "fetch' has no attribute 'inner'"),
    ],
)
def test_a_wrong_target_is_an_error_that_names_what_is_missing(mod, target, missing):
    whole = f"{mod.__name__}.{target}"
    scenario = Scenario("s").append(WithSpy(interaction_generator=Interact(inputs="q", outputs="a"), target=whole))

    with pytest.raises(ConfigurationError) as raised:
        scenario.run_sync()
    assert repr(whole) in str(raised.value) and missing in str(raised.value)
    result = Suite("all", [scenario, scenario]).run_sync(parallel=True, return_exception=True)
    assert [one.steps[0].error.error_kind for one in result.results] == ["config", "config"]
    assert missing in result.results[0].steps[0].error.message
