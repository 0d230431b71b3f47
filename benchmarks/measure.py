"""Timers, memory figures and the guard against traffic; standard library only."""

import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


def refuse_outbound() -> None:
    """Refuse every connection and look-up in this process that is not loopback."""
    loopback = ("127.0.0.1", "localhost", "::1", b"127.0.0.1", b"localhost", None, "")

    def hook(event, args):
        if event == "socket.getaddrinfo":
            host = args[0]
        elif event == "socket.connect":
            host = args[1][0] if isinstance(args[1], tuple) else None
        else:
            return
        if host not in loopback:
            raise PermissionError(f"benchmarks: traffic to {host!r} refused")

    sys.addaudithook(hook)


def memory(key: str) -> float:
    """`VmRSS` (now) or `VmHWM` (peak) of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


class Metrics(dict):
    """The figures of one workload in one process."""

    @contextmanager
    def time(self, name: str, per: int = 1, scale: float = 1.0, suffix: str = "") -> Iterator[None]:
        """Store NAME_wall and NAME_cpu, in seconds * `scale` / `per`."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self[f"{name}_wall{suffix}"] = (time.perf_counter() - wall) * scale / per
        self[f"{name}_cpu{suffix}"] = (time.process_time() - cpu) * scale / per

    def memory(self, before: float) -> None:
        """Store the peak, and how far it is above `before`, in MB."""
        self["peak_mb"] = memory("VmHWM")
        self["grow_mb"] = self["peak_mb"] - before

    def streamed(self, count: int, size: int, before: float) -> None:
        """Store what a file of `count` conversations cost, which was timed as ``stream``."""
        self["conversations"] = count
        self["row_cpu"] = self["stream_cpu"] * 1e6 / count
        self["row_wall"] = self["stream_wall"] * 1e6 / count
        self["mb_per_s"] = size / 1e6 / self["stream_cpu"]
        self.memory(before)

    def verdict(self, oks: Iterable[bool]) -> None:
        """Store the share that passed: both sides must come to the same."""
        oks = list(oks)
        self.setdefault("verdicts", []).append(round(sum(oks) / len(oks), 3))

    def growth(self, sizes: Sequence[int]) -> None:
        """Store the exponent with which the run grows between the two largest sizes."""
        small, large = sizes[-2:]
        ratio = self[f"run_cpu@{large}"] / self[f"run_cpu@{small}"]
        self["growth"] = 1 + math.log(ratio, large / small)
