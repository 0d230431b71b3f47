"""Mutation testing of `core/` and `builtin/` with mutmut, file by file or on a sample: `make mutate`."""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mutmut.__main__ as mutmut
from mutmut.configuration import ForkServerWarmup, config
from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, setup_source_paths

PACKAGE = Path("src/giskard/checks")
SURVIVED = (0, 33)  # exit codes: all tests passed, no test reaches it
SAME = 38  # ours: a mutant that is the same code, as the first argument of `cast` is nothing but a note
SECONDS_OF_TESTS = 12.0  # per mutant, as they took without one; what it needs longer for counts as survived
SECONDS_AROUND_A_TEST = 0.003  # what pytest itself takes for one
FIRST = 40  # how many tests are tried before the others are even collected


@dataclass
class Score:
    """What became of the mutants of one file."""

    total: int
    outcomes: Counter[str]

    @classmethod
    def of(cls, codes: dict[str, int | None], names: set[str]) -> Score:
        # 255: the package cannot even be imported, or the tests not be collected.
        counted = {name: 1 if code == 255 else code for name, code in codes.items() if code != SAME}
        outcomes = Counter(mutmut.status_by_exit_code[code] for name, code in counted.items() if name in names)
        return cls(len(counted), outcomes)

    @property
    def tested(self) -> int:
        """The mutants with an outcome; those that no test reaches survived."""
        return self.outcomes.total() - self.outcomes["not checked"] - self.outcomes["skipped"]

    @property
    def survived(self) -> int:
        return self.outcomes["survived"] + self.outcomes["no tests"]

    def line(self, name: str) -> str:
        timeouts, no_tests = self.outcomes["timeout"], self.outcomes["no tests"]
        share = f"{100 * (self.tested - self.survived) / self.tested:6.1f} %" if self.tested else f"{'-':>8}"
        return f"{name:32} {self.total:6} {self.tested:6} {self.survived:8} {no_tests:8} {timeouts:8} {share}"


def files(only: list[str]) -> list[str]:
    """The paths of the files to mutate, below the package, in the order that was asked for."""
    every = [str(path.relative_to(PACKAGE)) for path in map(Path, mutmut.walk_mutatable_files())]
    if not only:
        return sorted(every)
    chosen = [
        path for word in only for path in sorted(every) if path == word or path.startswith(word.rstrip("/") + "/")
    ]
    if not chosen:
        sys.exit(
            f"No file to mutate is named {' '.join(only)!r}; write it as core/check_result.py or core/interaction."
        )
    return list(dict.fromkeys(chosen))


def mutants(path: str) -> dict[str, int | None]:
    """The mutants of a file, and how the tests of each ended (None: not run)."""
    data = SourceFileMutationData(path=PACKAGE / path)
    data.load()
    return data.exit_code_by_key


def nearest_first(mutant: str, tests: Iterable[str]) -> list[str]:
    """The quick ones, those of the file of the same name and of the same room before others, while there is time."""
    seconds = state().duration_by_test
    module = mutant.rpartition(".")[0].removeprefix("giskard.checks.").split(".")
    room, stem = f"tests/{module[0]}/", "test_" + module[-1].lstrip("_")
    if config().forkserver_warmup is ForkServerWarmup.NONE:  # which tests see what runs on import is not recorded
        tests = {*tests, *(test for test in seconds if Path(test.partition("::")[0]).stem == stem)}

    def cost(test: str) -> float:
        return seconds.get(test, 0.0) + SECONDS_AROUND_A_TEST

    def rank(test: str) -> float:
        own_file = Path(test.partition("::")[0]).stem == stem
        return cost(test) * (0.1 if own_file else 0.5 if test.startswith(room) else 1.0)

    left, chosen = SECONDS_OF_TESTS, list[str]()
    for test in sorted(tests, key=rank):
        if cost(test) <= left or not chosen:
            left -= cost(test)
            chosen.append(test)
    return chosen


def run_tests(self: PytestRunner, *, mutant_name: str | None, tests: Iterable[str]) -> int:
    """In place of mutmut's own, which runs them in any order: most mutants fail one of the first few tests."""
    if mutant_name is None:
        return all_tests(self, mutant_name=None, tests=tests)
    chosen = nearest_first(mutant_name, tests)
    for part in (chosen[:FIRST], chosen[FIRST:]):
        code = all_tests(self, mutant_name=mutant_name, tests=part) if part else 0
        if code not in (0, 5):  # 5: they are all left out
            return code
    return 0


all_tests = PytestRunner.run_tests
PytestRunner.run_tests = run_tests  # type: ignore[method-assign]


@cache
def spans(path: str) -> MutantLineSpans:
    found = MutantLineSpans.load(PACKAGE / path)
    assert found is not None
    return found


def is_same_code(path: str, mutant: str) -> bool:
    """Whether a mutant differs from the original in the type that a `cast` names only."""
    name = mutant.rpartition(".")[2]
    function = name.partition("__mutmut_")[0]
    mutated, original = spans(path).read_function_sources([name, f"{function}__mutmut_orig"])
    mutated, original = mutated.replace(name, function), original.replace(f"{function}__mutmut_orig", function)
    return CAST.sub("cast(_, ", mutated) == CAST.sub("cast(_, ", original)


CAST = re.compile(r"""cast\((?:"[^"]*"|'[^']*'|None),\s""")


def generate(children: int) -> None:
    """Make the mutants, as `mutmut run` does in the first place."""
    set_mutant_under_test("mutant_generation")
    Path("mutants").mkdir(exist_ok=True)
    with mutmut.CatchOutput(spinner_title="Generating mutants"):
        copy_src_dir()
        copy_also_copy_files()
        setup_source_paths()
        mutmut.create_mutants(children)


def mark_same_code(paths: list[str]) -> None:
    """Take the mutants that are none out of the count."""
    for path in paths:
        data = SourceFileMutationData(path=PACKAGE / path)
        data.load()
        codes = data.exit_code_by_key
        codes.update(
            {name: SAME for name, code in codes.items() if code in (None, *SURVIVED) and is_same_code(path, name)}
        )
        data.save()


def sample(paths: list[str], size: int, seed: int) -> list[str]:
    """The same mutants for the same seed, `size` of each file at most."""
    names: list[str] = []
    for path in paths:
        every = sorted(name for name, code in mutants(path).items() if code != SAME)
        names += every if len(every) <= size else random.Random(f"{seed} {path}").sample(every, size)
    return names


def report(paths: list[str], names: set[str]) -> None:
    """Print the score of each file and of all, by the mutants of these names, and those that survived."""
    codes = {path: mutants(path) for path in paths}
    scores = {path: score for path, found in codes.items() if (score := Score.of(found, names)).total}
    for found in codes.values():
        for name, code in found.items():
            if code in SURVIVED and name in names:
                print(f"survived: {name}")
    print(f"\n{'file':32} {'all':>6} {'tested':>6} {'survived':>8} {'no test':>8} {'timeout':>8} {'score':>8}")
    for path, score in scores.items():
        print(score.line(path))
    outcomes = sum((score.outcomes for score in scores.values()), Counter[str]())
    print(Score(sum(score.total for score in scores.values()), outcomes).line("total"))
    tested = [score for score in scores.values() if score.tested]
    if tested and any(score.tested < score.total for score in tested):
        mean, half = estimate(tested)
        print(f"A sample. Weighted by the files' mutants: {100 * mean:.1f} % (95 % interval: +- {100 * half:.1f}).")
    print("A mutant: .venv/bin/mutmut show <name>")


def estimate(scores: list[Score]) -> tuple[float, float]:
    """The share of all mutants of the files that would be killed, by the samples, and half of its 95 % interval."""
    total = sum(score.total for score in scores)
    mean = sum(score.total * (1 - score.survived / score.tested) for score in scores) / total
    variance = 0.0
    for score in scores:
        share = (score.survived + 1) / (score.tested + 2)  # a sample without survivors does not mean certainty
        not_run = (score.total - score.tested) / max(score.total - 1, 1)
        variance += (score.total / total) ** 2 * share * (1 - share) / score.tested * not_run
    return mean, 1.96 * math.sqrt(variance)


def main() -> None:
    """Run the mutants that were asked for, then print the scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="files or folders, as core/check_result.py")
    parser.add_argument("--sample", type=int, default=0, help="mutants of each file, at random (all)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--children", type=int, default=2, help="mutants at a time")
    parser.add_argument("--again", action="store_true", help="the survivors instead, with the tests of now")
    parser.add_argument("--fresh", action="store_true", help="each in a new Python: what runs on import is mutated too")
    parser.add_argument("--report", action="store_true", help="print the scores of what was run before")
    options = parser.parse_args()
    paths = files(options.only)
    generate(options.children)
    mark_same_code(paths)
    names = sample(paths, options.sample or sys.maxsize, options.seed)
    codes = {name: code for path in paths for name, code in mutants(path).items()}
    wanted = () if options.report else SURVIVED if options.again else (None,)
    if options.fresh:
        config().forkserver_warmup = ForkServerWarmup.NONE
    if to_run := [name for name in names if codes[name] in wanted]:
        mutmut._run(to_run, options.children)
    report(paths, set(names))


if __name__ == "__main__":
    main()
