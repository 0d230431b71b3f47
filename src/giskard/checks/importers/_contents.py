"""What a message says: a text, or a list of parts when it is more than text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

__all__ = ["joined", "plain", "without_markers"]

# The types of parts that hold text and nothing else; some formats name none.
_TEXT_TYPES = frozenset({None, "text", "input_text", "output_text"})


def _text_of(part: Any) -> str | None:
    """The text of a part, None when it is another kind of part."""
    if type(part) is str:
        return part
    if not isinstance(part, dict):
        return None
    known = cast("dict[str, Any]", part)
    kind = known.get("type")
    if not isinstance(kind, str | None) or kind not in _TEXT_TYPES:
        return None
    text = known.get("text", known.get("content"))
    return text if type(text) is str else None


def plain(content: Any, glue: str = "") -> Any:
    """A content as it is kept: parts that are all text become one text, no parts are None, other values stay.

    Parameters
    ----------
    glue
        What stands between two texts: nothing in what a model said, which providers cut where they like.
    """
    if type(content) is not list:
        return content
    parts = cast("list[Any]", content)
    texts = [text for part in parts if (text := _text_of(part)) is not None]
    if len(texts) < len(parts):
        return parts
    return glue.join(texts) if texts else None


def joined(first: Any, second: Any) -> Any:
    """Two contents as one: texts with an empty line between them, else the parts of both."""
    if first is None or second is None:
        return second if first is None else first
    if type(first) is str and type(second) is str:
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    if isinstance(content, list):
        return cast("list[Any]", content)
    return [{"type": "text", "text": content} if isinstance(content, str) else content]


def without_markers(content: Any, markers: Iterable[str]) -> tuple[Any, bool]:
    """A plain content without the `markers` in its texts, and whether anything is left of it."""
    if type(content) is str:
        text = _without(content, markers)
        return text, text == content or text != ""
    if not isinstance(content, list):
        return content, True
    kept: list[Any] = []
    for part in cast("list[Any]", content):
        text = _text_of(part)
        rest = None if text is None else _without(text, markers)
        if rest == text:
            kept.append(part)
        elif rest:
            kept.append(rest if isinstance(part, str) else {**part, "text" if "text" in part else "content": rest})
    return kept, bool(kept)


def _without(text: str, markers: Iterable[str]) -> str:
    """`text` without the `markers`, and without the blanks that they leave at its ends."""
    rest = text
    for marker in markers:
        if marker and marker in rest:
            rest = rest.replace(marker, "").strip()
    return rest
