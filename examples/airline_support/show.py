"""The demo's output on a terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from giskard.checks import CheckResult, Interaction, ScenarioResult, SuiteResult

from .story import Story
from .tally import RuleTally, against_rewards, by_rule, verdicts

__all__ = ["conversation", "files", "header", "rewards", "rules_table", "worst"]

WIDE = 120
"""From this width on, the table says what each rule demands."""

RESULT = 240
"""How many characters of a tool's result are shown."""


def header(suite: SuiteResult) -> RenderableType:
    """What was replayed."""
    traces = [result.final_trace for result in suite.results]
    calls = sum(len(turn.metadata["tool_calls"]) for trace in traces for turn in trace.interactions)
    turns = sum(len(trace.interactions) for trace in traces)
    tasks = len({trace.annotations["task_id"] for trace in traces})
    return _lines(
        f"{len(traces)} recorded conversations of an airline's support agent: {tasks} tasks, "
        f"{len(traces) // tasks} trials each.",
        f"{turns} turns and {calls} tool calls were replayed and judged by "
        f"{len(by_rule(suite))} rules in {suite.duration_ms / 1000:.1f} s: "
        "no agent, no model, no network.",
    )


def rules_table(suite: SuiteResult, width: int) -> Table:
    """What each rule found, with its denominator."""
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("Rule", no_wrap=True)
    for state in ("pass", "fail", "error", "skip"):
        table.add_column(state, justify="right")
    table.add_column("passed", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    if width >= WIDE:
        table.add_column("What must hold", ratio=1)
    for tally in by_rule(suite):
        cells: list[RenderableType] = [Text(tally.name + (" (w)" if tally.warns else ""))]
        cells += [_count(tally.counts, state) for state in ("pass", "fail", "error", "skip")]
        cells += [
            Text(f"{tally.counts['pass']}/{tally.judged}" if tally.judged else "-"),
            _bar(tally),
        ]
        cells += [Text(tally.description, style="dim")] if width >= WIDE else []
        table.add_row(*cells)
    return table


_COLOURS = {"pass": "green", "fail": "red", "error": "yellow", "skip": "dim"}


def _count(counts: Counter[str], state: str) -> Text:
    n = counts[state]
    return Text(str(n), style=_COLOURS[state]) if n else Text("·", style="dim")


def _bar(tally: RuleTally, width: int = 10) -> Text:
    if not tally.judged:
        return Text("never came up", style="dim")
    failed = max(1, round(width * tally.fail_rate)) if tally.counts["fail"] else 0
    return Text.assemble(("━" * (width - failed), "green"), ("━" * failed, "red"))


def worst(suite: SuiteResult) -> RenderableType:
    """The pass rate, and the rule that fails most."""
    judged = len(suite.results) - suite.skipped
    rate = "-" if suite.pass_rate is None else f"{suite.pass_rate:.0%}"
    failing = [tally for tally in by_rule(suite) if tally.counts["fail"]]
    lines = [
        "(w) marks a warning: it is counted here and does not fail a conversation.",
        "",
        f"Pass rate: {rate}, {suite.passed} of {judged} conversations break no rule "
        f"({suite.failed} failed, {suite.errored} errored, {suite.skipped} skipped).",
    ]
    counted = [tally for tally in failing if not tally.warns]
    if counted:
        most = max(counted, key=lambda tally: tally.counts["fail"])
        lines.append(f"Fails most: {most.name}, {most.counts['fail']} of {most.judged} conversations.")
        rarest = max(counted, key=lambda tally: tally.fail_rate)
        if rarest is not most:
            lines.append(f"Highest share: {rarest.name}, {rarest.counts['fail']} of {rarest.judged}.")
    return _lines(*lines)


def _lines(*lines: str) -> Text:
    return Text("\n".join(lines))


# --- one conversation --------------------------------------------------------------------------

Marks = dict[tuple[int, int | None], list[tuple[CheckResult, str]]]
"""What is wrong in a turn (call None) or at a call: turn and call to checks and problems."""


def conversation(result: ScenarioResult[Any]) -> RenderableType:
    """A conversation in full, with what is wrong marked where it happened."""
    marks = _marks(result)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True, width=8)
    table.add_column()
    for turn, interaction in enumerate(result.final_trace.interactions, start=1):
        _add_turn(table, turn, interaction, marks)
    for check, problem in marks.get((0, None), []):
        _add_mark(table, check, problem)
    return table


def _marks(result: ScenarioResult[Any]) -> Marks:
    marks: Marks = {}
    for check in verdicts(result):
        if check.passed or check.skipped:
            continue
        nowhere = {"turn": 0, "call": None, "problem": check.message or ""}
        for finding in check.details.get("findings", [nowhere]):
            place = (finding["turn"], finding["call"])
            marks.setdefault(place, []).append((check, finding["problem"]))
    return marks


def _add_turn(table: Table, turn: int, interaction: Interaction[Any, Any], marks: Marks) -> None:
    said = interaction.metadata
    notes = {note["message_index"]: note["text"] for note in said.get("intermediate", [])}
    table.add_row(Text(f"turn {turn}", style="dim"), "")
    table.add_row(Text("customer", style="bold cyan"), _plain(interaction.inputs or ""))
    for number, call in enumerate(said["tool_calls"], start=1):
        if call["message_index"] in notes:
            table.add_row(*_agent(notes.pop(call["message_index"])))
        table.add_row(Text("tool", style="bold blue"), _call(call))
        for check, problem in marks.get((turn, number), []):
            _add_mark(table, check, problem)
    table.add_row(*_agent(interaction.outputs))
    for check, problem in marks.get((turn, None), []):
        _add_mark(table, check, problem)


def _agent(text: str | None) -> tuple[Text, Text]:
    said = Text("(no answer: the recording ends here)", style="dim") if text is None else _plain(text)
    return Text("agent", style="bold magenta"), said


def _add_mark(table: Table, check: CheckResult, problem: str) -> None:
    colour = "yellow" if check.errored or check.severity == "warning" else "red"
    table.add_row(
        Text("✗", style=f"bold {colour}"),
        Text.assemble((check.name, f"bold {colour}"), (f"  {_visible(problem)}", colour)),
    )


def _call(call: dict[str, Any]) -> Text:
    arguments = ", ".join(f"{key}={json.dumps(value)}" for key, value in call["arguments"].items())
    result = call["result"] if isinstance(call["result"], str) else json.dumps(call["result"])
    short = result if len(result) <= RESULT else f"{result[:RESULT]} … ({len(result)} characters)"
    style = "yellow" if call["error"] else "dim"
    return Text.assemble((call["name"], "blue"), _visible(f"({arguments})"), (f"\n→ {_visible(short)}", style))


def _plain(text: str) -> Text:
    """Text of others: no markup of it is obeyed and no control character reaches the terminal."""
    return Text(_visible(text))


def _visible(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)


# --- against the recorded rewards --------------------------------------------------------------


def rewards(suite: SuiteResult) -> RenderableType:
    """The verdicts beside the rewards that the benchmark gave."""
    counts = against_rewards(suite)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    table.add_column("")
    table.add_column("reward 1", justify="right")
    table.add_column("reward 0", justify="right")
    for passed, label in ((True, "breaks no rule"), (False, "breaks a rule")):
        cells = [str(counts[passed, rewarded]) for rewarded in (True, False)]
        table.add_row(label, *cells)
    idle = sum(
        1
        for result in suite.results
        if result.passed and result.final_trace.annotations["reward"] != 1 and not _changes(result)
    )
    return Group(
        table,
        Text(
            "\nThe reward asks whether the database ended up as the task wanted; the rules ask how the "
            "agent behaved on the way. Neither stands for the other: "
            f"{counts[False, True]} of {counts[False, True] + counts[True, True]} rewarded conversations "
            f"break a rule, and {counts[True, False]} that break none got no reward, {idle} of them "
            "since the agent changed nothing at all."
        ),
    )


def _changes(result: ScenarioResult[Any]) -> bool:
    return any(call.done for call in Story(result.final_trace).changes)


def files(paths: Iterable[Path]) -> RenderableType:
    """Where the results were written."""
    lines = [f"{path} ({path.stat().st_size / 1024:,.0f} KB)" for path in paths]
    return Text("\n".join(lines))
