"""Records with something wrong in them."""

from __future__ import annotations

import copy

ODD = (
    None,
    True,
    0,
    -1.5,
    "",
    "text",
    [],
    {},
    [[]],
    [None],
    [{}],
    {"a": None},
    [1, "a"],
    {"type": []},
    "{broken",
    "[1]",
)


def mutated(random, value):
    """A copy of `value` in which one to three of its parts are another thing, or are gone, or are there twice."""
    value = [copy.deepcopy(value)]
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(_places(value))
        holder, key = random.choice(places)
        how = random.randrange(4)
        if how == 0 and isinstance(holder, dict):
            del holder[key]
        elif how == 1 and isinstance(holder, list) and holder is not value:
            holder.insert(key, copy.deepcopy(holder[key]))
        else:
            holder[key] = copy.deepcopy(random.choice(ODD))
    return value[0]


def _places(value):
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from _places(item)
