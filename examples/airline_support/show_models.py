"""What models found, on a terminal: the small local ones, and a judge when there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from giskard.checks import ScenarioResult, SuiteResult

from .judging import Judged, Spent, spent
from .local_models import ALIKE, Alike, Read, not_to_be_had
from .show import rules_table, visible
from .tally import verdicts
from .wording import quote

__all__ = ["HOW_TO_JUDGE", "alike", "attacks", "before_judging", "judged", "while_judging"]

HOW_TO_JUDGE = """\
No judge was asked: neither a key nor a server is set. For one, set a variable:
  OPENAI_API_KEY=... make demo
  GISKARD_CHECKS_DEFAULT_JUDGE=ollama/llama3.2 make demo   (a local server)"""


def alike(found: Sequence[Alike]) -> RenderableType:
    """How close the trials of a task are to its first."""
    title = Text("Does the agent talk alike in all trials of a task?", style="bold")
    results = [one.result for one in found]
    if (why := not_to_be_had(results)) is not None:
        return Group(title, _skipped(why))
    model = next(name for result in results if (name := result.details.get("embedding_model")))
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("task", justify="right")
    trials = sorted({one.trial for one in found})
    for trial in trials:
        table.add_column(f"trial {trial}", justify="right")
    for task in sorted({one.task for one in found}):
        row = {one.trial: one for one in found if one.task == task}
        table.add_row(str(task), *[_similarity(row.get(trial)) for trial in trials])
    passed = sum(result.passed for result in results)
    apart = sorted((one for one in found if one.result.failed), key=lambda one: one.similarity or 0)
    furthest = ", ".join(f"task {one.task}, trial {one.trial} ({one.similarity:.2f})" for one in apart[:3])
    said = f"{passed} of {len(results)} are at {ALIKE:g} or above, a line that was drawn for this page."
    if apart:
        said += f" To read beside trial 0: {furthest}."
    return Group(
        title,
        Text(
            f"The similarity to trial 0 of all that the agent said, by {model}. It tells what a talk is about, "
            "and not whether it is right.",
            style="dim",
        ),
        table,
        Text(said),
    )


def _similarity(one: Alike | None) -> Text:
    if one is None:
        return Text("·", style="dim")
    if one.similarity is None:
        return Text("error", style="yellow")
    return Text(f"{one.similarity:.2f}", style="" if one.result.passed else "bold yellow")


def attacks(found: Sequence[Read]) -> RenderableType:
    """What the detector of prompt injections found."""
    title = Text("Does somebody try to take the agent over?", style="bold")
    if (why := not_to_be_had([result for read in found for result in read.results])) is not None:
        return Group(title, _skipped(why))
    details: dict[str, Any] = next(read.highest.details for read in found if read.highest)
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("texts", no_wrap=True)
    table.add_column("n", justify="right")
    table.add_column("attacks", justify="right")
    table.add_column("highest score, and its text", ratio=1)
    for read in found:
        highest = read.highest
        shown = "-" if highest is None else f"{highest.details['score']:.2f} {visible(quote(highest.details['text']))}"
        errors = sum(result.errored for result in read.results)
        shown += f" ({errors} could not be looked into)" if errors else ""
        table.add_row(read.what, str(read.texts), _count(read.attacks), Text(shown))
    return Group(
        title,
        Text(
            f"Scores from 0 to 1 by {details['model']}, attacks are those from {details['threshold']:g} on.",
            style="dim",
        ),
        table,
        Text(
            "Scores below that mean nothing: the highest ones of the recordings are of harmless texts. And no "
            "attack found is no proof of none: the detector knows common English phrases, and misses polite ones."
        ),
    )


def _count(n: int) -> Text:
    return Text(str(n), style="red" if n else "green")


def _skipped(why: str) -> Text:
    return Text(f"Skipped: {visible(why)}", style="yellow")


# --- judges --------------------------------------------------------------------------------------


def before_judging(name: str, conversations: int, questions: int, budget: float) -> RenderableType:
    """What is going to be asked."""
    return Text(
        f"{name} is asked {questions} questions about each of {conversations} conversations: about "
        f"{conversations * questions} calls, for about ${budget:g} at most where its price is known "
        "(--judged N, --budget USD)."
    )


def while_judging(first: Spent, left: int) -> RenderableType:
    """What the first conversation cost, and what the others will."""
    guess = "" if first.cost is None or not left else f", {left} more: about ${left * first.cost:.4f}"
    return Text(f"The first one: {_spent(first)}{guess}", style="dim")


def judged(found: Judged, rules: SuiteResult, width: int) -> RenderableType:
    """What the judge said, beside what is known without it."""
    suite = SuiteResult(results=found.results)
    lines: list[RenderableType] = [rules_table(suite, width)]
    lines += [Text(line) for line in _compared(found.results, rules)]
    errors = [check for result in found.results for check in verdicts(result) if check.errored]
    if errors:
        lines.append(
            Text(f"No verdict, {len(errors)} times; the first: {visible(errors[0].message or '')}", style="yellow")
        )
    if found.why:
        lines.append(Text(f"{found.left} conversations were left out: {visible(found.why)}", style="yellow"))
    total = spent(found.results)
    lines.append(Text(f"Spent: {_spent(total)}", style="dim"))
    return Group(*lines)


def _compared(found: Sequence[ScenarioResult[Any]], rules: SuiteResult) -> list[str]:
    by_code = {result.scenario_name: _statuses(result) for result in rules.results}
    consent: list[tuple[str, str]] = []
    goals: list[tuple[bool, bool]] = []
    for result in found:
        said, coded = _statuses(result), by_code.get(result.scenario_name, {})
        if said["yes_before_change"] in _DECIDED and coded.get("confirmed_before_change") in _DECIDED:
            consent.append((said["yes_before_change"], coded["confirmed_before_change"]))
        if said["goal_reached"] in _DECIDED:
            goals.append((said["goal_reached"] == "pass", result.final_trace.annotations["reward"] == 1))
    lines = []
    if consent:
        same = sum(judge == code for judge, code in consent)
        lines.append(
            f"yes_before_change agrees with confirmed_before_change, the rule in code, on {same} of the "
            f"{len(consent)} conversations on which both have a verdict."
        )
    if goals:
        same = sum(reached == rewarded for reached, rewarded in goals)
        lines.append(
            f"goal_reached agrees with the recorded reward, which asks for something else, on {same} of {len(goals)}."
        )
    return lines


_DECIDED = ("pass", "fail")


def _statuses(result: ScenarioResult[Any]) -> dict[str, str]:
    return {check.name: check.status.value for check in verdicts(result)}


def _spent(spent: Spent) -> str:
    tokens = "unknown" if spent.tokens is None else f"{spent.tokens:,}"
    cost = "unknown" if spent.cost is None else f"${spent.cost:.4f}"
    if spent.cost is not None and spent.unknown:
        cost = f"at least {cost}, unknown of {spent.unknown} verdicts"
    return f"{spent.calls} calls, {tokens} tokens, cost {cost}"
