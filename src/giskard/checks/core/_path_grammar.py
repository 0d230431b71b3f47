"""From the text of a path to a query: the grammar is python-jsonpath's, the result our own.

Imported when the first path is compiled and not before: the library behind it is heavy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, cast

from jsonpath import JSONPath, JSONPathEnvironment, Lexer, Parser
from jsonpath.exceptions import JSONPathError, JSONPathSyntaxError
from jsonpath.filter import (
    BaseExpression,
    FilterExpressionLiteral,
    FilterQuery,
    FunctionExtension,
    InfixExpression,
    IntegerLiteral,
    Nil,
    PrefixExpression,
    RelativeFilterQuery,
)
from jsonpath.segments import JSONPathRecursiveDescentSegment, JSONPathSegment
from jsonpath.selectors import (
    Filter as ParsedFilter,
)
from jsonpath.selectors import (
    IndexSelector,
    JSONPathSelector,
    NameSelector,
    SliceSelector,
    WildcardSelector,
)
from jsonpath.stream import TokenStream
from jsonpath.token import TOKEN_EOF, TOKEN_SINGLE_QUOTE_STRING, Token

from giskard.checks.core._path_query import (
    Filter,
    Index,
    Name,
    Query,
    Scope,
    Segment,
    Selector,
    Slice,
    Test,
    Value,
    Wildcard,
    before,
    compile_pattern,
    length,
    matches,
    same,
)
from giskard.checks.core._path_views import ABSENT, walk

__all__ = ["parse"]

_ROOT = "trace"
# Evaluating a filter takes a few frames per level: this stays far from Python's own limit.
_MAX_DEPTH = 50


class _Lexer(Lexer):
    # The library's ends at U+FFFF; letters of any script are letters.  A hyphen inside of a name
    # is its leniency: nothing else could be meant by it.
    _letters = r"\u0080-\ud7ff\ue000-\U0010ffffa-zA-Z_"
    key_pattern = rf"[{_letters}][{_letters}0-9-]*"


class _Parser(Parser):
    def parse_integer_literal(self, stream: TokenStream) -> BaseExpression:
        """The library's goes through float, which cannot hold every id."""
        token = stream.current()
        digits = token.value.removeprefix("-")
        if not digits.isdigit():  # an exponent
            return super().parse_integer_literal(stream)
        if digits.startswith("0") and digits != "0":
            raise JSONPathSyntaxError("leading zero in a number", token=token)
        stream.next()
        return IntegerLiteral(value=int(token.value))

    def _decode_string_literal(self, token: Token) -> str:
        """The library's refuses the escapes of control characters, which RFC 9535 has."""
        text = token.value
        if token.kind == TOKEN_SINGLE_QUOTE_STRING:
            if r"\"" in text.replace(r"\\", ""):
                raise JSONPathSyntaxError("a double quote is not escaped here", token=token)
            text = re.sub(r"\\'|\\.|\"", _in_double_quotes, text)
        try:
            decoded: str = json.loads(f'"{text}"')
        except json.JSONDecodeError as error:
            raise JSONPathSyntaxError(f"in a quoted name: {error.msg}", token=token) from None
        if _LONE_SURROGATE.search(decoded) and not _LONE_SURROGATE.search(text):
            raise JSONPathSyntaxError("half of a surrogate pair", token=token)
        return decoded


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _in_double_quotes(found: re.Match[str]) -> str:
    """What a quote or an escape of a single-quoted text is between double quotes."""
    return {r"\'": "'", '"': r"\""}.get(found[0], found[0])


class _Environment(JSONPathEnvironment):
    lexer_class = _Lexer
    parser_class = _Parser


_environment = _Environment(strict=True)


def parse(key: str) -> Query:
    """The query of a path, in which the leading ``trace`` stands for the ``$`` of RFC 9535.

    Raises
    ------
    ValueError
        When it is none; the message says where, as far as it is known.
    """
    try:
        return _query(_parsed("$" + key.removeprefix(_ROOT)), depth=0)
    except JSONPathError as error:
        # The library's own text draws the path on several lines, and may fail while doing so.
        reason = error.args[0] if error.args else "not in the grammar"
        raise ValueError(f"{reason}{_place(error.token, key)}") from None
    except RecursionError:
        raise ValueError("too deeply nested") from None
    except ValueError:
        raise
    except Exception as error:  # whatever a parser makes of some odd text
        raise ValueError(f"not in the grammar ({type(error).__name__}: {error})") from None


def _place(token: Token | None, key: str) -> str:
    if token is None:
        return ""
    if token.kind == TOKEN_EOF:
        return " (at the end)"
    return f" (at {token.value[:40]!r}, character {token.index + len(_ROOT)} of {len(key)})"


def _parsed(text: str) -> JSONPath:
    parsed = _environment.compile(text)
    if not isinstance(parsed, JSONPath):
        raise ValueError("paths cannot be combined")
    return parsed


def _query(path: JSONPath, depth: int) -> Query:
    if depth > _MAX_DEPTH:
        raise ValueError(f"filters are nested more than {_MAX_DEPTH} levels deep")
    segments = [_segment(segment, depth) for segment in path.segments]
    steps: list[str | int] = []
    for segment in segments:
        step = _step(segment)
        if step is None:
            break
        steps.append(step)
    return Query(tuple(steps), tuple(segments[len(steps) :]))


def _step(segment: Segment) -> str | int | None:
    """The one name or index that a segment stands for, if it is that simple."""
    if segment.descends or len(segment.selectors) != 1:
        return None
    match segment.selectors[0]:
        case Name(name):
            return name
        case Index(index):
            return index
        case _:
            return None


def _segment(segment: JSONPathSegment, depth: int) -> Segment:
    selectors = tuple(_selector(selector, depth) for selector in segment.selectors)
    return Segment(selectors, isinstance(segment, JSONPathRecursiveDescentSegment))


def _selector(selector: JSONPathSelector, depth: int) -> Selector:
    match selector:
        case NameSelector():
            return Name(selector.name)
        case IndexSelector():
            return Index(selector.index)
        case SliceSelector():
            return Slice(selector.slice)
        case WildcardSelector():
            return Wildcard()
        case ParsedFilter():
            return Filter(_test(selector.expression.expression, depth + 1))
        case _:
            raise ValueError(f"{selector} is not part of RFC 9535")


# --- filters -----------------------------------------------------------------------------


def _test(expression: BaseExpression, depth: int) -> Test:
    """What decides whether an item is selected."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"filters are nested more than {_MAX_DEPTH} levels deep")
    match expression:
        case InfixExpression(operator="&&" | "||"):
            return _junction(expression, depth)
        case InfixExpression():
            return _comparison(expression, depth)
        case PrefixExpression():
            inner = _test(expression.right, depth + 1)
            return lambda item, scope: not inner(item, scope)
        case FilterQuery():
            return _existence(expression, depth)
        case FunctionExtension(name="match" | "search"):
            return _pattern_test(expression, depth)
        case _:
            raise ValueError(f"{expression} is not true or false: compare it with something")


def _junction(expression: InfixExpression, depth: int) -> Test:
    """``a && b && c`` or ``a || b || c``, flat: the library nests each pair in the next."""
    operator = expression.operator
    operands: list[BaseExpression] = []
    rest: list[BaseExpression] = [expression]
    while rest:
        part = rest.pop()
        if isinstance(part, InfixExpression) and part.operator == operator:
            rest += (part.right, part.left)
        else:
            operands.append(part)
    tests = [_test(operand, depth + 1) for operand in operands]
    combine = cast("Callable[[Iterable[bool]], bool]", all if operator == "&&" else any)
    return lambda item, scope: combine(test(item, scope) for test in tests)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": same,
    "!=": lambda a, b: not same(a, b),
    "<": before,
    ">": lambda a, b: before(b, a),
    "<=": lambda a, b: before(a, b) or same(a, b),
    ">=": lambda a, b: before(b, a) or same(a, b),
}


def _comparison(expression: InfixExpression, depth: int) -> Test:
    compare = _COMPARISONS.get(expression.operator)
    if compare is None:
        raise ValueError(f"the operator {expression.operator!r} is not part of RFC 9535")
    left, right = _value(expression.left, depth + 1), _value(expression.right, depth + 1)
    return lambda item, scope: compare(left(item, scope), right(item, scope))


def _existence(expression: FilterQuery, depth: int) -> Test:
    query, relative = (
        _query(expression.path, depth + 1),
        isinstance(expression, RelativeFilterQuery),
    )
    if not query.segments:
        found = _single(query, relative)
        return lambda item, scope: found(item, scope) is not ABSENT
    select = _many(query, relative)
    return lambda item, scope: bool(select(item, scope))


def _pattern_test(expression: FunctionExtension, depth: int) -> Test:
    full = expression.name == "match"
    text, pattern = (_value(argument, depth + 1) for argument in expression.args)
    literal = expression.args[1]
    if isinstance(literal, FilterExpressionLiteral):
        value: object = cast("FilterExpressionLiteral[object]", literal).value
        # RFC 9535 lets it match nothing; a typing error that selects nothing is worth more.
        if isinstance(value, str) and compile_pattern(value) is None:
            raise ValueError(f"{value!r} is not a regular expression")
    return lambda item, scope: matches(text(item, scope), pattern(item, scope), scope, full=full)


def _value(expression: BaseExpression, depth: int) -> Value:
    """An operand of a comparison or an argument of a function."""
    match expression:
        case FilterExpressionLiteral():
            literal: object = cast("FilterExpressionLiteral[object]", expression).value
            return lambda item, scope: literal
        case Nil():
            return lambda item, scope: None
        case FilterQuery():
            query = _query(expression.path, depth + 1)
            if query.segments:
                raise ValueError(f"{expression} may be many values: only one can be compared")
            return _single(query, isinstance(expression, RelativeFilterQuery))
        case FunctionExtension():
            return _function_value(expression, depth)
        case _:
            raise ValueError(f"{expression} is no value that can be compared")


def _function_value(expression: FunctionExtension, depth: int) -> Value:
    argument = expression.args[0]
    if expression.name == "length":
        operand = _value(argument, depth + 1)
        return lambda item, scope: length(operand(item, scope))
    if expression.name not in ("count", "value") or not isinstance(argument, FilterQuery):
        raise ValueError(f"{expression} is no value that can be compared")
    query = _query(argument.path, depth + 1)
    select = _many(query, isinstance(argument, RelativeFilterQuery))
    if expression.name == "count":
        return lambda item, scope: len(select(item, scope))

    def only(item: Any, scope: Scope) -> Any:
        found = select(item, scope)
        return found[0] if len(found) == 1 else ABSENT

    return only


def _single(query: Query, relative: bool) -> Value:
    steps = query.steps
    if relative:
        return lambda item, scope: walk(item, steps)
    return lambda item, scope: walk(scope.root, steps)


def _many(query: Query, relative: bool) -> Callable[[Any, Scope], list[Any]]:
    if relative:
        return query.select
    return lambda item, scope: query.select(scope.root, scope)
