"""The data and the targets that both sides work on; standard library only.

Each function takes a `scale` of the sizes: 1 for the figures that count.
"""

import asyncio
import functools
import json
import os
import random
import time
from pathlib import Path

TURNS = (10, 100, 1000, 3000)
CONCURRENCY = 50
LATENCY = 0.05  # seconds that a target takes
MODEL_LATENCY = 1.0  # seconds that a model takes
SENTENCES = (
    "the monthly fee for your current account is charged on day one and a lost card costs nothing "
    "café naïve transfer arrives within one working day please ask an adviser before investing"
)
WORDS = SENTENCES.split()


async def slow_target(inputs: str) -> str:
    await asyncio.sleep(LATENCY)
    return "re: " + inputs


def blocking_target(inputs: str) -> str:
    time.sleep(LATENCY)
    return "re: " + inputs


@functools.lru_cache(maxsize=1000)
def text(size, seed=0):
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(size // 2))[:size]


def suite_size(scale):
    return int(500 * scale)


def judged_checks(scale):
    return max(1, int(300 * scale))


RULE, REPLY = "The reply must not recommend a product.", "Please ask an adviser."
PROMPT = """You judge whether the outputs of a trace conform to a rule. Rule: {rule}
{trace}
Answer in JSON: {{"passed": bool, "reason": str}}"""
VERDICT = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["passed", "reason"],
    "additionalProperties": False,
}


FIRST = "first"  # of the first 100 turns in a process, whose bare loop is cold too


def turns(scale):
    """Pairs of (name of the size, number of turns)."""
    return [(n, max(2, int(n * scale))) for n in TURNS]


def replay(scale, n=10_000):
    """Recorded two-turn exchanges: (first output, last output, expected fee); 1 in 10 is wrong."""
    return [
        (
            {
                "intent": "fee",
                "data": {"fee_eur": float(i % 7), "currency": "EUR"},
                "answer": f"It is {i % 7} EUR.",
            },
            {
                "intent": "card",
                "data": {"fee_eur": 0.0, "currency": "EUR"},
                "answer": f"Card {i} is free of charge.",
            },
            float(i % 7) if i % 10 else -1.0,
        )
        for i in range(int(n * scale))
    ]


def payloads(scale):
    """(200 texts of 100 KB, 20 keywords for the last one, two of them absent)."""
    texts = [text(100_000, seed=i % 5) + f" end {i}" for i in range(int(200 * scale))]
    return texts, [f"end {len(texts) - 1}" if k % 10 else "absent phrase" for k in range(20)]


def exports(scale):
    """(question, answer, expected answer): one in ten differs."""
    return [(f"question {i}", f"café <{i}>", f"café <{i if i % 10 else 'x'}>") for i in range(int(5000 * scale))]


def regexes(scale, n=10_000):
    """(text of 2 KB, one of 50 patterns): the match stands at the end; one in ten has none."""
    tails = [f" ref AB-{i % 50:04d}-X." if i % 10 else " ref none." for i in range(int(n * scale))]
    return [
        (
            text(2048 - len(tail), seed=i % 100) + tail,
            rf"\bref\s+[A-Z]{{2}}-(\d{{2}}{i % 50:02d})-[A-Z]\b",
        )
        for i, tail in enumerate(tails)
    ]


KINDS = (
    {"type": "string", "minLength": 1, "maxLength": 40},
    {"type": "integer", "minimum": 0},
    {"enum": ["low", "mid", "high"]},
)
FIELDS = [(f"f{i}", KINDS[i % 3]) for i in range(30)]
SCHEMA = {
    "type": "object",
    "properties": dict(FIELDS),
    "required": [name for name, _ in FIELDS],
    "additionalProperties": False,
}


def documents(scale, n=10_000):
    """Objects of the 30 fields of SCHEMA; one in ten breaks it."""
    return [
        {
            name: (f"value {i}", -1 if k == 28 and i % 10 == 0 else i + k, "mid")[k % 3]
            for k, (name, _) in enumerate(FIELDS)
        }
        for i in range(int(n * scale))
    ]


DATA = Path(__file__).resolve().parent.parent / "examples" / "airline_support" / "data"
CHAT_MB = 0.0218  # of a chat, on average


def recorded(scale, megabytes=40):
    """A file of recorded chats as JSON lines: real ones with their system prompt, as they were sent to the model.

    They are varied, and made once for all who ask for them.
    """
    path = Path(os.environ["HOME"]) / f"recorded-{scale:g}-{megabytes}.jsonl"
    if not path.exists():
        prompt = {"role": "system", "content": (DATA / "policy.txt").read_text("utf-8")}
        lines = (DATA / "conversations.jsonl").read_text("utf-8").splitlines()
        chats = [[prompt, *json.loads(line)["traj"]] for line in lines]
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            for number in range(max(1, int(scale * megabytes / CHAT_MB))):
                chat = chats[number % len(chats)]
                chat[1]["content"] = f"{chat[1]['content'].partition(' (case')[0]} (case {number})"
                file.write(json.dumps({"messages": chat}) + "\n")
        part.replace(path)
    return path
