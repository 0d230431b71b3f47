"""Worker threads for blocking calls."""

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from giskard.checks.utils import threads
from giskard.checks.utils.threads import NoFreeThread, WorkerPool

user = contextvars.ContextVar("user", default="nobody")


def test_calls_run_in_threads_with_the_context_of_the_caller():
    async def main():
        user.set("caller")

        def call():
            seen = user.get()
            user.set("thread")
            return seen, threading.current_thread() is threading.main_thread()

        with WorkerPool(1) as pool:
            assert await pool.run(call) == ("caller", False)
            assert await pool.run(call) == ("caller", False)
        assert user.get() == "caller"

    asyncio.run(main())


def test_never_more_calls_run_than_the_pool_has_threads():
    running, most, lock = 0, 0, threading.Lock()
    meeting = threading.Barrier(3, timeout=20)

    def call():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        meeting.wait()
        with lock:
            running -= 1

    async def main():
        with WorkerPool(3) as pool:
            await asyncio.gather(*(pool.run(call) for _ in range(9)))

    asyncio.run(main())
    assert most == 3


def test_one_thread_serves_calls_that_follow_each_other():
    async def main():
        with WorkerPool(10) as pool:
            return {await pool.run(threading.get_ident) for _ in range(20)}

    assert len(asyncio.run(main())) <= 2  # a thread counts itself free just after it has answered


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_any_exception_comes_out(error):
    def call():
        raise error

    async def main():
        with WorkerPool(1) as pool:
            try:
                await pool.run(call)
            except BaseException as raised:
                return raised

    assert asyncio.run(main()) is error


def test_stop_iteration_comes_out_as_the_cause_of_a_runtime_error():
    async def main():
        with WorkerPool(1) as pool:
            await pool.run(lambda: next(iter(())))

    with pytest.raises(RuntimeError, match="StopIteration") as raised:
        asyncio.run(main())
    assert isinstance(raised.value.__cause__, StopIteration)


def test_a_call_that_was_given_up_keeps_its_thread_until_it_returns(monkeypatch):
    monkeypatch.setattr(threads, "_LEAST_PATIENCE", 20)
    release, started, second = threading.Event(), threading.Event(), threading.Event()

    def hang():
        started.set()
        release.wait(20)

    async def main():
        with WorkerPool(1) as pool:
            first = asyncio.ensure_future(pool.run(hang))
            while not started.is_set():
                await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            waiting = asyncio.ensure_future(pool.run(second.set))
            for _ in range(20):
                await asyncio.sleep(0)
            assert not second.is_set()
            release.set()
            await waiting

    asyncio.run(main())
    assert second.is_set()


def test_a_call_that_was_given_up_before_it_began_is_not_made():
    release, made = threading.Event(), []

    async def main():
        with WorkerPool(1) as pool:
            first = asyncio.ensure_future(pool.run(lambda: release.wait(20)))
            second = asyncio.ensure_future(pool.run(lambda: made.append(2)))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait([second])
            release.set()
            await first
            await pool.run(lambda: made.append(3))

    asyncio.run(main())
    assert made == [3]


class Hanging:
    """A call that does not return before it is released, and says when it has begun."""

    def __init__(self):
        self.began, self.release = threading.Event(), threading.Event()
        self.thread = None

    def __call__(self):
        self.thread = threading.current_thread()
        self.began.set()
        self.release.wait(20)
        return "released"

    def end(self):
        self.release.set()
        if self.thread is not None:
            self.thread.join(20)
            assert not self.thread.is_alive()

    async def begins_in(self, pool):
        task = asyncio.ensure_future(pool.run(self))
        while not self.began.is_set():
            await asyncio.sleep(0)
        return task


async def give_up(*tasks):
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def test_a_call_fails_when_calls_that_were_given_up_hold_all_threads():
    hanging = [Hanging(), Hanging()]

    async def main():
        with WorkerPool(2) as pool:
            await give_up(*[await call.begins_in(pool) for call in hanging])
            for _ in range(2):
                with pytest.raises(NoFreeThread, match="2 calls that timed out have not returned"):
                    await pool.run(int)
            hanging[0].release.set()
            while len(pool._given_up) == 2:
                await asyncio.sleep(0)
            assert await pool.run(int) == 0

    asyncio.run(main())
    for call in hanging:
        call.end()


def test_calls_that_wait_fail_when_the_last_thread_is_given_up():
    lost, live = Hanging(), Hanging()

    async def main():
        with WorkerPool(2) as pool:
            await give_up(await lost.begins_in(pool))
            last = await live.begins_in(pool)
            waiting = [asyncio.ensure_future(pool.run(int)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[1].cancel()
            await give_up(last)
            return await asyncio.gather(*waiting, return_exceptions=True)

    first, second, third = asyncio.run(main())
    lost.end()
    live.end()

    assert isinstance(first, NoFreeThread)
    assert isinstance(second, asyncio.CancelledError)
    assert isinstance(third, NoFreeThread)
    assert "give the function a time limit of its own" in str(third)


def test_a_call_waits_as_long_as_one_thread_is_live():
    lost, live = Hanging(), Hanging()

    async def main():
        with WorkerPool(2) as pool:
            await give_up(await lost.begins_in(pool))
            last = await live.begins_in(pool)
            waiting = asyncio.ensure_future(pool.run(int))
            await asyncio.sleep(0)
            pool._refuse_waiting(asyncio.get_running_loop())
            await asyncio.sleep(0)
            assert not waiting.done()
            live.release.set()
            return await last, await waiting

    assert asyncio.run(main()) == ("released", 0)
    lost.end()


def test_a_slow_call_that_was_given_up_does_not_take_the_thread_from_the_next(monkeypatch):
    monkeypatch.setattr(threads, "_LEAST_PATIENCE", 20)
    slow = Hanging()

    async def main():
        with WorkerPool(1) as pool:
            await give_up(await slow.begins_in(pool))
            waiting = asyncio.ensure_future(pool.run(int))
            await asyncio.sleep(0)
            slow.release.set()
            return await waiting

    assert asyncio.run(main()) == 0
    slow.end()


def test_giving_up_in_a_loop_that_is_closed_is_no_error():
    slow = Hanging()
    loop = asyncio.new_event_loop()
    pool = WorkerPool(1)
    coroutine = pool.run(slow)
    loop.call_soon(coroutine.send, None)
    loop.call_soon(loop.stop)
    loop.run_forever()
    slow.began.wait(20)
    loop.close()
    coroutine.close()
    pool.close()

    assert slow.thread.is_alive()
    slow.end()


def test_a_thread_that_hangs_does_not_keep_the_program_from_ending():
    code = """
import asyncio, threading
from giskard.checks.utils.threads import WorkerPool

async def main():
    started = threading.Event()
    def hang():
        started.set()
        threading.Event().wait()
    with WorkerPool(1) as pool:
        task = asyncio.ensure_future(pool.run(hang))
        while not started.is_set():
            await asyncio.sleep(0)
        task.cancel()
asyncio.run(main())
print("ended")
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout, done.stderr, done.returncode) == ("ended\n", "", 0)


def test_the_threads_end_with_the_pool():
    async def main():
        with WorkerPool(2) as pool:
            return await asyncio.gather(*(pool.run(threading.current_thread) for _ in range(4)))

    for thread in set(asyncio.run(main())):
        thread.join(20)
        assert not thread.is_alive()
        assert thread.daemon
