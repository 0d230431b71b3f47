"""The JSON objects in what a model wrote, whatever stands around them.

Models that are not held to JSON wrap it in fences and prose, think aloud first, use single quotes, Python's True and
None, bare keys and trailing commas.  All of that is read here; what is missing is never made up.  What was meant as an
object and is none (cut off, broken, two things under one key) is told as such, and nothing inside of it is taken for
an object of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from giskard.checks.llm.thinking import THOUGHT

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
_BRACES = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}]', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SHORT = 300


class Found(NamedTuple):
    """Something in a reply that is an object, or was meant as one."""

    value: dict[str, Any]
    """The object; when it is broken, an empty one."""
    keys: frozenset[str]
    """Its keys, as far as they could be read."""
    problem: str = ""
    """What is wrong with it: empty when nothing is."""
    ends_reply: bool = False
    """Whether the reply ends within it: whatever it was to say is missing."""


class _Place(NamedTuple):
    """Where something that was found stands."""

    start: int
    end: int
    found: Found


class _Broken(Exception):
    """What starts here cannot be read on."""


def find_objects(reply: str) -> list[Found]:
    """What a reply holds outside of any thinking: objects, and what was meant as such, in their order.

    Examples
    --------
    >>> [found.value for found in find_objects("<think>{'passed': True}?</think> So: {'passed': False,}")]
    [{'passed': False}]
    """
    plain = _plain(reply)
    if plain is not None:
        return [Found(plain, frozenset(plain))]
    places = _scan(reply)
    kept, thinking, waiting = list[Found](), False, 0
    for tag in _tags(reply, places):
        while waiting < len(places) and places[waiting].start < tag.start():
            if not thinking:
                kept.append(places[waiting].found)
            waiting += 1
        if tag[1] or tag[2]:  # all before the end of a thought is thought: some templates leave out its beginning
            thinking, kept = False, []
        else:  # thoughts may speak of such tags: they are not counted
            thinking = True
    if thinking:
        return [*kept, Found({}, frozenset(), "the thinking in it does not end", True)]
    return [*kept, *(place.found for place in places[waiting:])]


def _plain(reply: str) -> dict[str, Any] | None:
    """The object that a reply is, when it is JSON and nothing else, as most are."""
    try:
        found = json.loads(reply, object_pairs_hook=_once, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    # How deep Python's own reader goes is not the same in all versions.
    deep = reply.count("{") + reply.count("[") > _MAX_DEPTH and _is_deep(found, 0)
    return cast("dict[str, Any]", found) if isinstance(found, dict) and not deep else None


def _is_deep(value: Any, depth: int) -> bool:
    items: Any = cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list)):
        return False
    return depth > _MAX_DEPTH or any(_is_deep(item, depth + 1) for item in items)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _tags(reply: str, places: Sequence[_Place]) -> list[re.Match[str]]:
    """The tags of thinking, but for those within the texts of an object."""
    found, place = list[re.Match[str]](), 0
    for tag in THOUGHT.finditer(reply):
        while place < len(places) and places[place].end <= tag.start():
            place += 1
        if place == len(places) or tag.start() < places[place].start or places[place].found.problem:
            found.append(tag)
    return found


def _scan(reply: str) -> list[_Place]:
    places, start = list[_Place](), reply.find("{", _after_thought(reply))
    while start >= 0:
        end, found = _read(reply, start)
        if found is not None:
            places.append(_Place(start, end, found))
        start = reply.find("{", end)
    return places


def _read(reply: str, start: int) -> tuple[int, Found | None]:
    """What starts at a brace, and where it ends; None when it was not meant as an object."""
    reader = _Reader(reply)
    try:
        value, end = reader.object(start, 0)
    except _Broken as error:
        if not reader.keys:
            # A brace of prose, of code, of a template; or of a notation that is not JSON, and then its words tell.
            words = _WORD.findall(reply, start, reply.find("}", start, start + _SHORT) + 1)
            return start + 1, Found({}, frozenset(words), "its JSON is broken") if words else None
        end = _end_of_broken(reply, start)
        if end is None:
            return len(reply), Found({}, frozenset(reader.keys), "it is cut off within a JSON object", True)
        return end, Found({}, frozenset(reader.keys), str(error) or "its JSON is broken")
    keys = frozenset(value)
    return end, Found({}, keys, reader.conflict) if reader.conflict else Found(value, keys)


def _end_of_broken(reply: str, start: int) -> int | None:
    """Where the brace that opens at `start` is closed; None when it is not."""
    depth = 0
    for brace in _BRACES.finditer(reply, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.end()
    return None


def _after_thought(reply: str) -> int:
    """Where the answer may start: a reply that starts with thinking has it after that, whatever quotes are in it."""
    place = 0
    while True:
        opened = THOUGHT.match(reply, _skip(reply, place))
        if opened is None or opened[1] or opened[2]:
            return place
        closed = next((tag for tag in THOUGHT.finditer(reply, opened.end()) if tag[1] or tag[2]), None)
        if closed is None:
            return place
        place = closed.end()


class _Reader:
    """Reads one object: JSON, with the slips that models make."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.keys: list[str] = []
        """Of the outermost object, as they come."""
        self.conflict = ""

    def object(self, start: int, depth: int) -> tuple[dict[str, Any], int]:
        if depth > _MAX_DEPTH:
            raise _Broken("its JSON is nested too deeply")
        found, place = dict[str, Any](), _skip(self.text, start + 1)
        while True:
            if self._at(place) == "}":
                return found, place + 1
            key, place = self._key(place)
            if self._at(place) != ":":
                raise _Broken
            if depth == 0:
                self.keys.append(key)
            value, place = self._value(_skip(self.text, place + 1), depth)
            if key in found and (type(found[key]) is not type(value) or found[key] != value):
                self.conflict = f"it says two things under one key, {key!r}"
            found[key] = value
            place = self._after_item(place, "}")

    def _array(self, start: int, depth: int) -> tuple[list[Any], int]:
        if depth > _MAX_DEPTH:
            raise _Broken("its JSON is nested too deeply")
        found, place = list[Any](), _skip(self.text, start + 1)
        while True:
            if self._at(place) == "]":
                return found, place + 1
            value, place = self._value(place, depth)
            found.append(value)
            place = self._after_item(place, "]")

    def _after_item(self, place: int, end: str) -> int:
        """The start of the next item, or of the end; a comma may stand before both."""
        mark = self._at(place)
        if mark == ",":
            return _skip(self.text, place + 1)
        if mark != end:
            raise _Broken
        return place

    def _key(self, place: int) -> tuple[str, int]:
        bare = _BARE_KEY.match(self.text, place)
        if bare is not None:
            return bare[0], _skip(self.text, bare.end())
        if self._at(place) not in "\"'":
            raise _Broken
        return self._scalar(place)

    def _value(self, place: int, depth: int) -> tuple[Any, int]:
        mark = self._at(place)
        if mark == "{":
            value, end = self.object(place, depth + 1)
        elif mark == "[":
            value, end = self._array(place, depth + 1)
        else:
            return self._scalar(place)
        return value, _skip(self.text, end)

    def _scalar(self, place: int) -> tuple[Any, int]:
        found = _SCALAR.match(self.text, place)
        if found is None:
            raise _Broken
        end = _skip(self.text, found.end())
        if found["word"]:
            return _WORDS[found["word"]], end
        if found["number"]:
            return _loaded(found["number"]), end
        return _text(found["text"]), end

    def _at(self, place: int) -> str:
        if place >= len(self.text):
            raise _Broken
        return self.text[place]


def _text(quoted: str) -> str:
    if quoted[0] == "'":
        inner = re.sub(r'\\(.)|"', lambda part: {"'": "'", None: '\\"'}.get(part[1], part[0]), quoted[1:-1], flags=re.S)
        quoted = f'"{inner}"'
    return _loaded(quoted)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):  # an escape that JSON does not know, a number of thousands of digits
        raise _Broken(f"{text[:80]} in it is not JSON") from None


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()
