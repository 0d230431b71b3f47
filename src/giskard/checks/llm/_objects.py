"""The JSON objects in what a model wrote, whatever stands around them.

Models that are not held to JSON wrap it in fences and prose, think aloud first, use single quotes, Python's True and
None, bare keys and trailing commas.  All of that is read here; what is missing is never made up: an object that is cut
off, or says two things under one key, is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

__all__ = ["Found", "find_objects"]

_MAX_DEPTH = 64

_SPACE = re.compile(r"[ \t\r\n\f\v\u00a0\ufeff]*")
_SCALAR = re.compile(
    r"""(?P<text>  "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | (?P<number> -?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)? (?![\w.]) )
    | (?P<word>   (?:true|false|null|True|False|None) (?!\w) )""",
    re.VERBOSE | re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?=\s*:)")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}

# Where models think aloud; what stands there is not the answer.
_THOUGHT = r"think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
_TAG = re.compile(rf"<(/?)(?:{_THOUGHT})\b[^<>]{{0,80}}>|\[(/?)THINK\]", re.IGNORECASE)


class Found(NamedTuple):
    """What was found in a reply."""

    objects: list[dict[str, Any]]
    """The objects outside of any thinking, in their order."""
    problem: str
    """Why there is none, or none after those: empty when nothing is wrong."""


class _Object(NamedTuple):
    """An object, and where it stands."""

    start: int
    end: int
    value: dict[str, Any]


class _NotThis(Exception):
    """What starts here is no object.

    Parameters
    ----------
    problem
        What is wrong, when it looks as if it was meant to be one.
    place
        Where the next one may start; None for anywhere behind the start of this one.
    """

    def __init__(self, problem: str = "", place: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place


class _CutOff(Exception):
    """The reply ends within an object."""


def find_objects(reply: str) -> Found:
    """The JSON objects of a reply that stand outside of any thinking.

    Examples
    --------
    >>> find_objects("<think>{'passed': True}?</think> So: {'passed': False,}").objects
    [{'passed': False}]
    """
    plain = _plain(reply)
    if plain is not None:
        return Found([plain], "")
    objects, problem = _scan(reply)
    depth, kept, waiting = 0, list[dict[str, Any]](), 0
    tags = _tags(reply, objects)
    for tag in tags:
        while waiting < len(objects) and objects[waiting].start < tag.start():
            if depth == 0:
                kept.append(objects[waiting].value)
            waiting += 1
        if tag[1] or tag[2]:  # all before the end of a thought is thought: some templates leave out its beginning
            depth, kept = max(depth - 1, 0), []
        else:
            depth += 1
    if depth:
        return Found(kept, problem or "the thinking in it does not end")
    kept += [found.value for found in objects[waiting:]]
    return Found(kept, problem or ("" if kept else "there is no JSON object in it"))


def _plain(reply: str) -> dict[str, Any] | None:
    """The object that a reply is, when it is JSON and nothing else, as most are."""
    try:
        found = json.loads(reply, object_pairs_hook=_once, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _tags(reply: str, objects: Sequence[_Object]) -> list[re.Match[str]]:
    """The tags of thinking, but for those within the texts of an object."""
    found, place = list[re.Match[str]](), 0
    for tag in _TAG.finditer(reply):
        while place < len(objects) and objects[place].end <= tag.start():
            place += 1
        if place == len(objects) or tag.start() < objects[place].start:
            found.append(tag)
    return found


def _scan(reply: str) -> tuple[list[_Object], str]:
    objects, problem = list[_Object](), ""
    place = _after_thought(reply)
    while (start := reply.find("{", place)) >= 0:
        try:
            value, end = _object(reply, start, 0)
        except _NotThis as error:
            place, problem = error.place or start + 1, error.problem or problem
        except _CutOff:
            return objects, "it is cut off within a JSON object"
        else:
            objects.append(_Object(start, end, value))
            place, problem = end, ""
    return objects, problem


def _after_thought(reply: str) -> int:
    """Where the answer may start: a reply that starts with thinking has it after that, whatever quotes are in it."""
    place = 0
    while True:
        opened = _TAG.match(reply, _skip(reply, place))
        if opened is None or opened[1] or opened[2]:
            return place
        closed = next((tag for tag in _TAG.finditer(reply, opened.end()) if tag[1] or tag[2]), None)
        if closed is None:
            return place
        place = closed.end()


def _object(text: str, start: int, depth: int) -> tuple[dict[str, Any], int]:
    if depth > _MAX_DEPTH:
        raise _NotThis("its JSON is nested too deeply", start)
    found, place = dict[str, Any](), _skip(text, start + 1)
    while True:
        if _at(text, place) == "}":
            return found, place + 1
        key, place = _key(text, place)
        if _at(text, place) != ":":
            raise _NotThis
        value, place = _value(text, _skip(text, place + 1), depth)
        if key in found and (type(found[key]) is not type(value) or found[key] != value):
            raise _NotThis(f"it says two things under one key, {key!r}")
        found[key] = value
        place = _after_item(text, place, "}")


def _array(text: str, start: int, depth: int) -> tuple[list[Any], int]:
    if depth > _MAX_DEPTH:
        raise _NotThis("its JSON is nested too deeply", start)
    found, place = list[Any](), _skip(text, start + 1)
    while True:
        if _at(text, place) == "]":
            return found, place + 1
        value, place = _value(text, place, depth)
        found.append(value)
        place = _after_item(text, place, "]")


def _after_item(text: str, place: int, end: str) -> int:
    """The start of the next item, or of the end; a comma may stand before both."""
    mark = _at(text, place)
    if mark == ",":
        return _skip(text, place + 1)
    if mark != end:
        raise _NotThis
    return place


def _key(text: str, place: int) -> tuple[str, int]:
    bare = _BARE_KEY.match(text, place)
    if bare is not None:
        return bare[0], _skip(text, bare.end())
    if _at(text, place) not in "\"'":
        raise _NotThis
    return _scalar(text, place)


def _value(text: str, place: int, depth: int) -> tuple[Any, int]:
    mark = _at(text, place)
    if mark == "{":
        value, end = _object(text, place, depth + 1)
    elif mark == "[":
        value, end = _array(text, place, depth + 1)
    else:
        return _scalar(text, place)
    return value, _skip(text, end)


def _scalar(text: str, place: int) -> tuple[Any, int]:
    found = _SCALAR.match(text, place)
    if found is None:
        if text[place] in "\"'":
            raise _CutOff
        raise _NotThis
    end = _skip(text, found.end())
    if found["word"]:
        return _WORDS[found["word"]], end
    if found["number"]:
        return _loaded(found["number"]), end
    return _text(found["text"]), end


def _text(quoted: str) -> str:
    if quoted[0] == "'":
        inner = re.sub(r'\\(.)|"', lambda part: {"'": "'", None: '\\"'}.get(part[1], part[0]), quoted[1:-1], flags=re.S)
        quoted = f'"{inner}"'
    return _loaded(quoted)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):  # an escape that JSON does not know, a number of thousands of digits
        raise _NotThis(f"{text[:80]} in it is not JSON") from None


def _at(text: str, place: int) -> str:
    if place >= len(text):
        raise _CutOff
    return text[place]


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()
