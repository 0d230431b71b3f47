"""Our walk over live objects against python-jsonpath's own evaluation of plain data, and fuzz."""

import json
from collections import OrderedDict, UserDict, UserList, deque
from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass
from types import MappingProxyType

from hypothesis import example, given
from hypothesis import strategies as st
from jsonpath import JSONPathEnvironment
from pydantic import create_model

from giskard.checks.core.extraction import NoMatch, PathSyntaxError, compile_path, resolve
from giskard.checks.utils.frozen import freeze
from giskard.checks.utils.plain import to_plain

reference = JSONPathEnvironment(strict=True)

NAMES = ["a", "b", "c"]

# Left out, since the library departs from RFC 9535 there and we do not: booleans (it orders them as
# numbers), a bare `@` as a test (it asks for truth, not existence), slices of texts (letters).
numbers = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1.0, 2.5]))
scalars = st.one_of(st.none(), numbers, st.just(""))
words = st.one_of(scalars, st.sampled_from(["x", "xy", "yx", "ß"]))


def trees(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
        ),
        max_leaves=25,
    )


def roots(leaves):
    return st.dictionaries(st.sampled_from(NAMES), trees(leaves), min_size=1, max_size=3)


indices = st.integers(-4, 4).map(str)
names = st.sampled_from(NAMES)
quoted = st.sampled_from(["'a'", '"b"', "'c'", "''"])
bounds = st.one_of(st.just(""), indices)
slices = st.builds("{}:{}:{}".format, bounds, bounds, bounds)
definite = st.one_of(names.map(".{}".format), quoted.map("[{}]".format), indices.map("[{}]".format))


def segments(selectors):
    """Segments of one or more of `selectors`, of names and of wildcards."""
    every = st.one_of(quoted, indices, st.just("*"), selectors)
    brackets = st.lists(every, min_size=1, max_size=3).map(lambda each: f"[{', '.join(each)}]")
    return st.one_of(
        definite,
        st.just(".*"),
        brackets,
        brackets.map("..{}".format),
        names.map("..{}".format),
        st.just("..*"),
    )


def paths(selectors):
    rest = st.lists(segments(selectors), max_size=3).map("".join)
    return st.builds("{}{}".format, names.map(".{}".format), rest)


literals = st.sampled_from(["null", "0", "1", "-2", "0.5", "''", "'x'", '"xy"'])
singular = st.lists(definite, max_size=2).map("".join)
queries = st.lists(segments(st.just("*")), min_size=1, max_size=2).map("".join)
values = st.one_of(
    literals,
    singular.map("@{}".format),
    singular.map("$.a{}".format),
    singular.map("length(@{})".format),
    queries.map("count(@{})".format),
    queries.map("value(@{})".format),
)
operators = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
tests = st.recursive(
    st.one_of(
        st.builds("{} {} {}".format, values, operators, values),
        queries.map("@{}".format),
        st.builds("match(@{}, '{}')".format, singular, st.sampled_from(["x.*", "[xy]+", "."])),
        st.builds("search(@{}, '{}')".format, singular, st.sampled_from(["y", "^x", ""])),
    ),
    lambda inner: st.one_of(
        inner.map("!({})".format),
        st.builds("({} && {})".format, inner, inner),
        st.builds("{} || {}".format, inner, inner),
    ),
    max_leaves=4,
)
filters = tests.map("?{}".format)


def expected(data, path):
    """What the library finds, in our form."""
    query = reference.compile(f"${path}")
    found = query.findall(data)
    if not query.singular_query():
        return found
    return found[0] if found else NoMatch(f"trace{path}")


@given(roots(scalars), paths(slices))
@example({"a": [1, 2, 3]}, ".a[::-1]")
@example({"a": [[1], {"a": [2]}]}, "..a..*")
def test_selectors_select_what_the_library_selects(data, path):
    assert resolve(data, f"trace{path}") == expected(data, path)


@given(roots(words), paths(filters))
@example({"a": [{"b": 1}, {"b": 2}]}, ".a[?@.b > 1]")
def test_filters_select_what_the_library_selects(data, path):
    assert resolve(data, f"trace{path}") == expected(data, path)


# --- names -------------------------------------------------------------------------------

# Letters of many scripts, one beyond U+FFFF among them: what may stand after a dot.
DOTTED = "aZ_ßéяжλ名前हा안あ\U00010400😀"
dotted = st.text(DOTTED, min_size=1, max_size=4)
# Control characters are left out: the library refuses their escapes, which RFC 9535 has.
letters = st.characters(exclude_categories=["Cc", "Cs"])
any_name = st.one_of(
    dotted, st.text(letters, max_size=4), st.sampled_from(["", " ", "'", '"', "\\", "a.b", "[0]", "*", "ß-1"])
)
named_trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(any_name, inner, max_size=3)),
    max_leaves=12,
)


def in_quotes(name, quote):
    """A name in brackets, with what has to be escaped between these quotes escaped."""
    escaped = json.dumps(name, ensure_ascii=False)[1:-1]
    if quote == "'":
        escaped = escaped.replace('\\"', '"').replace("'", "\\'")
    return f"{quote}{escaped}{quote}"


@st.composite
def named_paths(draw):
    """Data, a path into it by names of its own and others, and the same path as the library can read it."""
    root = draw(st.dictionaries(dotted, named_trees, min_size=1, max_size=3))
    ours, theirs, value = "", "", root
    for _ in range(draw(st.integers(1, 4))):
        own = list(value) if isinstance(value, dict) else []
        kind = draw(st.sampled_from(["name", "name", "index", "*", ".."]))
        if not ours or kind in ("name", ".."):
            name = draw(st.sampled_from(own)) if own and draw(st.booleans()) else draw(any_name if ours else dotted)
            quoted = in_quotes(name, draw(st.sampled_from("\"'")))
            by_dot = not ours or (set(name) <= set(DOTTED) and name and draw(st.booleans()))
            down = ".." if kind == ".." and ours else ""
            ours += (f"{down or '.'}{name}") if by_dot else f"{down}[{quoted}]"
            theirs += f"{down}[{in_quotes(name, chr(34))}]"
            value = value.get(name) if isinstance(value, dict) else None
        else:
            index = draw(st.integers(-3, 3)) if kind == "index" else "*"
            ours += f"[{index}]"
            theirs += f"[{index}]"
            found = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            value = found[0] if found else None
    return root, ours, theirs


@given(named_paths())
def test_names_in_any_script_select_what_the_library_selects(case):
    data, ours, theirs = case
    query = reference.compile(f"${theirs}")
    found = query.findall(data)
    want = found if not query.singular_query() else found[0] if found else NoMatch(f"trace{ours}")
    assert resolve(data, f"trace{ours}") == want


# --- shapes ------------------------------------------------------------------------------


def as_model(items):
    return create_model("M", **{name: (object, ...) for name in items})(**items)


def as_dataclass(items):
    return make_dataclass("D", list(items))(**items)


BRANCHES = [dict, OrderedDict, UserDict, MappingProxyType, as_model, as_dataclass]
ARRAYS = [list, tuple, UserList, deque]


@st.composite
def shaped(draw, leaves):
    """Plain data, and the same in models, dataclasses and other mappings and sequences."""

    def shape(value):
        if isinstance(value, dict):
            items = {name: shape(item) for name, item in value.items()}
            return draw(st.sampled_from(BRANCHES))(items)
        if isinstance(value, list):
            return draw(st.sampled_from(ARRAYS))([shape(item) for item in value])
        return value

    data = draw(roots(leaves))
    return data, shape(data)


def normal(value):
    """Any mapping as a dict, any sequence as a list."""
    value = to_plain(value)
    if isinstance(value, Mapping):
        return {name: normal(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [normal(item) for item in value]
    return value


@given(shaped(scalars), paths(slices))
def test_it_makes_no_difference_what_holds_the_data(pair, path):
    data, live = pair
    assert normal(live) == data
    assert normal(resolve(live, f"trace{path}")) == normal(resolve(data, f"trace{path}"))
    compiled = compile_path(f"trace{path}")
    assert compiled.grounded(live) == compiled.grounded(data)


@given(shaped(words), paths(filters))
def test_it_makes_no_difference_to_filters_what_holds_the_data(pair, path):
    data, live = pair
    assert normal(resolve(live, f"trace{path}")) == normal(resolve(data, f"trace{path}"))


@given(roots(words))
def test_plain_data_comes_back_as_the_same_object(data):
    assert to_plain(data) is data
    recorded = freeze(data)
    for name, value in recorded.items():
        assert resolve(recorded, f"trace.{name}") is value


# --- fuzz --------------------------------------------------------------------------------

PIECES = [
    *("trace.", "trace", "last", ".", "..", "[", "]", "[*]", "[0]", "[-1]", "[:]", "['a']", "*"),
    *("?", "@", "$", "(", ")", "!", "&&", "||", "==", "<", "=~", "/x/", "length(", "count(@.*)"),
    *("match(@.a,'x')", "'", '"', "\\", "\\u00", ",", ":", "0", "-", "1e5", "1.5", "true", "null"),
    *(" ", "\n", "ß", "😀", "\ud800", "\x00", "~", "#", "^", "_", "|", "&", "in", "not"),
]


@given(st.one_of(st.text(), st.text().map("trace.{}".format)))
@example("trace.a[?(@.a @.b)]")
@example("trace.a[1:8E8888]")
@example("trace.a[?@.a == 1e999]")
def test_random_text_is_a_path_or_a_clear_error(key):
    try:
        compile_path(key)
    except PathSyntaxError as error:
        assert "is not a path" in str(error)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(lambda each: "trace." + "".join(each)))
def test_random_pieces_of_paths_are_a_path_or_a_clear_error(key):
    try:
        found = resolve({"last": [{"a": "x"}, 1], "a": {}}, key)
    except PathSyntaxError as error:
        assert "is not a path" in str(error)
    else:
        assert isinstance(found, list) or compile_path(key).definite


@given(roots(words), st.lists(st.sampled_from(["", "'", '"', "\\", "ß", "\n", "a", ".", "]"])))
def test_any_text_is_a_key(data, letters):
    key = "".join(letters)
    escaped = key.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    assert resolve({"x": {**data, key: 7}}, f"trace.x['{escaped}']") == 7
