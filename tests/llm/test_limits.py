"""How many calls go out at once, and how fast."""

import asyncio
import time

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
    began = time.monotonic()

    asyncio.run(gathered(*[generator] * 5))

    waited = sorted(request.time - began for request in server.requests)
    assert all(seconds > 0.1 * place - 0.01 for place, seconds in enumerate(waited))


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
    assert all(moment - refused >= 0.6 for moment in later)


def test_a_closed_gate_opens_for_all_when_the_longest_time_is_over():
    async def closed():
        gate = Gate()
        assert gate.closed_for == 0
        began = asyncio.get_running_loop().time()
        gate.close_for(0.2, "the long one")
        gate.close_for(0.05, "the short one")
        assert gate.reason == "the long one"
        assert await asyncio.gather(*[gate.turn(None) for _ in range(3)]) == [True] * 3
        assert gate.closed_for == 0
        return asyncio.get_running_loop().time() - began

    assert asyncio.run(closed()) > 0.19


def test_nobody_waits_for_a_gate_that_is_closed_for_longer_than_they_may_wait():
    async def closed():
        gate = Gate()
        gate.close_for(1e9)
        assert 3000 < gate.closed_for <= 3600
        return await gate.turn(None, patience=10)

    assert asyncio.run(closed()) is False


def test_calls_that_wait_for_the_gate_give_up_when_the_server_asks_for_more(server):
    server.script(serving.rate_limited(0.3))
    generator = asking(server, timeout=30)

    async def several():
        first = asyncio.create_task(generator.complete(HELLO))
        while not gate_of(server).closed_for:
            await asyncio.sleep(0)
        gate_of(server).close_for(500, "closed by the test")  # while the first one waits to try again
        return await asyncio.gather(first, generator.complete(HELLO), return_exceptions=True)

    first, second = asyncio.run(several())
    assert (first.kind, second.kind) == ("rate_limit", "rate_limit")
    assert "closed by the test" in str(first)
    assert "closed by the test" in str(second)
    assert (first.usage.calls, second.usage.calls) == (1, 0)
    assert len(server.requests) == 1


@pytest.mark.parametrize("figure", [1, 50])
def test_the_same_figure_is_the_same_limit(figure):
    async def same():
        gate = Gate()
        return gate.slot(figure) is gate.slot(figure) is not gate.slot(figure + 1)

    assert asyncio.run(same())
