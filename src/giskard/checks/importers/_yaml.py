"""YAML as data: of its tags only those that stand for plain values, and no aliases that blow it up."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from giskard.checks.core.exceptions import MissingExtraError

__all__ = ["LINE", "BadYAML", "load_yaml"]

LINE: Final = "\0line"
"""The key under which a mapping holds the line that it begins on; no YAML text can hold such a key."""

_DEEPEST: Final = 200
# How much bigger a document may be with its aliases written out: recorders use some for headers that repeat.
_GROWTH: Final = 20
_SMALL: Final = 100_000

_TAG: Final = "tag:yaml.org,2002:"
# Numbers of base 60 and the like are left as text: reading them may take for ever.
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT: Final = re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{0,18}(?:[eE][-+]?[0-9]{1,3})?")
_BOOL: Final = re.compile(r"true|True|TRUE|false|False|FALSE")
_NULL: Final = re.compile(r"~|null|Null|NULL|")


class BadYAML(ValueError):
    """A text is not YAML, or is none that is read; the message says why."""


def load_yaml(data: bytes) -> Any:
    """The document in `data`, whose mappings also hold their line; see `LINE`.

    Raises
    ------
    BadYAML
        When it cannot be read.
    MissingExtraError
        When the extra ``cassettes`` is not installed.
    """
    yaml = _yaml_library()
    document = _Document()
    try:
        # Event by event: what the library makes of nested values, it makes by recursion, which a text can make crash.
        for event in yaml.parse(data, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            document.take(type(event).__name__, event)
    except yaml.YAMLError as error:
        raise BadYAML(" ".join(str(error).split())) from None
    return document.value


@dataclass(slots=True)
class _Open:
    """A list or a mapping that is not at its end; `size` counts the values in it, aliases written out."""

    value: Any
    is_list: bool
    anchor: str | None
    size: int = 1
    key: Any = None
    has_key: bool = False


class _Document:
    """The value that the events of a document make."""

    def __init__(self) -> None:
        self.value: Any = None
        self._documents = 0
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._events = 0
        self._size = 0

    def take(self, kind: str, event: Any) -> None:
        """The next event.

        Raises
        ------
        BadYAML
            When it is none that can be read.
        """
        self._events += 1
        match kind:
            case "ScalarEvent":
                value = _scalar(event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = (value, 1)
                self._add(value, 1, event)
            case "MappingStartEvent":
                self._open({LINE: _line(event)}, event, _MAPPINGS)
            case "SequenceStartEvent":
                self._open([], event, _SEQUENCES)
            case "MappingEndEvent" | "SequenceEndEvent":
                closed = self._stack.pop()
                if closed.anchor is not None:
                    self._anchors[closed.anchor] = (closed.value, closed.size)
                self._add(closed.value, closed.size, event)
            case "AliasEvent":
                self._alias(event)
            case "DocumentStartEvent":
                self._documents += 1
                if self._documents > 1:
                    raise BadYAML(f"a second document begins on line {_line(event)}: one was expected")
            case _:  # the ends of documents, and of all
                pass

    def _open(self, value: Any, event: Any, tags: frozenset[str]) -> None:
        if event.tag is not None and event.tag.removeprefix(_TAG) not in tags:
            raise _refused(event)
        if len(self._stack) == _DEEPEST:
            raise BadYAML(f"line {_line(event)} is nested more than {_DEEPEST} deep")
        self._stack.append(_Open(value, isinstance(value, list), event.anchor))

    def _alias(self, event: Any) -> None:
        if any(holder.anchor == event.anchor for holder in self._stack):
            raise BadYAML(f"the value {event.anchor!r} holds itself on line {_line(event)}")
        if event.anchor not in self._anchors:
            raise BadYAML(f"there is no value {event.anchor!r} before line {_line(event)}")
        value, size = self._anchors[event.anchor]
        self._size += size
        if self._size > max(_SMALL, _GROWTH * self._events):
            raise BadYAML(f"its aliases stand for more than {self._size:,} values: no recording needs as many")
        self._add(value, size, event)

    def _add(self, value: Any, size: int, event: Any) -> None:
        if not self._stack:
            self.value = value
            return
        holder = self._stack[-1]
        holder.size += size
        if holder.is_list:
            holder.value.append(value)
        elif holder.has_key:
            holder.value[holder.key] = value
            holder.has_key = False
        elif isinstance(value, dict | list):
            raise BadYAML(f"the key before line {_line(event) + 1} is no text: lists and mappings are no keys")
        else:
            holder.key, holder.has_key = value, True


def _line(event: Any) -> int:
    return event.start_mark.line + 1


# --- scalars -----------------------------------------------------------------------------


def _scalar(event: Any) -> Any:
    text: str = event.value
    if event.tag is None:
        return _resolved(text) if event.implicit[0] else text
    read = _SCALARS.get(event.tag.removeprefix(_TAG))
    if read is None:
        raise _refused(event)
    try:
        return read(text)
    except (ValueError, binascii.Error):
        raise BadYAML(f"the binary value on line {_line(event)} is no base64") from None


def _resolved(text: str) -> Any:
    """What a text without quotes stands for."""
    if _NULL.fullmatch(text):
        return None
    return _boolean(text) if _BOOL.fullmatch(text) else _number(text)


def _number(text: str) -> Any:
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _boolean(text: str) -> Any:
    return text.lower() == "true" if _BOOL.fullmatch(text) else text


def _refused(event: Any) -> BadYAML:
    return BadYAML(f"the tag {event.tag!r} on line {_line(event)} stands for no plain value")


_SCALARS: Final[dict[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("!", "str", "timestamp", "python/str", "python/unicode", "value"), str),
    **dict.fromkeys(("int", "float"), _number),
    "bool": _boolean,
    "null": lambda text: None,
    "binary": base64.b64decode,
}
_SEQUENCES: Final = frozenset({"!", "seq", "python/list", "python/tuple"})
_MAPPINGS: Final = frozenset({"!", "map", "python/dict"})


def _yaml_library() -> Any:
    """The one door to the library: opened by the first YAML file, never by an import."""
    try:
        import yaml as library  # noqa: PLC0415  # pyright: ignore
    except ImportError:
        raise MissingExtraError("pyyaml", "cassettes") from None
    return cast("Any", library)
