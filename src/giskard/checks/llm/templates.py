"""Prompts as templates: compiled once, run in a sandbox, with what comes out of a conversation fenced.

The language is Jinja's.  All that is printed is fenced by itself, but for constants and what is made of trusted
variables only; the filter ``fence`` fences any other value, and ``unfenced`` leaves one as it is, for those who know
what it holds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.models import did_you_mean
from giskard.checks.llm.conversation import show_conversation
from giskard.checks.llm.fences import FenceError, Fences, readable

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["TemplateError", "check_template", "load_template", "render", "untrusted_among"]

_CONVERSATION = frozenset({"trace"})
_FENCES = "giskard_checks_fences"


class TemplateError(ConfigurationError):
    """A prompt's template cannot be found, read or filled; the message says where and why."""


def render(source: str, variables: Mapping[str, Any], untrusted: Collection[str] = _CONVERSATION) -> str:
    """A template filled with variables, in which the untrusted texts stand in fences.

    Parameters
    ----------
    source
        The text of the template.
    variables
        Its variables.
    untrusted
        The variables whose values come out of a conversation, or from anybody else but the template's author.

    Raises
    ------
    TemplateError
        When a variable is missing, an expression cannot be worked out, or a fenced text would be missing.
    """
    template = _compiled(source, frozenset(variables.keys() - set(untrusted)))
    fences = Fences()
    try:
        return fences.close(template.render({**variables, _FENCES: fences}))
    except FenceError as error:
        raise TemplateError(f"the prompt cannot be filled: {error}") from None
    except RecursionError:
        raise TemplateError("the prompt cannot be filled: a value in it is nested too deeply") from None
    except Exception as error:  # of an expression in the template, or of a property of what it is shown
        raise TemplateError(f"the prompt cannot be filled: {type(error).__name__}: {error}") from error


def untrusted_among(inputs: Mapping[str, Any], fields: Mapping[str, Any]) -> set[str]:
    """The variables of somebody's own template that are fenced by themselves.

    Parameters
    ----------
    inputs
        The variables, but for ``trace``.
    fields
        The fields of the check or generator whose template it is: what its author has written into them is trusted.
    """
    return {"trace", *(name for name, value in inputs.items() if name not in fields or fields[name] is not value)}


def check_template(source: str, known: Collection[str] | None = None) -> None:
    """Refuse a text that is no template.

    Parameters
    ----------
    source
        The text.
    known
        The variables that it will be filled with; None when that is not known.

    Raises
    ------
    TemplateError
        When its syntax is wrong, or it uses a variable that there will not be.
    """
    used = _variables(source)
    unknown = sorted(used - {*known, _FENCES}) if known is not None else []
    if known is not None and unknown:
        hint = did_you_mean(unknown[0], sorted(known)) or f"; there will be: {', '.join(sorted(known))}"
        raise TemplateError(f"the prompt uses {unknown[0]!r}, which there will not be{hint}")


def load_template(place: str) -> str:
    """The text at ``"namespace::path"``: a file in the package `namespace`.

    Raises
    ------
    TemplateError
        When there is no such package, or no such file in it.
    """
    namespace, _, path = place.partition("::")
    parts = path.replace("\\", "/").split("/")
    if ".." in parts or not parts[0] or ":" in path:
        raise TemplateError(f"prompt_path is {place!r}: the path must stay inside its package")
    # Found without importing it: to read a text must not run code.
    try:
        spec = find_spec(namespace)
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    except (ImportError, ValueError, AttributeError) as error:
        raise TemplateError(f"prompt_path is {place!r}, and {namespace!r} is no package: {error}") from None
    if not folders:
        raise TemplateError(f"prompt_path is {place!r}, and {namespace!r} is no package that is installed")
    found = [file for folder in folders if (file := Path(folder, *parts)).is_file()]
    try:
        return (found or [Path(folders[0], *parts)])[0].read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"prompt_path is {place!r}, and there is no such text: {error}") from error


@functools.lru_cache(maxsize=512)
def _compiled(source: str, trusted: frozenset[str] = frozenset()) -> Template:
    from giskard.checks.llm._taint import with_fences  # noqa: PLC0415 - it stands on Jinja

    return _checked(lambda: _environment().from_string(with_fences(_parsed(source), trusted)))


@functools.lru_cache(maxsize=512)
def _variables(source: str) -> frozenset[str]:
    from jinja2 import meta  # noqa: PLC0415

    _compiled(source)
    return frozenset(meta.find_undeclared_variables(_parsed(source)))


def _parsed(source: str) -> Any:
    return _checked(lambda: _environment().parse(source))


def _checked(step: Callable[[], Any]) -> Any:
    from jinja2 import TemplateError as JinjaError  # noqa: PLC0415

    try:
        return step()
    except JinjaError as error:
        line = getattr(error, "lineno", None)
        raise TemplateError(f"the prompt is no template: {f'line {line}: ' if line else ''}{error.message}") from None
    except RecursionError:
        raise TemplateError("the prompt is no template: it is nested too deeply") from None


@functools.cache
def _environment() -> ImmutableSandboxedEnvironment:
    """The one door to Jinja, which is imported for the first prompt."""
    from jinja2 import StrictUndefined, Undefined, pass_context  # noqa: PLC0415
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    def printed(value: Any) -> str:
        return str(value) if isinstance(value, Undefined) else readable(value)  # the first raises

    @pass_context
    def fence(context: Any, value: Any) -> str:
        if isinstance(value, (bool, int, float, Undefined)) or value is None:  # they give no orders
            return printed(value)
        fences: Fences = context[_FENCES]
        return show_conversation(value, fences) or fences.fence(value)

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        finalize=printed,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # constants are not worked out when a check is built, however large they would be
    )
    cast("dict[str, Any]", environment.filters).update(fence=fence, unfenced=printed)
    return environment
