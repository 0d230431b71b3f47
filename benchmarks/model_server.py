"""A model's server on loopback, in a process of its own: each answer takes a second, and is a verdict.

usage: python -m benchmarks.model_server LATENCY

It prints its port, and ends when its standard input does.  ``POST /v1/chat/completions`` answers as OpenAI's API does;
``GET /stats`` says how many calls there were, and how many at once, since the last ``GET /reset``.
"""

import asyncio
import json
import re
import sys

QUESTION = re.compile(rb"invest in (\d+)")


class ModelServer:
    """Answers, and counts."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.stats = {"calls": 0, "in_flight": 0, "in_flight_max": 0}

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = re.search(rb"(?i)content-length: *(\d+)", head)
                body = await reader.readexactly(int(size[1])) if size else b""
                answer = json.dumps(await self.answer(head.split(b" ", 2)[1], body)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(answer), answer)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client is gone
        finally:
            writer.close()

    async def answer(self, path: bytes, body: bytes) -> dict:
        if path == b"/reset":
            self.stats.update(calls=0, in_flight=0, in_flight_max=0)
        if not body:
            return self.stats
        stats = self.stats
        stats["calls"] += 1
        stats["in_flight"] += 1
        stats["in_flight_max"] = max(stats["in_flight_max"], stats["in_flight"])
        await asyncio.sleep(self.latency)
        stats["in_flight"] -= 1
        asked = QUESTION.search(body)
        # One in ten breaks the rule, so that the sides can come to other verdicts.
        passed = asked is not None and int(asked[1]) % 10 != 9
        verdict = {"reason": f"The reply {'conforms to' if passed else 'breaks'} the rule.", "passed": passed}
        return {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini",
            "usage": {"prompt_tokens": 500, "completion_tokens": 20, "total_tokens": 520},
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": json.dumps(verdict)},
                }
            ],
        }


async def main(latency: float) -> None:
    server = await asyncio.start_server(ModelServer(latency).talk, "127.0.0.1", 0, limit=1 << 24, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
