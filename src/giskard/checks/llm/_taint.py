"""Which expressions of a template are made from a conversation: those are fenced."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, cast

from jinja2 import nodes

__all__ = ["with_fences"]

_DECIDED = ("fence", "unfenced")


def with_fences(template: nodes.Template, untrusted: Collection[str]) -> nodes.Template:
    """`template` in which the filter ``fence`` is put on what is printed of the variables `untrusted`.

    Also on what is printed of the variables that are made from those in ``{% for %}``, ``{% set %}`` and
    ``{% with %}``, and of the parameters of macros; but not where the template says ``fence`` or ``unfenced`` itself.
    """
    names = set(untrusted)
    while True:  # until nothing more is made from what is known by now
        found = {name for target, source in _assignments(template) if _uses(source, names) for name in _names(target)}
        if found <= names:
            break
        names |= found
    for output in template.find_all(nodes.Output):
        output.nodes = [_fenced(node) if _uses(node, names) else node for node in output.nodes]
    return template


def _fenced(node: nodes.Expr) -> nodes.Expr:
    if isinstance(node, nodes.Filter) and node.name in _DECIDED:
        return node
    return nodes.Filter(node, "fence", [], [], None, None, lineno=node.lineno)


def _uses(node: nodes.Node, names: Collection[str]) -> bool:
    return any(name in names for name in _names(node, "load"))


def _names(node: nodes.Node, *contexts: str) -> Iterator[str]:
    own = [node] if isinstance(node, (nodes.Name, nodes.NSRef)) else []
    for name in (*own, *node.find_all((nodes.Name, nodes.NSRef))):
        # What is put into a namespace may be printed from anywhere in it.
        if isinstance(name, nodes.NSRef) or not contexts or name.ctx in contexts:
            yield name.name


def _assignments(template: nodes.Template) -> Iterator[tuple[nodes.Node, nodes.Node]]:
    """The targets of the template, each with what it is made from."""
    for loop in template.find_all(nodes.For):
        yield loop.target, loop.iter
    for assignment in template.find_all(nodes.Assign):
        yield assignment.target, assignment.node
    for scope in template.find_all(nodes.With):
        yield from zip(scope.targets, scope.values, strict=True)
    for macro in template.find_all((nodes.Macro, nodes.CallBlock)):
        # Whatever they are called with, some call may pass a part of a conversation.
        everything = nodes.Name("trace", "load")
        yield from ((argument, everything) for argument in cast("Any", macro).args)
