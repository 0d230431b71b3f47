"""Interleaved rounds in subprocesses; medians, and ratios paired within a round.

In each round both sides run a workload one after the other, and take turns in going first. A
ratio is taken within its round; the table shows the medians. The exit code is 1 when a bound of
`benchmarks.figures` is exceeded, when the sides come to other verdicts, or when one of them fails.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.figures import FIGURES, TITLES, Figure
from benchmarks.workloads import CONCURRENCY, LATENCY, MODEL_LATENCY, judged_checks, suite_size

ROOT = Path(__file__).resolve().parent.parent
SIDES = ("bare", "with_giskard")
# Models are asked through a library: what it costs by itself says how much of that is ours.
ALL_SIDES = {"W6": ("bare", "with_library", "with_giskard")}
TIMEOUT = 900  # seconds for one workload of one side
IMPORT_ROUNDS = 9  # imports are short and noisy
IMPORTS = {
    "bare": {"import": "import os", "names": "from pydantic import BaseModel"},
    "with_giskard": {
        "import": "import giskard.checks",
        "names": "from giskard.checks import Scenario, TestCase, Trace, Interaction, Equals",
        "pass": "pass",
        "pydantic": "import pydantic",
    },
}

Round = dict[str, Any]  # the figures of one side in one round, or why there are none, as "failed"
Results = dict[str, dict[str, list[Round]]]  # by workload, by side


def timed_python(code: str, env: dict[str, str]) -> tuple[float, float, float]:
    """(wall ms, CPU ms, peak MB) of one `python -c code`."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=env,
        cwd=env["HOME"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process.stderr:
        errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(errors.strip().rpartition("\n")[2])
    wall = (time.perf_counter() - start) * 1e3
    return wall, (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024


def imports(side: str, env: dict[str, str]) -> Round:
    """W1: what it costs to import the package, beside the imports that say how much that is."""
    try:
        seen = {name: timed_python(code, env) for name, code in IMPORTS[side].items()}
    except RuntimeError as error:
        return {"failed": str(error)}
    wall, cpu, rss = seen.pop("import")
    figures = {"import_wall": wall, "import_cpu": cpu, "import_rss": rss}
    figures["names_cpu"] = seen.pop("names")[1]
    return figures | {f"over_{name}": cpu / of[1] for name, of in seen.items()}


def one(side: str, workload: str, scale: float, env: dict[str, str]) -> Round:
    """Run one workload of one side in a process of its own."""
    if workload == "W1":
        return imports(side, env)
    try:
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.worker", side, workload, str(scale)],
            env=env | {"PYTHONPATH": str(ROOT)},
            cwd=env["HOME"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {TIMEOUT} s"}
    if process.returncode:
        reason = process.stderr.strip().rpartition("\n")[2]
        return {"failed": reason or f"exit code {process.returncode}"}
    m = json.loads(process.stdout.strip().rpartition("\n")[2])
    if workload == "W2":
        m |= {f"total_{k}": m[f"build_{k}"] + m[f"run_{k}"] for k in ("cpu", "wall")}
        m["cases_per_s"] = 1e6 / m["total_cpu"]
    if workload in ("W4", "W5"):
        m["over_ideal"] = m["suite_wall"] / (-(-suite_size(scale) // CONCURRENCY) * LATENCY)
    if workload == "W6":
        m["over_ideal"] = m["judge_wall"] / (-(-judged_checks(scale) // CONCURRENCY) * MODEL_LATENCY)
    return m


@contextmanager
def model_server() -> Iterator[dict[str, str]]:
    """The variables that lead to a model's server, which is a process of its own."""
    command = [sys.executable, "-m", "benchmarks.model_server", str(MODEL_LATENCY)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        port = int(server.stdout.readline())
        yield {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "sk-bench"}
        server.stdin.close()


def compare_with_library(in_round: dict[str, Round]) -> None:
    """What the library's own request costs, and what ours costs beyond it, over the bare client's."""
    bare, library, ours = (in_round[side].get("cpu_per_check") for side in ALL_SIDES["W6"])
    if bare and library and ours:
        in_round["with_giskard"] |= {"library": library / bare, "above_library": (ours - library) / bare}


def measure(workloads: list[str], rounds: int, scale: float) -> Results:
    """Every figure of every round."""
    counts = {w: IMPORT_ROUNDS if w == "W1" else rounds for w in workloads}
    results: Results = {w: {side: [] for side in ALL_SIDES.get(w, SIDES)} for w in workloads}
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as home, model_server() as server:
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG")} | {"HOME": home}
        for r in range(max(counts.values())):
            for workload in (w for w in workloads if r < counts[w]):
                sides = list(results[workload])
                in_round: dict[str, Round] = {}
                for side in sides if r % 2 == 0 else sides[::-1]:
                    m = in_round[side] = one(side, workload, scale, env | server if workload == "W6" else env)
                    results[workload][side].append(m)
                    state = m.get("failed", "ok")
                    print(f"round {r + 1} {workload} {side}: {state}", file=sys.stderr, flush=True)
                if workload == "W6":
                    compare_with_library(in_round)
    return results


def median(values: Iterable[float]) -> float | None:
    values = list(values)
    return statistics.median(values) if values else None


def summary(figure: Figure, by_side: dict[str, list[Round]]) -> dict[str, Any]:
    """One row: the medians, the median ratio, and whether the bound holds."""
    bare, ours = by_side["bare"], by_side["with_giskard"]
    metric = figure.metric
    row = {
        "workload": figure.workload,
        "figure": figure.label,
        "unit": figure.unit,
        "bare": median(m[metric] for m in bare if metric in m),
        "giskard": median(m[metric] for m in ours if metric in m),
        "ratio": None,
        "bound": figure.bound,
        "verdict": "",
    }
    if figure.of == "ratio":
        pairs = zip(ours, bare, strict=True)
        row["ratio"] = median(a[metric] / b[metric] for a, b in pairs if a.get(metric) and b.get(metric))
    if figure.bound is not None:
        seen = row["ratio"] if figure.of == "ratio" else row["giskard"]
        row["verdict"] = "no figure" if seen is None else "ok" if seen <= figure.bound else "OVER"
    return row


def problems(results: Results) -> list[str]:
    """What makes the figures worthless: a side that failed, or verdicts that differ."""
    found = []
    for workload, by_side in results.items():
        for side, rounds in by_side.items():
            reasons = sorted({m["failed"] for m in rounds if "failed" in m})
            found += [f"{workload} {side} failed: {reason}" for reason in reasons]
        for side in by_side:
            shares = [
                (m.get("verdicts"), b.get("verdicts")) for m, b in zip(by_side[side], by_side["bare"], strict=True)
            ]
            found += [
                f"{workload} {side}: the shares that passed differ: {ours} against the bare {bare}"
                for ours, bare in shares
                if ours and bare and ours != bare
            ]
    return list(dict.fromkeys(found))


def digits(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-"
    return (f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}") + (f" {unit}" if unit else "")


def table(rows: list[dict[str, Any]]) -> str:
    head = ("workload", "figure", "bare", "giskard", "ratio", "bound", "verdict")
    lines = [head] + [
        (
            f"{r['workload']} {TITLES[r['workload']]}",
            r["figure"],
            digits(r["bare"], r["unit"]),
            digits(r["giskard"], r["unit"]),
            digits(r["ratio"], "x"),
            digits(r["bound"]) if r["bound"] else "",
            r["verdict"],
        )
        for r in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    lines.insert(1, tuple("-" * width for width in widths))
    right = ("bare", "giskard", "ratio", "bound")
    return "\n".join(
        "  ".join(
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(head, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--workloads", default=",".join(TITLES), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes; bounds hold for 1")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench.json")
    args = parser.parse_args()
    workloads = args.workloads.split(",")
    if unknown := set(workloads) - set(TITLES):
        parser.error(f"unknown workloads {sorted(unknown)}; there are {', '.join(TITLES)}")

    results = measure(workloads, args.rounds, args.scale)
    rows = [summary(f, results[f.workload]) for f in FIGURES if f.workload in workloads]
    wrong = problems(results)
    args.json.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version(name) for name in ("giskard-checks", "pydantic", "pydantic-ai-slim", "httpx2")},
        "scale": args.scale,
        "figures": rows,
        "problems": wrong,
        "rounds": results,
    }
    args.json.write_text(json.dumps(report, indent=1) + "\n")

    print(table(rows), *(f"PROBLEM {line}" for line in wrong), sep="\n")
    over = sum(row["verdict"] in ("OVER", "no figure") for row in rows)
    print(f"\n{over} of {sum(bool(r['verdict']) for r in rows)} bounds exceeded; {args.json}")
    return 1 if over or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
