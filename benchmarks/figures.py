"""What is shown of each workload, and the bounds that a release must keep."""

from dataclasses import dataclass
from typing import Literal

from benchmarks.workloads import FIRST, TURNS


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    A `bound` holds for the ratio to the bare loop, or, where `of` says so, for the value itself.
    """

    workload: str
    metric: str
    label: str
    unit: str
    bound: float | None = None
    of: Literal["ratio", "value"] = "ratio"


def _suite(workload: str, bound: float) -> list[Figure]:
    return [
        Figure(workload, "suite_wall", "makespan", "s"),
        Figure(workload, "over_ideal", "makespan over ideal", "x", bound, "value"),
        Figure(workload, "suite_cpu", "CPU", "s"),
    ]


TITLES = {
    "W1": "import",
    "W2": "replay",
    "W3": "turns",
    "W4": "async suite",
    "W5": "sync suite",
    "W6": "judges",
    "W7": "payloads",
    "W8": "export",
    "W9": "regex, schema",
    "W10": "recorded logs",
}

FIGURES = [
    Figure("W1", "import_cpu", "import (bare: os), CPU", "ms"),
    Figure("W1", "import_wall", "import (bare: os), wall", "ms"),
    Figure("W1", "import_rss", "import (bare: os), peak RSS", "MB"),
    Figure("W1", "over_pass", "import CPU over `-c pass`", "x", None, "value"),
    Figure("W1", "over_pydantic", "import CPU over `import pydantic`", "x", None, "value"),
    Figure("W1", "names_cpu", "five names (bare: pydantic.BaseModel), CPU", "ms", 2.0),
    Figure("W2", "build_cpu", "build a case, CPU", "us"),
    Figure("W2", "run_cpu", "run a case, CPU", "us"),
    Figure("W2", "total_cpu", "build + run, CPU (aim: 2.5)", "us", 4.0),
    Figure("W2", "total_wall", "build + run, wall", "us"),
    Figure("W2", "cases_per_s", "cases per CPU second", "/s"),
    Figure("W2", "peak_mb", "peak RSS", "MB", 2.0),
    Figure("W2", "grow_mb", "RSS growth", "MB"),
    *[Figure("W3", f"build_cpu@{n}", f"build a turn, N={n}, CPU", "us") for n in TURNS],
    *[Figure("W3", f"run_cpu@{n}", f"run a turn, N={n}, CPU", "us", 6.0) for n in TURNS],
    Figure("W3", f"run_cpu@{FIRST}", "run a turn, N=10, of the first 100 on both sides, CPU", "us"),
    Figure("W3", "growth", "growth exponent of run, 1000 to 3000", "", 1.05, "value"),
    *_suite("W4", 1.1),
    *_suite("W5", 1.2),
    Figure("W6", "judge_wall", "makespan", "s"),
    Figure("W6", "over_ideal", "makespan over ideal", "x", 1.2, "value"),
    Figure("W6", "cpu_per_check", "CPU a judged check (aim: 18)", "ms", 30.0),
    Figure("W6", "library", "CPU of the library's own request over bare", "x", None, "value"),
    Figure("W6", "above_library", "our share above the library, over bare", "x", 4.0, "value"),
    Figure("W6", "first_call_wall", "first call, wall", "s"),
    Figure("W6", "in_flight_max", "most calls at once", ""),
    Figure("W7", "build_cpu", "build, CPU", "s"),
    Figure("W7", "run_cpu", "20 checks, CPU", "s", 1.5),
    Figure("W7", "peak_mb", "peak RSS", "MB"),
    Figure("W7", "grow_mb", "RSS growth", "MB"),
    Figure("W8", "suite_cpu", "run the suite, CPU", "s"),
    Figure("W8", "junit_cpu", "JUnit, CPU", "s", 3.0),
    Figure("W8", "json_cpu", "JSON, CPU", "s", 2.0),
    Figure("W8", "report_cpu", "report, CPU (aim: 20)", "s", 100.0),
    Figure("W8", "junit_mb", "JUnit size", "MB"),
    Figure("W8", "json_mb", "JSON size", "MB"),
    Figure("W8", "report_mb", "report size", "MB"),
    Figure("W9", "regex_build_cpu", "regex: build a check, CPU", "us"),
    Figure("W9", "regex_run_cpu", "regex: run a check, CPU", "us", 1.0),
    Figure("W9", "json_build_cpu", "json: build a check, CPU", "us"),
    Figure("W9", "json_run_cpu", "json: run a check, CPU", "us", 1.5),
    Figure("W10", "row_cpu", "load + 3 checks (bare: parse), CPU", "us", 3.0),
    Figure("W10", "row_wall", "load + 3 checks (bare: parse), wall", "us"),
    Figure("W10", "deep_cpu", "load + all metadata read (bare: parse)", "us"),
    Figure("W10", "mb_per_s", "of the file per CPU second", "MB/s"),
    Figure("W10", "conversations", "conversations", ""),
    Figure("W10", "peak_mb", "peak RSS, whatever the size", "MB", 300.0, "value"),
]
