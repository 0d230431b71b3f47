"""Run one workload of one side in this process and print its figures as one line of JSON.

usage: python -m benchmarks.worker SIDE WORKLOAD SCALE
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
import urllib.request  # (also since the bare side's xml.sax loads it: memory is compared like with like)

from benchmarks.measure import Metrics, refuse_outbound
from benchmarks.workloads import judged_checks


async def judge(run, metrics, scale):
    """W6, after one call that is not counted: on the same loop, since connections belong to one."""
    n = judged_checks(scale)
    for figures, size in ((Metrics(), 1), (metrics, n)):
        ask_server("/reset")
        await run(figures, size)
        metrics.setdefault("first_call_wall", figures["judge_wall"])
    metrics["cpu_per_check"] = metrics["judge_cpu"] * 1e3 / n
    metrics.update(ask_server("/stats"))


def ask_server(path):
    with urllib.request.urlopen(os.environ["OPENAI_BASE_URL"].removesuffix("/v1") + path) as answer:
        return json.load(answer)


def main(side: str, workload: str, scale: float) -> None:
    refuse_outbound()
    metrics = Metrics()
    run = getattr(importlib.import_module(f"benchmarks.{side}"), workload.lower())
    pending = judge(run, metrics, scale) if workload == "W6" else run(metrics, scale)
    if inspect.isawaitable(pending):
        asyncio.run(pending)
    if side != "with_giskard" and any(name.partition(".")[0] == "giskard" for name in sys.modules):
        raise RuntimeError("another side has loaded giskard: its figures mean nothing")
    print("\n" + json.dumps(metrics), flush=True)
    os._exit(0)  # threads that are left over must not hold up the next run


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
