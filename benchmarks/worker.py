"""Run one workload of one side in this process and print its figures as one line of JSON.

usage: python -m benchmarks.worker SIDE WORKLOAD SCALE
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
import urllib.request  # noqa: F401  (the bare side's xml.sax loads it: memory is compared like with like)

from benchmarks.measure import Metrics, refuse_outbound


def main(side: str, workload: str, scale: float) -> None:
    refuse_outbound()
    metrics = Metrics()
    run = getattr(importlib.import_module(f"benchmarks.{side}"), workload.lower())
    pending = run(metrics, scale)
    if inspect.isawaitable(pending):
        asyncio.run(pending)
    if side == "bare" and any(name.partition(".")[0] == "giskard" for name in sys.modules):
        raise RuntimeError("the bare side has loaded giskard: its figures mean nothing")
    print("\n" + json.dumps(metrics), flush=True)
    os._exit(0)  # threads that are left over must not hold up the next run


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
