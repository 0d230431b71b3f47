"""The runner of scenarios: the documented door to what `Scenario.run` does."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeVar

from giskard.checks.core.blocking import blocking
from giskard.checks.core.events import RunObserver
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.result import ScenarioResult
from giskard.checks.core.scenario import Scenario
from giskard.checks.core.types import MISSING

__all__ = ["ScenarioRunner", "get_runner"]

AnyTraceT = TypeVar("AnyTraceT", bound=Trace)


class ScenarioRunner:
    """Runs scenarios; most users call ``scenario.run()``."""

    async def run(
        self,
        scenario: Scenario[Any, Any, AnyTraceT],
        target: Any = MISSING,
        return_exception: bool = False,
        multiple_runs: int | None = None,
        *,
        strict: bool = False,
        target_factory: Any = None,
        observers: Sequence[RunObserver] = (),
    ) -> ScenarioResult[AnyTraceT]:
        """As `Scenario.run`; a `target` of None stands for none given."""
        return await scenario.run(
            MISSING if target is None else target,
            return_exception,
            multiple_runs,
            strict=strict,
            target_factory=target_factory,
            observers=observers,
        )

    run_sync = blocking(run, "runner")


@functools.cache
def get_runner() -> ScenarioRunner:
    """The one runner of this process."""
    return ScenarioRunner()
