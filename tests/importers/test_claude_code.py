"""Session logs of coding agents."""

from __future__ import annotations

import pytest

from giskard.checks.importers.claude_code import ClaudeCode, Codex
from tests.importers.recorded import called, example, one, read, read_all, said, turn

CLAUDE = ClaudeCode()
CODEX = Codex()


def line(kind, content, uuid, parent=None, **fields):
    message = {"role": kind, "content": content, **fields.pop("message", {})}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **fields}


def text(said):
    return [{"type": "text", "text": said}]


def use(id="t1", name="Bash", **arguments):
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id="t1", content="ok", **fields):
    return [{"type": "tool_result", "tool_use_id": id, "content": content, **fields}]


def test_the_example():
    trace = one(CLAUDE, *example("claude_code_session.jsonl"))
    assert said(trace) == [("List the files", None)]
    assert called(trace) == [("toolu_1", "Bash", {"command": "ls"}, "a.py", None)]
    metadata = trace.interactions[0].metadata
    assert metadata["usage"] == {"input_tokens": 10, "output_tokens": 5} and metadata["incomplete"] is True
    assert metadata["model"] == "claude-sonnet-4-5" and metadata["timestamp"] == "2025-10-09T08:53:20.000Z"
    assert trace.annotations["conversation_id"] == "s1" and trace.annotations["cwd"] == "/repo"


def test_the_pieces_of_an_answer_count_once():
    about = {"id": "m1", "model": "m"}
    lines = [
        line("user", "q", "1"),
        line(
            "assistant",
            [{"type": "thinking", "thinking": "hm"}],
            "2",
            "1",
            message={**about, "usage": {"input_tokens": 9, "output_tokens": 1}},
        ),
        line(
            "assistant",
            [use()],
            "3",
            "2",
            message={**about, "usage": {"input_tokens": 9, "output_tokens": 6, "cache_read_input_tokens": 3}},
        ),
        line(
            "assistant",
            [use()],
            "3b",
            "3",
            message={**about, "usage": {"input_tokens": 9, "output_tokens": 6, "cache_read_input_tokens": 3}},
        ),
        line("user", result(), "4", "3"),
        line(
            "assistant", text("Done."), "5", "4", message={"id": "m2", "usage": {"input_tokens": 1, "output_tokens": 2}}
        ),
    ]
    reply = turn(CLAUDE, *lines)
    assert reply.outputs == "Done." and len(reply.metadata["tool_calls"]) == 1
    assert reply.metadata["usage"] == {"input_tokens": 13, "output_tokens": 8, "cached_tokens": 3}
    assert reply.metadata["reasoning"] == ["hm"]


def test_parallel_calls_whose_results_hang_on_different_pieces():
    lines = [
        line("user", "q", "1"),
        line("assistant", [use("a")], "2", "1", message={"id": "m"}),
        line("assistant", [use("b")], "3", "2", message={"id": "m"}),
        line("user", result("a", "of a"), "4", "2"),
        line("user", result("b", "of b", is_error=True), "5", "3"),
        line("assistant", text("Done."), "6", "5"),
    ]
    assert [(call[0], call[3], call[4]) for call in called(one(CLAUDE, *lines))] == [
        ("a", "of a", None),
        ("b", None, "of b"),
    ]
    # A line that stands before its parent is put behind it.
    mixed = [lines[0], lines[5], *lines[1:5]]
    assert said(one(CLAUDE, *mixed)) == [("q", "Done.")]


def test_what_the_user_took_back():
    lines = [
        line("user", "q", "1"),
        line("assistant", text("a"), "2", "1"),
        line("user", "wrong way", "3", "2"),
        line("assistant", text("b"), "4", "3"),
        line("user", "right way", "5", "2"),
        line("assistant", text("c"), "6", "5"),
    ]
    trace = one(CLAUDE, *lines)
    assert said(trace) == [("q", "a"), ("right way", "c")] and trace.annotations["taken_back"] == 2


def test_what_no_person_wrote_begins_no_turn():
    lines = [
        line("user", "caveat", "0", isMeta=True),
        line("user", "q", "1", "0"),
        line("user", "<local-command-stdout>ok</local-command-stdout>", "2", "1"),
        line("assistant", text("a"), "3", "2"),
        line("user", "summary of what went before", "4", isCompactSummary=True),
        line("user", "r", "5", "4"),
        line("assistant", text("b"), "6", "5", isApiErrorMessage=True),
    ]
    trace = one(CLAUDE, *lines)
    assert said(trace) == [("q", "a"), ("r", "b")]
    kinds = [note["kind"] for interaction in trace.interactions for note in interaction.metadata.get("notes", ())]
    assert kinds == ["meta", "meta", "compact_summary"]
    assert trace.interactions[1].metadata["api_error"] is True


def test_side_conversations():
    lines = [
        line("user", "q", "1"),
        line("user", "explore", "x1", isSidechain=True),
        line("assistant", text("explored"), "x2", "x1", isSidechain=True),
        line("assistant", text("a"), "2", "1"),
    ]
    trace = one(CLAUDE, *lines)
    assert said(trace) == [("q", "a")] and trace.annotations["sidechain_lines"] == 2
    (main, side), skipped = read(CLAUDE, *lines, sidechains=True)
    assert skipped == [] and said(main) == [("q", "a")] and said(side) == [("explore", "explored")]
    assert side.annotations["sidechain"] == "x1" and side.annotations["conversation_id"] == "s"
    traces, skipped = read(CLAUDE, *lines[1:3])
    assert traces == [] and skipped == ["a side conversation of 2 lines; it is read with sidechains=True"]


def test_sessions_of_a_file():
    about = [
        {"type": "summary", "summary": "A talk", "leafUuid": "2"},
        {"type": "file-history-snapshot", "snapshot": {}},
    ]
    first, second = line("user", "q", "1"), {**line("user", "r", "9"), "sessionId": "t"}
    traces, skipped = read(CLAUDE, first, *about, second, line("assistant", text("a"), "2", "1"))
    assert skipped == [] and [said(trace) for trace in traces] == [[("q", "a")], [("r", None)]]
    assert traces[0].annotations["summary"] == "A talk"


def test_results_that_only_the_program_kept():
    lines = [
        line("user", "q", "1"),
        line("assistant", [use()], "2", "1"),
        line("user", result(content=""), "3", "2", toolUseResult={"stdout": "", "stderr": "", "interrupted": True}),
    ]
    assert called(one(CLAUDE, *lines))[0][3] == {"stdout": "", "stderr": "", "interrupted": True}


def test_what_cannot_be_read_is_told():
    traces, skipped = read_all(CLAUDE, "x", {"type": "user"})
    assert traces == [] and all("expected a line of a session" in reason for reason in skipped) and len(skipped) == 2
    traces, skipped = read(CLAUDE, {"type": "summary", "summary": "A talk", "leafUuid": "2"})
    assert skipped == ["the session holds no message of a user or an assistant"]


def item(kind, **fields):
    return {"timestamp": "2025-10-09T08:53:20Z", "type": "response_item", "payload": {"type": kind, **fields}}


def event(kind, **fields):
    return {"timestamp": "2025-10-09T08:53:20Z", "type": "event_msg", "payload": {"type": kind, **fields}}


def spoken(role, said):
    return item(
        "message", role=role, content=[{"type": "input_text" if role == "user" else "output_text", "text": said}]
    )


def counted(total, **tokens):
    return event("token_count", info={"last_token_usage": tokens, "total_token_usage": {"total_tokens": total}})


def test_a_session_of_codex():
    lines = [
        {
            "type": "session_meta",
            "payload": {"id": "c", "cwd": "/repo", "cli_version": "1", "instructions": "Be brief."},
        },
        spoken("user", "<environment_context>here</environment_context>"),
        spoken("user", "List the files"),
        event("user_message", message="List the files"),
        {"type": "turn_context", "payload": {"model": "gpt-5-codex"}},
        item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="x"),
        item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="1"),
        item("function_call_output", call_id="1", output='{"output": "a.py", "metadata": {"exit_code": 0}}'),
        item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="2"),
        item("custom_tool_call_output", call_id="2", output='{"output": "failed", "metadata": {"exit_code": 1}}'),
        counted(11, input_tokens=9, output_tokens=2, cached_input_tokens=4, reasoning_output_tokens=1),
        counted(11, input_tokens=9, output_tokens=2),
        spoken("assistant", "a.py"),
        event("agent_message", message="a.py"),
        counted(21, input_tokens=7, output_tokens=3),
    ]
    trace = one(CODEX, *lines)
    assert said(trace) == [("List the files", "a.py")]
    assert called(trace) == [
        ("1", "shell", {"command": ["ls"]}, "a.py", None),
        ("2", "apply_patch", {"input": "*** Begin"}, None, "failed"),
    ]
    metadata = trace.interactions[0].metadata
    assert metadata["usage"] == {"input_tokens": 16, "output_tokens": 5, "cached_tokens": 4, "reasoning_tokens": 1}
    assert metadata["reasoning"] == ["hm"] and metadata["model"] == "gpt-5-codex"
    annotations = trace.annotations
    assert annotations["conversation_id"] == "c" and annotations["system_prompt"] == "Be brief."
    assert annotations["cwd"] == "/repo"
    traces, skipped = read(CODEX, lines[0])
    assert traces == [] and skipped == ["the session holds no message"]
    other = {"type": "session_meta", "payload": {"id": "d"}}
    traces, _ = read(CODEX, *lines, other, spoken("user", "q"))
    assert [said(trace) for trace in traces] == [[("List the files", "a.py")], [("q", None)]]


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"type": "user", "content": "q"},
        {"type": "assistant", "message": "x", "sessionId": "s"},
        {"type": [], "sessionId": "s"},
        {"type": "summary"},
    ],
)
@pytest.mark.parametrize("format", [CLAUDE, CODEX])
def test_what_is_no_session(format, value):
    assert format.detect(value) is False
