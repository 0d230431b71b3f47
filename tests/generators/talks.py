"""What the tests of simulated users share."""

import asyncio
import json
from typing import Any

from giskard.checks import FnCheck, Scenario, UserSimulator
from giskard.checks.testing import FakeGenerator


def says(message: Any, done: bool = False, **more: Any) -> str:
    """A model's answer."""
    return json.dumps({"goal_reached": done, "message": message, **more})


DONE = says(None, done=True)


def talk(*replies: Any, target: Any = lambda inputs: "reply", user: Any = None, llm: Any = None, **fields: Any) -> Any:
    """The result of a conversation, and the model that was asked."""
    llm = llm or (FakeGenerator(*replies) if replies else None)
    user = user or UserSimulator(**{"persona": "A customer.", "generator": llm, **fields})
    scenario = Scenario("talk").interact(inputs=user, outputs=target).check(FnCheck(fn=lambda trace: True))
    return asyncio.run(scenario.run(return_exception=True)), llm


def sent(result: Any) -> list[Any]:
    return [turn.inputs for turn in result.final_trace.interactions]


def ending(result: Any) -> dict[str, Any]:
    """What the last turn says of the simulation."""
    return result.final_trace.last.metadata["simulation"]
