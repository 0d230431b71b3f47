"""One object for each event loop."""

import asyncio
import copy
import gc
import pickle
import threading
import weakref

import pytest

from giskard.checks.utils.per_loop import PerLoop


class Client:
    made = 0

    def __init__(self):
        self.loop = asyncio.get_running_loop()  # as connections do
        self.closed_in = None

    async def aclose(self):
        await asyncio.sleep(0)
        self.closed_in = asyncio.get_running_loop()


def clients():
    made = []

    def make():
        made.append(Client())
        return made[-1]

    return PerLoop(make, Client.aclose), made


def test_a_loop_gets_one_object_and_closes_it():
    held, made = clients()

    async def main():
        assert held.get() is held.get()
        await asyncio.gather(*(asyncio.to_thread(int) for _ in range(3)))
        assert held.get() is made[0]
        assert made[0].closed_in is None
        return asyncio.get_running_loop()

    first = asyncio.run(main())

    assert [client.closed_in for client in made] == [first]


def test_the_next_loop_gets_another():
    held, made = clients()

    async def main():
        return held.get()

    assert asyncio.run(main()) is not asyncio.run(main())
    assert all(client.closed_in is client.loop for client in made)
    assert len(held._held) == 0


def test_the_loops_of_several_threads_get_one_each():
    held, made = clients()
    barrier = threading.Barrier(8)

    async def main():
        barrier.wait()
        assert len({id(held.get()) for _ in range(100)}) == 1
        barrier.wait()

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 8
    assert all(client.closed_in is client.loop for client in made)


def test_a_loop_that_is_closed_without_ceremony_is_not_kept():
    held, made = clients()
    loop = asyncio.new_event_loop()

    async def main():
        held.get()

    loop.run_until_complete(main())
    loop.close()
    gone = weakref.ref(loop)
    asyncio.run(main())
    made.clear()
    del loop
    gc.collect()

    assert gone() is None


def test_an_owner_that_is_gone_closes_what_it_had():
    held, made = clients()

    async def main():
        nonlocal held
        held.get()
        held = None
        while made[0].closed_in is None:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), 5))


def test_it_can_be_closed_early():
    held, made = clients()

    async def main():
        await held.aclose()
        held.get()
        await held.aclose()
        assert made[0].closed_in is not None
        assert held.get() is made[1]

    asyncio.run(main())

    assert made[1].closed_in is made[1].loop


def test_what_fails_to_be_made_is_made_anew():
    calls = []

    def make():
        calls.append(1)
        if len(calls) == 1:
            raise OSError("no")
        return "made"

    async def close(_):
        pass

    held = PerLoop(make, close)

    async def main():
        with pytest.raises(OSError):
            held.get()
        return held.get()

    assert asyncio.run(main()) == "made"


def test_there_is_none_outside_of_a_loop():
    with pytest.raises(RuntimeError):
        clients()[0].get()


async def close(client):
    await client.aclose()


def test_a_copy_has_objects_of_its_own():
    held = PerLoop(Client, close)

    async def main():
        copies = [copy.copy(held), copy.deepcopy(held), pickle.loads(pickle.dumps(held))]
        return {id(each) for each in [held.get(), *(each.get() for each in copies)]}

    assert len(asyncio.run(main())) == 4
