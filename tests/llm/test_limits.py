"""How many calls go out at once, and how fast."""

import asyncio
import itertools

import pytest

from giskard.checks.llm._addresses import find_address
from giskard.checks.llm._loops import loop_state
from giskard.checks.llm.generator import Generator
from giskard.checks.llm.limits import Gate
from giskard.checks.llm.types import Completion, Message
from tests.llm import server as serving
from tests.llm.server import ModelServer

HELLO = [Message("user", "Hello?")]


def asking(server: ModelServer, **fields) -> Generator:
    return Generator(**{"model": "openai/gpt-4o-mini", "base_url": server.url, "api_key": "a-key"} | fields)


async def gathered(*generators: Generator) -> list[Completion]:
    return await asyncio.gather(*[generator.complete(HELLO) for generator in generators])


def gate_of(server: ModelServer) -> Gate:
    return loop_state().gate(find_address("openai/gpt-4o-mini", server.url, "a-key"))


def test_no_more_calls_are_under_way_than_allowed(server):
    server.script(*[serving.held()] * 3)
    generator = asking(server, max_concurrency=3)

    async def ten():
        calls = asyncio.gather(*[generator.complete(HELLO) for _ in range(10)])
        await server.arrival(3)
        server.release()
        return await calls

    assert len(asyncio.run(ten())) == 10
    assert server.max_in_flight == 3
    assert server.connections == 3


def test_objects_that_name_one_limit_share_it(server):
    server.script(*[serving.held()] * 2)

    async def several():
        calls = asyncio.ensure_future(
            gathered(*[asking(server, max_concurrency=2, temperature=t / 10) for t in range(6)])
        )
        await server.arrival(2)
        server.release()
        return await calls

    assert len(asyncio.run(several())) == 6
    assert server.max_in_flight == 2


def test_another_model_has_its_own_limit(server):
    server.script(*[serving.held()] * 2)

    async def both():
        calls = asyncio.ensure_future(
            gathered(asking(server, max_concurrency=1), asking(server, model="gpt-5", max_concurrency=1))
        )
        await server.arrival(2)
        server.release()
        return await calls

    assert len(asyncio.run(both())) == 2
    assert server.max_in_flight == 2


def test_fifty_calls_are_under_way_by_default_each_on_its_connection(server):
    server.script(*[serving.held()] * 50)
    generator = asking(server)

    async def sixty():
        calls = asyncio.gather(*[generator.complete(HELLO) for _ in range(60)])
        await server.arrival(50)
        server.release()
        return await calls

    assert len(asyncio.run(sixty())) == 60
    assert server.max_in_flight == 50


def test_a_call_that_is_cancelled_gives_its_place_back(server):
    server.script(serving.held())
    generator = asking(server, max_concurrency=1)

    async def cancelled():
        first, second = (asyncio.create_task(generator.complete(HELLO)) for _ in range(2))
        await server.arrival(1)
        second.cancel()  # while it waits for its place
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        return await generator.complete(HELLO)

    assert asyncio.run(cancelled()).text


def test_calls_go_out_evenly(server):
    generator = asking(server, requests_per_minute=600)

    asyncio.run(gathered(*[generator] * 5))

    times = [request.time for request in server.requests]
    assert all(0.07 < later - sooner < 1 for sooner, later in itertools.pairwise(times))


def test_when_the_server_takes_no_calls_nobody_goes_on_asking(server):
    server.script(serving.rate_limited(0.6))
    generator = asking(server)

    async def six():
        first = asyncio.create_task(generator.complete(HELLO))
        gate = gate_of(server)
        while not gate.closed_for:  # until the client has read the first answer
            await asyncio.sleep(0)
        return await asyncio.gather(first, *[generator.complete(HELLO) for _ in range(5)])

    assert all(answer.text for answer in asyncio.run(six()))
    refused, *later = (request.time for request in server.requests)
    assert len(later) == 6
    assert all(0.6 <= time - refused < 3 for time in later)


def test_a_closed_gate_opens_for_all_when_the_longest_time_is_over():
    async def closed():
        gate = Gate()
        assert gate.closed_for == 0
        gate.close_for(0.2)
        gate.close_for(0.05)
        assert 0.1 < gate.closed_for <= 0.2
        began = asyncio.get_running_loop().time()
        await asyncio.gather(*[gate.turn(None) for _ in range(3)])
        assert gate.closed_for == 0
        return asyncio.get_running_loop().time() - began

    assert 0.19 < asyncio.run(closed()) < 2


@pytest.mark.parametrize("figure", [1, 50])
def test_the_same_figure_is_the_same_limit(figure):
    async def same():
        gate = Gate()
        return gate.slot(figure) is gate.slot(figure) is not gate.slot(figure + 1)

    assert asyncio.run(same())
