"""Results of tau-bench and tau2-bench: conversations with a simulated user, and their reward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from giskard.checks.core.interaction.trace import Trace
from giskard.checks.importers._chat_messages import chat_message
from giskard.checks.importers._conversation import to_trace
from giskard.checks.importers._lenient import dicts, first, known, listed, mapping, number, text, usage_of, within
from giskard.checks.importers._messages import Message, Result
from giskard.checks.importers._plain_chats import plain_chat
from giskard.checks.importers.base import BadRecord, ReadOptions, RecordFormat

__all__ = ["TauBench"]

_SIMULATION = {"reward_info", "termination_reason", "trial", "user_cost", "agent_cost"}


class TauBench(RecordFormat):
    """Rows of tau-bench, and the simulations of tau2-bench."""

    name = "tau_bench"
    aliases = ("tau2_bench",)

    def detect(self, value: Any) -> bool:
        """Whether it is a row with ``traj`` and ``reward``, a simulation, or a file of simulations."""
        row = mapping(value)
        if isinstance(row.get("traj"), list):
            return "reward" in row
        if isinstance(row.get("simulations"), list):
            return all(_is_simulation(item) for item in row["simulations"][:3]) and ("tasks" in row or "info" in row)
        return _is_simulation(row)

    def convert(
        self, value: Any, source: dict[str, Any], options: ReadOptions
    ) -> Trace[Any, Any] | Iterable[Trace[Any, Any]]:
        """The conversation of a row, or those of all simulations of a file."""
        row = mapping(value)
        if "traj" in row:
            annotations = {"source": source, **_of_row(row)}
            return plain_chat(row["traj"], annotations, options, _tells_of_failure) or to_trace(
                _read(dicts(row["traj"], "traj")), annotations, options
            )
        if "simulations" not in row:
            return _simulated(row, {"source": source}, options)
        return self._all(row, source, options)

    def _all(self, file: dict[str, Any], source: dict[str, Any], options: ReadOptions) -> Iterator[Trace[Any, Any]]:
        tasks = {str(task.get("id")): task for task in map(mapping, listed(file.get("tasks")))}
        shared = known(
            source=source,
            system_prompt=text(within(file, "info", "environment_info", "policy")),
            domain=text(within(file, "info", "environment_info", "domain_name")),
            model=text(within(file, "info", "agent_info", "llm")),
        )
        for simulation in dicts(file["simulations"], "simulations"):
            task = tasks.get(str(simulation.get("task_id")), {})
            yield _simulated(simulation, {**shared, **_of_task(task)}, options)


def _is_simulation(value: Any) -> bool:
    row = mapping(value)
    return isinstance(row.get("messages"), list) and "task_id" in row and len(row.keys() & _SIMULATION) >= 2


def _conversation(row: dict[str, Any]) -> str:
    trial = "" if row.get("trial") is None else f", trial {row['trial']}"
    return f"task {row.get('task_id')}{trial}"


def _rewarded(reward: Any) -> dict[str, Any]:
    return {} if reward is None else {"reward": reward, "labels": {"reward": reward}}


def _of_row(row: dict[str, Any]) -> dict[str, Any]:
    """What a row of tau-bench says beside its messages."""
    info = mapping(row.get("info"))
    task = mapping(info.get("task"))
    return {
        "conversation_id": _conversation(row),
        **_rewarded(row.get("reward")),
        **known(
            task_id=row.get("task_id"),
            trial=row.get("trial"),
            goal=text(task.get("instruction")),
            user_id=text(task.get("user_id")),
            expected_actions=_actions(task),
            expected_outputs=task.get("outputs"),
            info={key: item for key, item in info.items() if key != "task"} or None,
        ),
    }


def _of_task(task: dict[str, Any]) -> dict[str, Any]:
    """What a task of tau2-bench asks for."""
    criteria = mapping(task.get("evaluation_criteria"))
    return known(
        goal=within(task, "user_scenario", "instructions"),
        persona=within(task, "user_scenario", "persona"),
        expected_actions=_actions(criteria),
        expected_outputs=criteria.get("communicate_info"),
        expected_assertions=criteria.get("nl_assertions"),
    )


def _actions(holder: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The calls that a task expects."""
    if "actions" not in holder:
        return None
    return [
        known(
            name=action.get("name"),
            arguments=first(action, "kwargs", "arguments"),
            requestor=action.get("requestor"),
        )
        for action in map(mapping, listed(holder["actions"]))
    ]


def _simulated(row: dict[str, Any], shared: dict[str, Any], options: ReadOptions) -> Trace[Any, Any]:
    messages = dicts(row.get("messages"), "messages")
    annotations = {
        **shared,
        "conversation_id": _conversation(row),
        **_rewarded(within(row, "reward_info", "reward")),
        **known(
            task_id=row.get("task_id"),
            trial=row.get("trial"),
            simulation_id=text(row.get("id")),
            termination_reason=text(row.get("termination_reason")),
            reward_info=row.get("reward_info"),
            agent_cost=row.get("agent_cost"),
            user_cost=row.get("user_cost"),
        ),
    }
    return to_trace(_read(messages), annotations, options)


def _read(items: list[dict[str, Any]]) -> Iterator[Message]:
    mine: list[dict[str, Any]] = []  # calls of the user's own tools, which wait for their results
    for index, item in enumerate(items):
        if item.get("role") == "tool":
            yield from _results(item, index, mine)
            continue
        made = chat_message(item, index)
        made.index = index
        if made.role == "user" and (asked := listed(item.get("tool_calls"))):
            mine += [_own_call(mapping(call)) for call in asked]
            if made.content is None:
                continue
        elif made.role == "assistant":
            _measure(made, item)
        yield made
    if mine:
        yield Message("tool", metadata={"user_tool_calls": mine})


def _measure(made: Message, item: dict[str, Any]) -> None:
    made.usage = usage_of(item.get("usage"), input_tokens="prompt_tokens", output_tokens="completion_tokens")
    made.cost_usd = number(item.get("cost"))
    seconds = number(item.get("generation_time_seconds"))
    made.latency_ms = None if seconds is None else seconds * 1000


def _tells_of_failure(content: str) -> bool:
    return content.startswith("Error")


def _results(item: dict[str, Any], index: int, mine: list[dict[str, Any]]) -> Iterator[Message]:
    """The results of a message: those of the agent's tools, and those of the user's own."""
    several = listed(item.get("tool_messages"))
    agents: list[Result] = []
    for part in map(mapping, several or [item]):
        content, call_id = part.get("content"), text(first(part, "tool_call_id", "id"))
        failed = part.get("error") is True or (isinstance(content, str) and _tells_of_failure(content))
        if part.get("requestor") != "user":
            agents.append(Result(content, id=call_id, name=text(part.get("name")), error=failed or None))
            continue
        call = next((call for call in mine if call["id"] == call_id), None)
        if call is None:
            raise BadRecord(f"message {index}: a result for the user's call {call_id!r}, which was never made")
        mine.remove(call)
        call |= {"result": None, "error": content} if failed else {"result": content, "error": None}
        yield Message("tool", metadata={"user_tool_calls": [call]}, raw=part, index=index)
    if agents:
        yield Message("tool", results=agents, raw=item, index=index)


def _own_call(call: dict[str, Any]) -> dict[str, Any]:
    return {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("arguments")}
