r"""Regular expressions that end: compiled once, searched within a time limit.

Patterns are those of Python's `re`, run by the `regex` library, which can stop a search that would go on for ever.
It takes a few patterns that `re` refuses (a group name used twice, a look-behind of variable width, global flags
inside the pattern) and some more syntax (``\p{Lu}``, ``[[:alpha:]]``, recursion); what `re` takes means the
same in both.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import regex

__all__ = ["FLAGS", "BadPattern", "check_flags", "compile_pattern", "find"]

FLAGS = "imsx"
"""The letters that a pattern's flags are given in: ignore case, ``^`` and ``$`` at each line, ``.`` matches a line
feed, white space and comments in the pattern."""

# Beyond this the library's clock overflows, and a search ends at once.
_LONGEST = 1e6


class BadPattern(ValueError):
    """A text is not a regular expression."""


def check_flags(flags: str) -> str:
    """`flags`, when they are letters of `FLAGS`, each at most once.

    Raises
    ------
    ValueError
        When they are not; the message names the letters that are known.
    """
    unknown = sorted(set(flags) - set(FLAGS))
    if unknown or len(set(flags)) != len(flags):
        raise ValueError(f"flags are {flags!r}; expected letters of {FLAGS!r}, each at most once")
    return flags


def find(
    pattern: str, text: str, *, flags: str = "", full: bool = False, seconds: float = 2.0
) -> regex.Match[str] | None:
    r"""The first match of `pattern` in `text`, or None.

    Parameters
    ----------
    pattern
        A regular expression.
    text
        Where to search.
    flags
        Letters of `FLAGS`.
    full
        Whether the match must be the whole text.
    seconds
        The time limit.  It is counted in CPU time of the process: other busy threads use it up too, and on
        a loaded machine more time than this passes on the wall.

    Raises
    ------
    BadPattern
        When `pattern` is not a regular expression.
    TimeoutError
        When the search takes longer than `seconds`.

    Examples
    --------
    >>> find(r"ref ([A-Z]{2})-\d+", "see ref AB-0107.")[1]
    'AB'
    >>> find("ab", "abc", full=True) is None
    True
    """
    compiled = compile_pattern(pattern, flags)
    search = compiled.fullmatch if full else compiled.search
    return search(text, timeout=seconds if seconds < _LONGEST else None)


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str, flags: str = "") -> regex.Pattern[str]:
    """The compiled form of `pattern`, which is kept for the next time.

    Raises
    ------
    BadPattern
        When it is not a regular expression; the message says what is wrong and where.
    """
    library = _regex_library()
    # Version 0 is the library's word for "as `re` does"; its own default can be changed by anyone.
    number = library.VERSION0
    for letter in flags:
        number |= library.RegexFlag[letter.upper()]
    try:
        return library.compile(_with_literal_braces(pattern), number)
    except RecursionError:
        problem = "it is nested too deeply"
    except (library.error, ValueError, OverflowError, KeyError) as error:
        problem = str(error)
    shown = repr(pattern) if len(pattern) <= 500 else f"{pattern[:500]!r}… ({len(pattern):,} characters)"
    raise BadPattern(f"{shown} is not a regular expression: {problem}") from None


# An escape with its braces, a character class, a repetition; then braces that `re` reads as they stand, which the
# library would read as "roughly": ``(hello){e}`` matches "HXLLO" there.
_BRACES = re.compile(
    r"""(?P<kept> \\[NpPxL]\{[^}]*\} | \\. | \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\] | \{\d+(?:,\d*)?\} | \{,\d*\} )
    | (?P<literal> \{ )""",
    re.VERBOSE | re.DOTALL,
)


def _with_literal_braces(pattern: str) -> str:
    """`pattern`, in which a brace that is no repetition is a character, as in `re`."""
    if "{" not in pattern:
        return pattern
    return _BRACES.sub(lambda found: found["kept"] or r"\{", pattern)


def _regex_library() -> Any:
    """The one door to the library: opened by the first pattern, never by an import."""
    import regex  # noqa: PLC0415

    return regex
