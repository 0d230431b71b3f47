"""Worker threads for blocking calls."""

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from giskard.checks.utils.threads import WorkerPool

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


def test_a_call_that_was_given_up_keeps_its_thread_until_it_returns():
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
