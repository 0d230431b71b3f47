"""The demo's output on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from giskard.checks import CheckResult, Interaction, ScenarioResult, SuiteResult, ToolCall
from giskard.checks.core.tool_calls import tool_calls_of

from .story import Story
from .tally import RuleTally, against_rewards, by_rule, verdicts, worst

__all__ = ["conversation", "files", "header", "rewards", "rules_table", "summary", "visible"]

WIDE = 120
"""From this width on, the table says what each rule demands."""

RESULT = 240
"""How many characters of a tool's result are shown."""

STATES = {"pass": "green", "fail": "red", "error": "yellow", "skip": "dim"}


def header(suite: SuiteResult) -> RenderableType:
    """What was replayed."""
    traces = [result.final_trace for result in suite.results]
    turns = sum(len(trace.interactions) for trace in traces)
    calls = sum(len(trace.tool_calls) for trace in traces)
    tasks = len({trace.annotations["task_id"] for trace in traces})
    return Text(
        f"{len(traces)} recorded conversations of an airline's support agent: {tasks} tasks, "
        f"{len(traces) // tasks} trials each.\n"
        f"{turns} turns and {calls} tool calls, held against {len(by_rule(suite))} rules, all in code, in "
        f"{suite.duration_ms / 1000:.1f} s."
    )


# --- all conversations -------------------------------------------------------------------------


def rules_table(suite: SuiteResult, width: int) -> Table:
    """What each rule found, with its denominator."""
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("rule", no_wrap=True)
    for state in STATES:
        table.add_column(state, justify="right")
    table.add_column("passed", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    if width >= WIDE:
        table.add_column("what must hold", ratio=1)
    for tally in by_rule(suite):
        cells = [Text(tally.name + " *" * tally.warns)]
        cells += [_count(tally.counts[state], style) for state, style in STATES.items()]
        cells += [_rate(tally), _bar(tally)]
        cells += [Text(tally.description, style="dim")] if width >= WIDE else []
        table.add_row(*cells)
    return table


def _count(n: int, style: str) -> Text:
    return Text(str(n), style=style) if n else Text("·", style="dim")


def _rate(tally: RuleTally) -> Text:
    if not tally.judged:
        return Text("-", style="dim")
    return Text(f"{tally.counts['pass']}/{tally.judged} {1 - tally.fail_rate:4.0%}")


def _bar(tally: RuleTally, width: int = 8) -> Text:
    if not tally.judged:
        return Text("no case", style="dim")
    failed = max(1, round(width * tally.fail_rate)) if tally.counts["fail"] else 0
    return Text.assemble(("█" * (width - failed), "green"), ("░" * failed, "red"))


def summary(suite: SuiteResult) -> RenderableType:
    """The pass rate, and the rules that fail most."""
    judged = suite.total - suite.skipped_count
    rate = "-" if suite.pass_rate is None else f"{suite.pass_rate:.0%}"
    lines = [
        Text("* a warning: counted here, and no reason for a conversation to fail", style="dim"),
        Text(),
        Text.assemble(
            "Pass rate ",
            (rate, "bold"),
            f": {suite.passed_count} of {judged} conversations break no rule "
            f"({suite.failed_count} failed, {suite.errored_count} errored, "
            f"{suite.skipped_count} skipped)",
        ),
    ]
    often, share = worst(suite), worst(suite, by=lambda tally: tally.fail_rate)
    if often and share:
        lines += [_worst("most often", often), _worst("at the highest rate", share)]
    return Group(*lines)


def _worst(how: str, tally: RuleTally) -> Text:
    where = f", in {tally.counts['fail']} of the {tally.judged} conversations where it applies"
    return Text.assemble(f"Fails {how}: ", (tally.name, "bold red"), where)


# --- one conversation --------------------------------------------------------------------------

Marks = dict[tuple[int, int | None], list[tuple[CheckResult, str]]]
"""What is wrong in a turn (call None) or at a call of it: the checks, and what they say."""


def conversation(result: ScenarioResult[Any]) -> RenderableType:
    """A conversation in full, with what is wrong marked where it happened."""
    judged = [check for check in verdicts(result) if not check.skipped]
    broken = sum(not check.passed for check in judged)
    known = result.final_trace.annotations
    title = Text(
        f"Breaks {broken} of the {len(judged)} rules that apply. Recorded reward: "
        f"{known['reward']:g}.\nThe customer's brief: {visible(known['goal'] or '')}",
        style="italic",
    )
    marks = _marks(result)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", no_wrap=True, width=8)
    table.add_column()
    for turn, interaction in enumerate(result.final_trace.interactions, start=1):
        _add_turn(table, turn, interaction, marks)
    for check, problem in marks.get((0, None), []):
        _add_mark(table, check, problem)
    return Group(title, table)


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
    notes = {note["message_index"]: note["text"] for note in interaction.metadata.get("intermediate", [])}
    table.add_row("", "")
    table.add_row(Text("turn", style="dim"), Text(str(turn), style="dim"))
    table.add_row(Text("customer", style="bold cyan"), Text(visible(interaction.inputs or "")))
    for number, call in enumerate(tool_calls_of(interaction), start=1):
        if call.message_index in notes:
            table.add_row(*_agent(notes.pop(call.message_index)))
        table.add_row(Text("tool", style="bold blue"), _call(call))
        for check, problem in marks.get((turn, number), []):
            _add_mark(table, check, problem)
    table.add_row(*_agent(interaction.outputs))
    for check, problem in marks.get((turn, None), []):
        _add_mark(table, check, problem)


def _agent(text: str | None) -> tuple[Text, Text]:
    end = Text("(no answer: the recording ends here)", style="dim")
    return Text("agent", style="bold magenta"), end if text is None else Text(visible(text))


def _add_mark(table: Table, check: CheckResult, problem: str) -> None:
    colour = "yellow" if check.errored or check.severity == "warning" else "red"
    words = Text.assemble((check.name, f"bold {colour}"), (f": {visible(problem)}", colour))
    table.add_row(Text("✗", style=f"bold {colour}"), words)


def _call(call: ToolCall) -> Text:
    arguments = call.arguments
    if isinstance(arguments, dict):
        arguments = ", ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())
    given = call.result if call.error is None else call.error
    result = given if isinstance(given, str) else json.dumps(given)
    if len(result) > RESULT:
        result = f"{result[:RESULT]} … ({len(result):,} characters)"
    return Text.assemble(
        (call.name, "blue"),
        f"({visible(arguments)})",
        (f"\n→ {visible(result) or '(nothing)'}", "yellow" if call.error else "dim"),
    )


def visible(text: str) -> str:
    """Text of others without control characters, which would act on the terminal."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


# --- against the recorded rewards --------------------------------------------------------------


def rewards(suite: SuiteResult) -> RenderableType:
    """The verdicts beside the rewards that the benchmark gave."""
    counts = against_rewards(suite)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    table.add_column("conversations")
    table.add_column("reward 1", justify="right")
    table.add_column("reward 0", justify="right")
    for passed, label in ((True, "that break no rule"), (False, "that break a rule")):
        table.add_row(label, str(counts[passed, True]), str(counts[passed, False]))
    idle = sum(
        result.passed
        and result.final_trace.annotations["reward"] != 1
        and not any(call.done for call in Story(result.final_trace).changes)
        for result in suite.results
    )
    return Group(
        table,
        Text(
            "\nThe reward says whether the database ended up as the task wanted it; the rules say how "
            "the agent behaved on the way. Neither stands for the other: "
            f"{counts[False, True]} of {counts[False, True] + counts[True, True]} with the reward "
            f"broke a rule, and {counts[True, False]} of {counts[True, False] + counts[True, True]} "
            f"that broke none went without it, {idle} of them by changing nothing at all."
        ),
    )


def files(paths: Iterable[Path]) -> RenderableType:
    """Where the results were written."""
    return Text("\n".join(f"{path}  {path.stat().st_size / 1024:,.0f} KB" for path in paths))
