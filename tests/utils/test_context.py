"""Coroutines in a context of their own."""

import asyncio
import contextvars

import pytest

from giskard.checks.utils.context import InContext

user = contextvars.ContextVar("user", default="nobody")


def test_what_it_sets_stays_there_and_the_task_is_the_same():
    async def inside(task):
        assert user.get() == "caller"
        user.set("inside")
        for _ in range(3):
            await asyncio.sleep(0)
            assert user.get() == "inside"
            assert asyncio.current_task() is task
        return "answer"

    async def main():
        user.set("caller")
        assert await InContext(inside(asyncio.current_task()), contextvars.copy_context()) == "answer"
        assert user.get() == "caller"

    asyncio.run(main())


def test_exceptions_go_through_in_both_directions():
    log = []

    async def raises():
        await asyncio.sleep(0)
        raise ValueError("boom")

    async def catches():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append(user.get())
            raise

    async def main():
        with pytest.raises(ValueError, match="boom"):
            await InContext(raises(), contextvars.copy_context())

        async def other():
            user.set("other")
            await InContext(catches(), contextvars.copy_context())

        task = asyncio.ensure_future(other())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert log == ["other"]


def test_it_is_closed_with_the_one_who_awaits_it():
    closed = []

    async def inside():
        try:
            await asyncio.Future()
        finally:
            closed.append(user.get())

    async def outside():
        await InContext(inside(), contextvars.copy_context())

    async def main():
        user.set("main")
        coroutine = outside()
        coroutine.send(None)
        coroutine.close()

    asyncio.run(main())
    assert closed == ["main"]
