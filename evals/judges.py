"""How often judges are right: `Refusal` and `Pairwise`, held against what people say.

Run it as ``make judge-eval`` or ``python -m evals.judges``, with a key or a server: ``OPENAI_API_KEY``,
``OPENAI_BASE_URL``, ``GISKARD_CHECKS_DEFAULT_JUDGE``, or ``--model`` and ``--base-url``.  ``docs/judge-evaluation.md``
says what is measured, and how to read it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from rich.console import Console

from evals.judges_data import SOURCES, DataError, drawn
from evals.judges_report import about, server_of, show, task_data
from evals.judges_tasks import TASKS, Outcome, Task, outcome_of
from giskard.checks import CheckResult, Suite, SuiteResult, TestCase
from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.llm.cache import ModelCache, model_cache
from giskard.checks.llm.calls import model_name
from giskard.checks.llm.generator import Generator
from giskard.checks.settings import get_default_judge

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "judge-eval.json"
# Any other item would meet the same: there is no use in going on.
HOPELESS = frozenset({"authentication", "quota", "config", "network"})

HOW = """\
No judge, so nothing was measured. Give one, such as:
  OPENAI_API_KEY=... make judge-eval                   OpenAI's gpt-4o-mini
  make judge-eval MODEL=anthropic/claude-sonnet-4-5    with ANTHROPIC_API_KEY
  make judge-eval MODEL=ollama/llama3.2                a local server: ollama,
                                                       vllm, llama.cpp, lmstudio
  make judge-eval MODEL=name BASE_URL=http://host/v1   any that speaks as OpenAI"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the file; the exit code is 1 when the model cannot be asked.

    Without a judge nothing is wrong, and the exit code is 0: the output says how to give one.
    """
    options = _options(arguments)
    console = Console(highlight=False, soft_wrap=False)
    try:
        generator = _generator(options)
    except ConfigurationError:
        console.print(HOW, markup=False, soft_wrap=True)
        return 0
    except ValueError as error:
        print(f"This is no model that could be asked: {error}", file=sys.stderr)
        return 1
    try:
        data = {name: TASKS[name].read(options.data) for name in options.tasks}
    except DataError as error:
        print(f"{error}\nThe data:\n{SOURCES}", file=sys.stderr)
        return 1

    console.print(about(generator, data, options), markup=False, soft_wrap=True)
    report = _head(generator, options)
    with _cache(options) as cache:
        for name, read in data.items():
            task, items = TASKS[name], drawn(read.items, options.limit, options.seed)
            outcomes, seconds = _run(task, items, generator, options.concurrency)
            if (problem := _hopeless(outcomes)) is not None:
                print(f"The judge cannot be asked: {problem}", file=sys.stderr)
                return 1
            report["tasks"].append(task_data(task, read, outcomes, seconds))
            show(console, task, report["tasks"][-1])
        report["from_cache"] = cache.hits if cache is not None else 0
    _write(options.json, report)
    console.print()
    if cache is not None:
        console.print(f"Answers from the cache in {options.cache}: {cache.hits:,}", markup=False, soft_wrap=True)
    console.print(f"Written, item by item: {options.json}", markup=False, soft_wrap=True)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals.judges", description=__doc__)
    parser.add_argument("--model", help="the judge, such as openai/gpt-5-mini (default: that of the environment)")
    parser.add_argument("--base-url", help="where it is served, when that is no usual place")
    parser.add_argument(
        "--key-variable", metavar="NAME", help="the variable with the key of --base-url, when that needs one"
    )
    parser.add_argument("--data", type=Path, help="a folder with the data (default: the small samples of tests/data)")
    parser.add_argument("--tasks", type=_tasks, default=list(TASKS), help=f"default: {','.join(TASKS)}")
    parser.add_argument("--limit", type=_limit, default=100, help="items of each task, or 'all' (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="which items are drawn (default: 1)")
    parser.add_argument("--concurrency", type=int, default=8, help="calls at once (default: 8)")
    parser.add_argument("--cache", type=Path, help="a folder for the answers: run again, it goes on where it ended")
    parser.add_argument("--json", type=Path, default=OUT, help=f"the file that is written ({OUT.relative_to(ROOT)})")
    options = parser.parse_args(arguments)
    if options.concurrency < 1:
        parser.error("--concurrency must be at least 1")
    if options.base_url and not options.model:
        parser.error("--base-url needs --model, the name that the server knows")
    return options


def _tasks(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not set(names) <= set(TASKS):
        raise argparse.ArgumentTypeError(f"tasks are {', '.join(TASKS)}, not {text!r}")
    return names


def _limit(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, or 'all', not {text!r}")
    return int(text)


def _generator(options: argparse.Namespace) -> Generator:
    """The judge, which is asked for its likeliest answer where it takes a temperature."""
    name = options.model or model_name(get_default_judge())
    # A key of the environment goes to its own provider only; another server's is named.
    key = None if options.key_variable is None else SecretStr(f"${{{options.key_variable}}}")
    return Generator(
        model=name, base_url=options.base_url, api_key=key, temperature=0, max_concurrency=options.concurrency
    )


def _cache(options: argparse.Namespace) -> contextlib.AbstractContextManager[ModelCache | None]:
    return contextlib.nullcontext() if options.cache is None else model_cache(options.cache)


def _run(task: Task, items: Sequence[Any], generator: Generator, concurrency: int) -> tuple[list[Outcome], float]:
    """What the judge says of each item; of the first alone, when that shows that it cannot be asked."""
    check = task.check(generator)
    outcomes: list[Outcome] = []
    seconds = 0.0
    for part in (items[:1], items[1:]):
        cases = [TestCase(name=item.id, trace=task.trace(item), checks=[check]) for item in part]
        suite = Suite(name=task.name, scenarios=cases).run_sync(
            return_exception=True, parallel=True, max_concurrency=concurrency
        )
        outcomes += [outcome_of(task, item, result) for item, result in zip(part, _results(suite), strict=True)]
        seconds += suite.duration_ms / 1000
        if _hopeless(outcomes) is not None:
            break
    return outcomes, seconds


def _results(suite: SuiteResult) -> list[CheckResult]:
    return [result.steps[0].results[0] for result in suite.results]


def _hopeless(outcomes: Sequence[Outcome]) -> str | None:
    """Why the judge cannot be asked, when the first item says so, and no other says otherwise."""
    first = outcomes[0].result if outcomes else None
    if first is None or first.error_kind not in HOPELESS or any(outcome.label for outcome in outcomes):
        return None
    return first.message


def _head(generator: Generator, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "what": "giskard-checks judge evaluation",
        "version": 1,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "judge": generator.model_dump(mode="json", exclude_none=True) | {"base_url": server_of(generator)},
        "seed": options.seed,
        "limit": options.limit,
        "tasks": [],
    }


def _write(path: Path, report: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
