"""What other evaluation tools export: promptfoo, DeepEval, Inspect and Ragas."""

from __future__ import annotations

from giskard.checks.importers._deepeval import DeepEval
from giskard.checks.importers._inspect import Inspect
from giskard.checks.importers._promptfoo import Promptfoo
from giskard.checks.importers._ragas import Ragas

__all__ = ["DeepEval", "Inspect", "Promptfoo", "Ragas"]
