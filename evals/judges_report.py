"""The figures of a task as data, and as tables on a terminal."""

from __future__ import annotations

import argparse
import hashlib
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evals.judges_data import SOURCES, Read
from evals.judges_tasks import TASKS, Outcome, Task, measure
from giskard.checks.llm._addresses import find_address
from giskard.checks.llm.generator import Generator
from giskard.checks.llm.prompts import packaged_prompt
from giskard.checks.utils.text import visible

__all__ = ["about", "server_of", "show", "task_data", "used"]

_PACKAGES = ("giskard-checks", "pydantic-ai-slim", "openai", "httpx2", "genai-prices")
_COUNTS = ("calls", "input_tokens", "output_tokens", "cost")


# --- data --------------------------------------------------------------------------------


def task_data(task: Task, read: Read, outcomes: Sequence[Outcome], seconds: float) -> dict[str, Any]:
    """All that is known of a task, enough to do it again and to count it anew."""
    judged = [(outcome.item, outcome.label) for outcome in outcomes if outcome.label is not None]
    errors = Counter(outcome.result.error_kind or "unknown" for outcome in outcomes if outcome.label is None)
    return {
        "task": task.name,
        "data": {
            "name": task.data,
            "is_sample": read.is_sample,
            "files": [{"name": file.name, "sha256": file.sha256, "rows": file.rows} for file in read.files],
            "left_out": {reason: count for reason, count in read.left_out.items() if count},
            "usable": len(read.items),
        },
        "check": task.check("judge").model_dump(mode="json", exclude={"judge"}, exclude_none=True),
        "prompts": _prompts(task.name, "_system"),
        "python": platform.python_version(),
        "packages": _versions(),
        "answered_as": sorted({str(name) for outcome in outcomes if (name := outcome.result.details.get("model"))}),
        "drawn": len(outcomes),
        "judged": len(judged),
        "errors": dict(errors.most_common()),
        "rates": {"true_positive": task.rates[0], "true_negative": task.rates[1]},
        "figures": [
            measure(task, "judge", judged).as_data(),
            *(other.as_data() for other in task.beside(task, [outcome.item for outcome in outcomes])),
        ],
        "notes": task.notes(outcomes),
        "used": used(outcome.result.usage for outcome in outcomes),
        "seconds": round(seconds, 3),
        "items": [_item(task, outcome) for outcome in outcomes],
    }


def used(usages: Iterable[Any]) -> dict[str, Any]:
    """For each of calls, tokens and cost: the sum of what is known, and of how many items it is not."""
    known = list(usages)
    sums: dict[str, Any] = {}
    for name in _COUNTS:
        values = [value for usage in known if (value := getattr(usage, name, None)) is not None]
        sums[name] = {"known": sum(values) if values else None, "items_unknown": len(known) - len(values)}
    return sums


def _item(task: Task, outcome: Outcome) -> dict[str, Any]:
    result = outcome.result
    item = {
        "id": outcome.item.id,
        "people": list(task.people(outcome.item)),
        "judge": outcome.label,
        "message": result.message,
        "usage": None if result.usage is None else result.usage.model_dump(exclude_none=True),
    }
    for name in ("refusal", "consistent", "repaired", "raw"):
        if name in result.details:
            item[name] = result.details[name]
    return item if result.error_kind is None else {**item, "error_kind": result.error_kind}


def _prompts(*names: str) -> dict[str, str]:
    prompts = [packaged_prompt("judges", name) for name in names]
    return {prompt.label: hashlib.sha256(prompt.source.encode()).hexdigest() for prompt in prompts}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def server_of(generator: Generator) -> str | None:
    """Where the judge is served, also by a variable of the environment, without what may be secret in it.

    None is its provider's own place.
    """
    return find_address(generator.model, generator.base_url, None).shown_url


# --- terminal ----------------------------------------------------------------------------


def about(generator: Generator, data: Mapping[str, Read], options: argparse.Namespace) -> str:
    """What is going to be asked, before it is."""
    url = server_of(generator)
    where = f" at {url}" if url else ""
    lines = [f"The judge: {generator.model}{where}"]
    calls = 0
    for name, read in data.items():
        count = len(read.items) if options.limit is None else min(options.limit, len(read.items))
        calls += count * (2 if name == "pairwise" else 1)
        lines.append(f"  {name}: {count:,} of {len(read.items):,} {TASKS[name].things} of {TASKS[name].data}")
    lines.append(f"About {calls:,} calls, more where a reply has to be asked for again.")
    if any(read.is_sample for read in data.values()):
        lines.append(f"These are small samples. All of the data, for a folder to be given as DATA=folder:\n{SOURCES}")
    return "\n".join(lines)


def show(console: Console, task: Task, data: Mapping[str, Any]) -> None:
    """Print the figures of a task."""
    title = f"{task.name}: {', '.join(data['prompts'])} on {task.data}"
    console.print()
    console.print(Text(title, style="bold"))
    console.print(_table(task, data))
    for line in _lines(data):
        console.print(Text(line))


def _table(task: Task, data: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("", no_wrap=True)
    judge, *others = data["figures"]
    sizes = (judge["true_positive"]["n"], judge["true_negative"]["n"])
    headings = [f"{heading}\nof {size:,}" for heading, size in zip(task.rates, sizes, strict=True)]
    for heading in (*headings, "agrees", "kappa"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row(Text("the judge", style="bold"), *_cells(judge))
    for other in others:
        table.add_row(other["who"], *_cells(other), style="dim")
    return table


def _cells(figures: Mapping[str, Any]) -> list[str]:
    kappa = figures["kappa"]
    return [
        _with_interval(figures["true_positive"], has_size=False),
        _with_interval(figures["true_negative"], has_size=False),
        _percent(figures["agreement"]["rate"]),
        "-" if kappa is None else f"{kappa:.2f}",
    ]


def _with_interval(share: Mapping[str, Any] | None, *, has_size: bool = True) -> str:
    if share is None or not share["n"]:
        return "-"
    size = f" of {share['n']:,}" if has_size else ""
    return f"{_percent(share['rate'])} ({100 * share['low']:.0f}-{100 * share['high']:.0f}){size}"


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.1f} %"


def _lines(data: Mapping[str, Any]) -> list[str]:
    judged = f"Judged {data['judged']:,} of {data['drawn']:,}"
    if data["errors"]:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in data["errors"].items())
        judged += f"; errors, which are neither right nor wrong: {kinds}"
    if left_out := data["data"]["left_out"]:
        judged += f"; left out before: {', '.join(f'{count} with {reason}' for reason, count in left_out.items())}"
    lines = [judged, *_said(data["notes"]), _spent(data)]
    first = next((item for item in data["items"] if "error_kind" in item), None)
    return lines if first is None else [*lines, f"The first error: {visible(first['message'] or '')[:300]}"]


def _said(notes: Mapping[str, Any]) -> list[str]:
    if "ties" in notes:
        return [
            f"The same in both orders: {_with_interval(notes['same_in_both_orders'])}; ties: {notes['ties']}",
            f"Prefers the answer that stands first: {_with_interval(notes['prefers_what_stands_first'])} preferences",
        ]
    full, partial = (_with_interval(notes[f"{extent}_refusals_seen"]) for extent in ("full", "partial"))
    return [f"Full refusals seen: {full}; partial ones: {partial}"]


def _spent(data: Mapping[str, Any]) -> str:
    sums = data["used"]
    tokens = f"tokens: {_sum(sums['input_tokens'])} in, {_sum(sums['output_tokens'])} out"
    cost = _sum(sums["cost"], "$")
    return f"Calls: {_sum(sums['calls'])}; {tokens}; cost: {cost}; {data['seconds']:.1f} s"


def _sum(total: Mapping[str, Any], sign: str = "") -> str:
    known, unknown = total["known"], total["items_unknown"]
    if known is None:
        return "unknown"
    number = f"{sign}{known:.4f}" if sign else f"{known:,}"
    return f"at least {number} (unknown of {unknown:,} items)" if unknown else number
