"""Whatever a record holds: it is read, or it is told why not."""

from __future__ import annotations

import random

import pytest

from giskard.checks import Trace
from giskard.checks.importers.a2a import A2A
from giskard.checks.importers.autogen import AutoGen
from giskard.checks.importers.base import BadRecord, Reading, ReadOptions, Record, RecordFormat
from giskard.checks.importers.bfcl import BFCL
from giskard.checks.importers.claude_code import ClaudeCode, Codex
from giskard.checks.importers.huggingface import HuggingFace
from giskard.checks.importers.langchain import LangChain
from giskard.checks.importers.mcp import MCP
from giskard.checks.importers.pydantic_ai import PydanticAI
from giskard.checks.importers.sharegpt import ShareGPT
from giskard.checks.importers.tau_bench import TauBench
from giskard.checks.importers.tool_exports import DeepEval, Inspect, Promptfoo, Ragas
from giskard.checks.importers.vercel import Vercel
from tests.importers import test_claude_code, test_tau_bench, test_tool_exports
from tests.importers.mutations import ODD, mutated
from tests.importers.recorded import example

RECORDS = {
    LangChain: [
        example("langchain_messages_to_dict.json"),
        example("langchain_dumpd.json"),
        example("langgraph_state.json"),
    ],
    PydanticAI: [example("pydantic_ai_messages.json")],
    ShareGPT: example("sharegpt.json"),
    HuggingFace: example("hf_chat_rows.jsonl"),
    Vercel: [example("vercel_ui_messages.json")],
    ClaudeCode: example("claude_code_session.jsonl"),
    Codex: [
        test_claude_code.spoken("user", "q"),
        test_claude_code.item("function_call", name="f", arguments="{}", call_id="1"),
        test_claude_code.item(
            "function_call_output", call_id="1", output='{"output": "x", "metadata": {"exit_code": 1}}'
        ),
        test_claude_code.counted(3, input_tokens=1),
    ],
    A2A: [example("a2a_task_v1.json"), example("a2a_task_v03.json")],
    MCP: example("mcp_log.jsonl"),
    TauBench: [example("tau_bench_row.json"), test_tau_bench.SIMULATION],
    AutoGen: [
        {
            "history": [{"role": "human", "content": "q"}, {"role": "A", "content": "a"}],
            "mistake_agent": "A",
            "mistake_step": "1",
        },
        [{"source": "a", "type": "ToolCallRequestEvent", "content": [{"id": "1", "name": "f", "arguments": "{}"}]}],
    ],
    BFCL: [
        {"id": "x", "question": [[{"role": "user", "content": "q"}]], "function": [{"name": "f"}]},
        {"id": "x", "ground_truth": [{"f": {"a": [1, ""], "b": [{"c": [1]}]}}]},
        {"id": "x", "ground_truth": [["f(1, b='x')"], []]},
    ],
    Promptfoo: [test_tool_exports.RESULT],
    DeepEval: [test_tool_exports.CASE],
    Inspect: [test_tool_exports.SAMPLE],
    Ragas: [
        {
            "user_input": [
                {"type": "human", "content": "q"},
                {"type": "ai", "content": "a", "tool_calls": [{"name": "f"}]},
            ]
        }
    ],
}


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.name)
def test_changed_records(kind):
    format, chance = kind(), random.Random(0)
    for _ in range(400):
        value = mutated(chance, chance.choice(RECORDS[kind]))
        assert format.detect(value) in (True, False)
        if isinstance(format, RecordFormat):
            try:
                made = format.convert(value, {"path": "rows.parquet"}, ReadOptions(keep_raw=True, stop_markers=("q",)))
                traces = [made] if isinstance(made, Trace) else list(made)
            except BadRecord as problem:
                assert str(problem)
                continue
        else:
            reading = Reading(ReadOptions(sidechains=True))
            traces = list(format.read(iter([Record(value), Record(value)]), reading))
            assert traces or reading.report.skipped
        assert all(isinstance(trace, Trace) for trace in traces)


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.name)
def test_odd_values_are_of_no_format(kind):
    format = kind()
    for value in ODD:
        assert format.detect(value) is False
