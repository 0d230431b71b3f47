"""Results as the JSON data that the Hub, and any other service, can read."""

from __future__ import annotations

import json
from typing import Any

from giskard.checks.core.models import SCHEMA_VERSION
from giskard.checks.export._result_json import result_text
from giskard.checks.export._results import AnyResult, as_suite
from giskard.checks.utils.json_safe import json_safe

__all__ = ["to_hub_format"]


def to_hub_format(result: AnyResult) -> dict[str, Any]:
    """The results of a run as JSON data.

    Parameters
    ----------
    result
        Of a suite; that of a single scenario or test case is written as a suite of one.

    Returns
    -------
    dict[str, Any]
        JSON types only: ``schema_version``, ``suite_name``, ``run_id``, ``results`` (each with its steps and their
        check results), the counts, ``pass_rate`` (from 0 to 1; None when nothing counts), ``duration_ms`` and
        ``recommendation``.
    """
    suite = as_suite(result)
    counts = suite.counts
    written: dict[str, Any] = json_safe(
        {
            "schema_version": SCHEMA_VERSION,
            "suite_name": suite.name,
            "run_id": suite.run_id,
            "total": len(suite.members),
            "passed_count": counts["pass"],
            "failed_count": counts["fail"],
            "errored_count": counts["error"],
            "skipped_count": counts["skip"],
            "pass_rate": suite.pass_rate,
            "duration_ms": suite.duration_ms,
            "recommendation": suite.recommendation,
        }
    )
    return {**written, "results": [json.loads(result_text(member.source)) for member in suite.members]}
