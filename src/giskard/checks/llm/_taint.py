"""Which expressions of a template hold only what its author wrote: all the others are fenced."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, cast

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError

__all__ = ["with_fences"]

_DECIDED = ("fence", "unfenced")
# What a loop says of itself, and not of what it goes through.
_OF_THE_LOOP = frozenset({"depth", "depth0", "first", "index", "index0", "last", "length", "revindex", "revindex0"})


def with_fences(template: nodes.Template, trusted: Collection[str]) -> nodes.Template:
    """`template` in which the filter ``fence`` is put on all that is printed, but for what is known to be harmless.

    That is what is made of constants, of the variables `trusted`, and of variables that are made of those; calls of
    the template's own macros, whose own output is treated in the same way; and what the template itself says ``fence``
    or ``unfenced`` of.

    Raises
    ------
    TemplateSyntaxError
        When it holds a block whose output cannot be fenced.
    """
    for block in template.find_all(nodes.FilterBlock):
        raise TemplateSyntaxError("{% filter %} is not supported: put the filter on the value", block.lineno)
    for block in template.find_all(nodes.AssignBlock):
        if block.filter is not None:
            raise TemplateSyntaxError("a filter on a {% set %} block is not supported", block.lineno)
    names = _trusted_names(template, trusted)
    macros = _macros(template, names)
    for block in template.find_all(nodes.CallBlock):
        if not _is_call_of(block.call, macros):
            raise TemplateSyntaxError("{% call %} is supported for macros of this template only", block.lineno)
    for output in template.find_all(nodes.Output):
        output.nodes = [_fenced(node, names, macros) for node in output.nodes]
    return template


def _fenced(node: nodes.Expr, names: Collection[str], macros: Collection[str]) -> nodes.Expr:
    if isinstance(node, nodes.TemplateData) or (isinstance(node, nodes.Filter) and node.name in _DECIDED):
        return node
    if _is_call_of(node, {*macros, "caller"}) or _is_harmless(node, names):
        return node
    return nodes.Filter(node, "fence", [], [], None, None, lineno=node.lineno)


def _is_call_of(node: nodes.Node, names: Collection[str]) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in names


def _is_harmless(node: nodes.Node, names: Collection[str]) -> bool:
    """Whether all the variables in an expression are `names`."""
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "loop":
        return node.attr in _OF_THE_LOOP
    if isinstance(node, (nodes.Name, nodes.NSRef)):
        return node.name in names
    return all(_is_harmless(child, names) for child in node.iter_child_nodes())


def _trusted_names(template: nodes.Template, trusted: Collection[str]) -> set[str]:
    """The variables that are made only of what is trusted."""
    made = list(_assignments(template))
    assigned = {name for target, _ in made for name in _names(target)}
    globals_ = cast("dict[str, Any]", template.environment.globals if template.environment else {})
    names = {*trusted, *globals_, *assigned}
    while True:  # until nothing more falls
        fallen = {
            name
            for target, source in made
            if source is None or not _is_harmless(source, names)
            for name in _names(target)
        }
        if not fallen & names:
            return names
        names -= fallen


def _macros(template: nodes.Template, names: Collection[str]) -> set[str]:
    """The template's macros, but for those whose name is used for something else too."""
    macros = {macro.name for macro in template.find_all(nodes.Macro)}
    assigned = {name for target, _ in _assignments(template) for name in _names(target)}
    return macros - assigned - {"caller"}


def _names(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, (nodes.Name, nodes.NSRef)):
        yield node.name
    for name in node.find_all((nodes.Name, nodes.NSRef)):
        yield name.name


def _assignments(template: nodes.Template) -> Iterator[tuple[nodes.Node, nodes.Node | None]]:
    """The targets of the template, each with what it is made from; None for what only a run can tell."""
    for loop in template.find_all(nodes.For):
        yield loop.target, loop.iter
    for assignment in template.find_all(nodes.Assign):
        yield assignment.target, assignment.node
    for scope in template.find_all(nodes.With):
        yield from zip(scope.targets, scope.values, strict=True)
    for block in template.find_all(nodes.AssignBlock):
        yield block.target, nodes.Const("")  # what is printed in it is fenced there
    for macro in template.find_all((nodes.Macro, nodes.CallBlock)):
        yield from ((argument, None) for argument in cast("Any", macro).args)
