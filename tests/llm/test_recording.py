"""The door of all calls to the outside: who answers, and what passes."""

import asyncio
import subprocess
import sys
import threading

import pytest

from giskard.checks import FnCheck, Scenario
from giskard.checks.llm import recording
from giskard.checks.llm.cache import model_cache
from giskard.checks.llm.cassettes import cassette
from giskard.checks.llm.recording import Worker, active, recorded


class Model:
    """Answers with how often it was asked."""

    def __init__(self):
        self.calls = 0

    async def ask(self, text="Hello!", *, kind="chat", sample=0, **request):
        async def call():
            self.calls += 1
            await asyncio.sleep(0)
            return {"text": f"{text} {self.calls}"}

        request = {"model": "m", "messages": [{"role": "user", "content": text}], **request}
        return await recorded(kind, request, call, sample, identity="m")


@pytest.fixture
def model():
    return Model()


def test_it_is_nothing_but_the_call_when_nothing_is_entered(model):
    assert not active()
    assert asyncio.run(model.ask()) == ({"text": "Hello! 1"}, "model")
    assert asyncio.run(model.ask()) == ({"text": "Hello! 2"}, "model")


def test_what_the_call_raises_comes_out(tmp_path):
    async def call():
        raise KeyError("mine")

    for block in (cassette(tmp_path / "x.json"), model_cache(tmp_path)):
        with block, pytest.raises(KeyError, match="mine"):
            asyncio.run(recorded("chat", {}, call))


def test_it_is_active_within_the_block_and_nowhere_else(tmp_path, model):
    seen = []
    elsewhere = threading.Thread(target=lambda: seen.append(active()))
    with cassette(tmp_path / "x.json") as tape:
        assert active()
        elsewhere.start()
        elsewhere.join()
    assert not active()
    assert seen == [False]
    assert tape.recorded == []


def test_tasks_that_run_at_the_same_time_do_not_mix(tmp_path):
    async def run(name, other):
        model = Model()
        with cassette(tmp_path / f"{name}.json") as tape:
            await model.ask(name)
            other.set()
            await events[name].wait()
            await model.ask(f"{name} again")
        assert active() is False
        return [str(call) for call in tape.recorded]

    async def main():
        events.update(a=asyncio.Event(), b=asyncio.Event())
        return await asyncio.gather(run("a", events["b"]), run("b", events["a"]))

    events = {}

    assert asyncio.run(main()) == [["chat m: 'a'", "chat m: 'a again'"], ["chat m: 'b'", "chat m: 'b again'"]]


def test_of_two_cassettes_the_inner_one_answers(tmp_path, model):
    with cassette(tmp_path / "outer.json") as outer:
        asyncio.run(model.ask("before"))
        with cassette(tmp_path / "inner.json") as inner:
            asyncio.run(model.ask("within"))
        asyncio.run(model.ask("after"))

    assert [call.text for call in outer.recorded] == ["chat m: 'before'", "chat m: 'after'"]
    assert [call.text for call in inner.recorded] == ["chat m: 'within'"]


def test_a_cassette_asks_the_cache_for_what_it_does_not_have(tmp_path, model):
    with model_cache(tmp_path):
        asyncio.run(model.ask())
        with cassette(tmp_path / "x.json") as tape:
            assert asyncio.run(model.ask()) == ({"text": "Hello! 1"}, "cache")
        with cassette(tmp_path / "x.json"):
            assert asyncio.run(model.ask()) == ({"text": "Hello! 1"}, "cassette")
    assert len(tape.recorded) == 1
    assert model.calls == 1


def test_which_of_both_is_the_inner_one_does_not_count(tmp_path, model):
    with cassette(tmp_path / "x.json"), model_cache(tmp_path) as cache:
        asyncio.run(model.ask())
    with cassette(tmp_path / "x.json", "replay"), model_cache(tmp_path):
        assert asyncio.run(model.ask())[1] == "cassette"
    assert cache.misses == 1


def test_recording_anew_asks_the_model_and_not_the_cache(tmp_path, model):
    with model_cache(tmp_path):
        asyncio.run(model.ask())
        with cassette(tmp_path / "x.json", "record"):
            assert asyncio.run(model.ask()) == ({"text": "Hello! 2"}, "model")


def test_what_was_closed_lets_calls_pass(tmp_path, model):
    async def main():
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def later():
            begun.set()
            await go_on.wait()
            return await model.ask()

        with cassette(tmp_path / "x.json") as tape, model_cache(tmp_path) as cache:
            task = asyncio.create_task(later())
            await begun.wait()
        go_on.set()
        return await task, tape, cache

    answer, tape, cache = asyncio.run(main())

    assert answer == ({"text": "Hello! 1"}, "model")
    assert (tape.recorded, cache.misses) == ([], 0)


def test_a_block_may_be_left_in_another_context_than_it_was_entered_in(tmp_path, model):
    async def enter(tape):
        tape.__enter__()

    tape = cassette(tmp_path / "x.json")
    asyncio.run(enter(tape))
    tape.__exit__(None, None, None)

    assert not active()


def test_the_trial_of_a_scenario_is_a_part_of_what_is_asked(tmp_path, model):
    async def agent(inputs):
        answer, source = await model.ask(inputs)
        return f"{source}: {answer['text']}"

    scenario = (
        Scenario("s", target=agent, multiple_runs=2).interact("Hi").check(FnCheck(fn=lambda trace: True, name="ok"))
    )

    outputs = []
    for _ in range(2):
        with cassette(tmp_path / "x.json") as tape:
            scenario.run_sync()
            outputs.append([(call.trial, call.text) for call in tape.recorded + tape.replayed])

    assert outputs == [[(1, "chat m: 'Hi'"), (2, "chat m trial 2: 'Hi'")]] * 2
    assert model.calls == 2


def test_a_call_outside_of_a_scenario_is_one_of_the_first_trial(tmp_path, model):
    async def agent(inputs):
        return (await model.ask(inputs))[1]

    with cassette(tmp_path / "x.json"):
        asyncio.run(model.ask("Hi"))
        Scenario("s", target=agent).interact("Hi").run_sync()
    with cassette(tmp_path / "x.json", "strict"):
        asyncio.run(model.ask("Hi"))
        asyncio.run(model.ask("Hi"))


def test_what_is_set_for_all_is_the_last_to_be_asked(tmp_path, model):
    common = model_cache(tmp_path / "common").open()
    recording.set_recorder_for_all(common)
    try:
        assert recording.recorder_for_all() is common
        assert active()
        asyncio.run(model.ask())
        assert asyncio.run(model.ask())[1] == "cache"
        with model_cache(tmp_path / "own"):
            assert asyncio.run(model.ask())[1] == "model"
    finally:
        recording.set_recorder_for_all(None)
        common.close()
    assert not active()


# --- the thread for files ----------------------------------------------------------------


def test_work_is_done_in_order_in_one_thread_and_by_any_loop():
    worker, done = Worker(), []

    async def main(start):
        return await asyncio.gather(*(worker.run(lambda n=n: done.append(n) or threading.get_ident()) for n in start))

    threads = {*asyncio.run(main(range(50))), *asyncio.run(main(range(50, 100)))}

    assert done == list(range(100))
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    worker.end()
    worker.end()
    assert worker.submit(lambda: 3).result() == 3
    worker.end()


def test_what_work_raises_comes_out():
    worker = Worker()

    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(worker.run(fails))
    worker.end()


def test_work_is_done_also_when_the_interpreter_ends():
    code = (
        "import atexit\n"
        "from giskard.checks.llm.recording import Worker\n"
        "def fails(): raise KeyError('mine')\n"
        "def late():\n"
        "    print(worker.submit(lambda: 'late').result(), worker.submit(fails).exception())\n"
        "worker = Worker()\n"
        "atexit.register(late)\n"
        "worker.submit(lambda: print('early'))\n"
    )
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("early\nlate 'mine'\n", "")
