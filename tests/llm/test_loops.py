"""One object in many event loops, and what it leaves behind: nothing."""

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from giskard.checks.llm.embedding_model import EmbeddingModel
from giskard.checks.llm.generator import Generator
from giskard.checks.llm.types import Message
from tests.llm import server as serving
from tests.llm.server import ModelServer

ROOT = Path(__file__).resolve().parents[2]
HELLO = [Message("user", "Hello?")]


def asking(server: ModelServer, **fields) -> Generator:
    return Generator(model="openai/gpt-4o-mini", base_url=server.url, api_key="a-key", **fields)


async def several(generator: Generator, count: int) -> list[str | None]:
    return [answer.text for answer in await asyncio.gather(*[generator.complete(HELLO) for _ in range(count)])]


def test_one_object_works_in_loop_after_loop_and_closes_its_connections(server):
    generator = asking(server)

    for _ in range(3):
        assert asyncio.run(several(generator, 4)) == ["Hello from the test server."] * 4
        gc.collect()  # a connection that was left open would warn now, and warnings are errors

    assert len(server.requests) == 12
    assert 3 <= server.connections <= 12


def test_connections_are_kept_for_the_next_calls_of_a_loop(server):
    generator, other = asking(server), asking(server, temperature=0.5)

    async def one_by_one():
        for _ in range(5):
            await generator.complete(HELLO)
            await other.complete(HELLO)

    asyncio.run(one_by_one())

    assert server.connections == 1
    assert len(server.requests) == 10


def test_a_proxy_of_the_environment_is_asked(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.root)

    answer = asyncio.run(Generator(model="any", base_url="http://models.invalid/v1").complete(HELLO))

    assert answer.text == "Hello from the test server."
    assert server.requests[0].path == "http://models.invalid/v1/chat/completions"


def test_one_object_works_in_several_loops_at_once(server):
    generator = asking(server)
    server.script(*[serving.held()] * 12)
    answers: list[list[str | None]] = []
    threads = [threading.Thread(target=lambda: answers.append(asyncio.run(several(generator, 3)))) for _ in range(4)]

    for thread in threads:
        thread.start()
    server.wait_for(12)  # all of them are under way, in their four loops
    server.release()
    for thread in threads:
        thread.join(20)

    assert len(answers) == 4
    assert all(len(texts) == 3 and all(texts) for texts in answers)
    assert server.max_in_flight == 12
    gc.collect()


def test_a_loop_that_is_stopped_in_the_middle_leaves_nothing_open(server):
    server.default = serving.held()

    async def stopped():
        tasks = [asyncio.create_task(asking(server).complete(HELLO)) for _ in range(3)]
        await server.arrival(3)
        return tasks

    tasks = asyncio.run(stopped())  # which cancels what still runs

    assert all(task.cancelled() for task in tasks)
    gc.collect()


def python(code: str, **env: str) -> str:
    """What a fresh interpreter prints; warnings are errors there too."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code],
        env={name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))} | env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


AUDIT = """
import asyncio, json, sys
seen = set()
def hook(event, args):
    if event == "socket.connect":
        seen.add(str(args[1][0] if isinstance(args[1], tuple) else args[1]))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        seen.add(str(args[0] if event != "socket.sendto" else args[1]))
sys.addaudithook(hook)
from pydantic import BaseModel
from giskard.checks.llm.embedding_model import EmbeddingModel
from giskard.checks.llm.generator import Generator
from giskard.checks.llm.types import GenerationParams, Message
class Verdict(BaseModel):
    passed: bool
url, root = sys.argv[1], sys.argv[2]
async def main():
    hello = [Message("user", "Hello?")]
    for model, base in (("openai/gpt-5-mini", url), ("any", url), ("anthropic:claude-sonnet-5-5", root)):
        generator = Generator(model=model, base_url=base, api_key="a-key")
        answer = await generator.complete(hello, GenerationParams(response_format=Verdict))
        assert answer.usage.input_tokens == 500
    await EmbeddingModel(model="openai/text-embedding-3-small", base_url=url, api_key="a-key").embed(["a", "b"])
asyncio.run(main())
print(json.dumps(sorted(seen)))
"""


def test_nothing_but_the_server_is_contacted(server):
    code = f"import sys; sys.argv = ['', {server.url!r}, {server.root!r}]\n{AUDIT}"

    assert json.loads(python(code)) == ["127.0.0.1"]
    assert len(server.requests) == 4


def test_importing_the_room_loads_no_library_of_models():
    out = python(
        "import sys\n"
        "import giskard.checks, giskard.checks.llm\n"
        "import giskard.checks.llm.generator, giskard.checks.llm.embedding_model, giskard.checks.llm.limits\n"
        "giskard.checks.llm.generator.Generator(model='openai/gpt-5', api_key='a-key').model_dump_json()\n"
        "giskard.checks.llm.generator.generator_of('ollama/llama3.2')\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )

    heavy = {"pydantic_ai", "openai", "anthropic", "httpx2", "httpx", "jinja2", "aiolimiter", "genai_prices", "anyio"}
    assert set(out.split()) & heavy == set()


def test_the_embedding_model_shares_the_connections_of_its_loop(server):
    async def both():
        await asking(server).complete(HELLO)
        await EmbeddingModel(model="ollama/nomic-embed-text", base_url=server.url).embed(["a"])

    asyncio.run(both())

    assert server.connections == 1
