"""Small conversations in our own format: what is tested with them is the way to the formats, not the formats."""

from __future__ import annotations

import json

from giskard.checks import load_traces


def row(number=1, **more):
    return {"interactions": [{"inputs": f"q{number}", "outputs": f"a{number}"}], **more}


def line(number=1, **more):
    return json.dumps(row(number, **more))


def questions(traces):
    """What was asked first in each trace."""
    return [trace.interactions[0].inputs for trace in traces]


def loaded(path, *args, **options):
    """The first questions of all traces, and where what was skipped stands: (line, reason)."""
    traces = load_traces(path, *args, on_skip="ignore", **options)
    asked = questions(traces)
    return asked, [(skip.line, skip.reason) for skip in traces.report.skipped]
