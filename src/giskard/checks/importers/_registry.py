"""The formats there are, in the order in which a record is held against them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

from giskard.checks.core.models import did_you_mean
from giskard.checks.importers.base import FileFormat, Format

__all__ = ["GROUP", "check_format", "file_formats", "format_named", "names_of_formats", "ranks", "third_party"]

GROUP = "giskard_checks.importers"
"""The entry points of formats that other packages bring: name -> ``"module:Class"``."""

_PACKAGE = "giskard.checks.importers"

# A record belongs to the first that recognises it: those above know their records by keys that nobody else has, those
# below would take many others for theirs.  Two on one line are never to recognise the same record.
_RANKS: tuple[dict[str, str], ...] = (
    {"giskard": "giskard:GiskardFormat"},
    {"opentelemetry": "opentelemetry:OpenTelemetry"},
    {"langsmith": "langsmith:LangSmith"},
    {"langfuse": "langfuse:Langfuse"},
    {"cassette": "cassette:Cassette"},
    {"pydantic_ai": "pydantic_ai:PydanticAI"},
    {"langchain": "langchain:LangChain"},
    {"sharegpt": "sharegpt:ShareGPT"},
    {
        "tau_bench": "tau_bench:TauBench",
        "autogen": "autogen:AutoGen",
        "bfcl": "bfcl:BFCL",
        "promptfoo": "tool_exports:Promptfoo",
        "deepeval": "tool_exports:DeepEval",
        "inspect": "tool_exports:Inspect",
        "ragas": "tool_exports:Ragas",
    },
    {"a2a": "a2a:A2A"},
    {"mcp": "mcp:MCP"},
    {"gemini": "gemini:Gemini"},
    {"vercel": "vercel:Vercel"},
    {"claude_code": "claude_code:ClaudeCode", "codex": "claude_code:Codex"},
    {"bedrock": "bedrock:Bedrock"},
    {"anthropic": "anthropic:Anthropic"},
    {"openai_responses": "openai_responses:OpenAIResponses"},
    {"huggingface": "huggingface:HuggingFace"},
    {"openai_chat": "openai_chat:OpenAIChat"},
    {"table": "table:Table"},
)
_HOMES = {name: home for rank in _RANKS for name, home in rank.items()}


@functools.cache
def _own(name: str) -> Format:
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(f"{_PACKAGE}.{module}"), attribute)()


@functools.cache
def third_party() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    """The formats of other packages, and why some of them could not be loaded."""
    found: list[Format] = []
    problems: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded: Any = point.load()
            made: Any = loaded() if isinstance(loaded, type) else loaded
            if not isinstance(made, Format):
                raise TypeError(f"{point.value} is {type(made).__name__}, not a {Format.__module__}.Format")
            found.append(check_format(made))
        except Exception as error:  # whatever it does, the others are there
            problems.append(f"the format {point.name!r} ({point.value}) could not be loaded: {error!r}")
    return tuple(found), tuple(problems)


def check_format(format: Format) -> Format:
    """A format of the user's, which has a name.

    Raises
    ------
    TypeError
        When it has none.
    """
    name: Any = getattr(format, "name", None)
    if not isinstance(name, str) or not name:
        kind = type(format).__name__
        has = "has no name" if name is None else f"has the name {name!r}, which is no text or empty"
        raise TypeError(f"the format {kind} {has}; give the class one, which reports show: name = {kind.lower()!r}")
    return format


def ranks() -> Iterator[tuple[Format, ...]]:
    """The formats in the order of detection; those of one rank must not recognise the same record."""
    others = third_party()[0]
    if others:
        yield others
    for rank in _RANKS:
        yield tuple(_own(name) for name in rank)


# Those of ours whose files are not JSON.
_FILE_FORMATS = ("cassette", "table")


@functools.cache
def file_formats() -> tuple[FileFormat, ...]:
    """The formats whose files are read as a whole; those of other packages come first."""
    own = (_own(name) for name in _FILE_FORMATS)
    return tuple(format for format in (*third_party()[0], *own) if isinstance(format, FileFormat))


def names_of_formats() -> list[str]:
    """What ``format=`` may be, without aliases."""
    return ["auto", *_HOMES, *(format.name for format in third_party()[0])]


def format_named(name: str) -> Format:
    """The format that `name` or one of its aliases stands for.

    Raises
    ------
    ValueError
        When there is none, with the closest name.
    """
    for other in third_party()[0]:
        if name == other.name or name in other.aliases:
            return other
    if name in _HOMES:
        return _own(name)
    known = [format for rank in ranks() for format in rank]
    for format in known:
        if name in format.aliases:
            return format
    names = sorted({spelling for format in known for spelling in (format.name, *format.aliases)})
    hint = did_you_mean(cast("Any", name), names) if isinstance(cast("Any", name), str) else ""
    raise ValueError(f"there is no format {name!r}{hint or '.'} There are: auto, {', '.join(names)}")
