"""The base of all checks."""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import FunctionType
from typing import Annotated, Any, ClassVar, Generic, NoReturn, TypeAlias, cast

from pydantic import BaseModel, PlainSerializer, PlainValidator

from giskard.checks.core.check_result import worded
from giskard.checks.core.discriminated import Discriminated
from giskard.checks.core.error_kinds import ErrorKind, is_retryable
from giskard.checks.core.extraction import JSONPathStr, NoMatch, compile_path
from giskard.checks.core.models import each
from giskard.checks.core.options import Seconds
from giskard.checks.core.result import CheckResult, CheckStatus, Severity, Verdict
from giskard.checks.core.tool_calls import BadToolCall
from giskard.checks.core.types import MISSING, In, Out, TraceT
from giskard.checks.utils.json_safe import describe

__all__ = [
    "Check",
    "Checks",
    "CodeCheck",
    "JSONPathStr",
    "NoVerdict",
    "OneCheck",
    "lookup",
    "validate_check",
    "validate_checks",
]


class NoVerdict(Exception):
    """Raised inside a check that cannot reach a verdict: its result is an ERROR with this message.

    Parameters
    ----------
    message
        What was given, what was expected.
    kind
        The ``error_kind`` of the result; see `giskard.checks.core.error_kinds`.
    details
        What the result's details hold.
    retryable
        Whether another try may help; it goes by the kind when it is not given.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = "unknown",
        details: dict[str, Any] | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.details = details
        self.retryable = is_retryable(kind) if retryable is None else retryable

    def verdict(self) -> Verdict:
        """The ERROR that it stands for."""
        return Verdict(CheckStatus.ERROR, self.message, self.details, (), self.kind, self.retryable)


class Check(Discriminated, Generic[In, Out, TraceT], family="check"):
    """Validates something about a trace.

    Subclass it and register a kind to write one's own::

        @Check.register("short_answer")
        class ShortAnswer(Check):
            limit: int = 80

            async def run(self, trace):
                length = len(trace.last.outputs)
                if length <= self.limit:
                    return CheckResult.success(f"{length} characters")
                return CheckResult.failure(f"{length} characters, at most {self.limit} were expected")

    Parameters
    ----------
    name
        What reports call it; the kind when it has no name.
    description
        A sentence for whoever reads a report.
    id
        Its identity over runs; worked out from the name and the position when it is not given.
    severity
        With "warning" a FAIL is reported and does not fail the test case.
    timeout
        Seconds after which the check is an ERROR.
    """

    name: str | None = None
    description: str | None = None
    id: str | None = None
    severity: Severity = "error"
    timeout: Seconds | None = None

    def run(self, trace: TraceT) -> Awaitable[CheckResult] | CheckResult:
        """The verdict on `trace`; subclasses write it as ``def`` or as ``async def``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement run(trace)")

    def look_before(self, trace: TraceT) -> Any:
        """What the check wants to know of the world before the turns of its step; sync or async.

        A subclass that has this method finds what it gave with `giskard.checks.core.before.seen_before`.

        Parameters
        ----------
        trace
            The conversation up to the step.
        """

    looks_before: ClassVar[bool] = False
    """Whether the class has a `look_before` of its own."""
    any_looks_before: ClassVar[bool] = False
    """Of `Check` itself: whether any class that was defined up to now has one; else no run asks."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Note whether it looks at the world before a step."""
        super().__pydantic_init_subclass__(**kwargs)
        if cls.look_before is not Check.look_before and not cls.looks_before:
            cls.looks_before = Check.any_looks_before = True

    @property
    def inner_checks(self) -> "Sequence[Check]":
        """The checks that this one is made of."""
        return ()

    @property
    def label(self) -> str:
        """The name, else the kind, else the class's name."""
        return self.name or self.kind or type(self).__name__

    @property
    def spec(self) -> dict[str, Any]:
        """What the check demands: its configuration without name, description, id and empty fields."""
        return self.spec_of(self.__dict__)

    @classmethod
    def spec_of(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """`spec` of a check of this class with these values of its fields."""
        spec: dict[str, Any] = {}
        for name, none_counts in _demands(cls):
            value = values[name]
            if value is None:
                if none_counts:
                    spec[name] = None
                continue
            if type(value) not in _SCALARS:
                try:
                    value = _spec_of(value)
                except Exception:  # an object that answers every question with an error
                    value = describe(value)
                if value is None:
                    continue
            spec[name] = value
        if values["severity"] != "error":
            spec["severity"] = values["severity"]
        return spec

    @classmethod
    def _spec_columns(cls, many: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Any]] | None:
        """`spec_of` many checks at once: a column for each name of it.

        Returns
        -------
        dict or None
            None when the specs do not all have the same names, or hold what is no text, number or flag.
        """
        if getattr(cls.spec_of, "__func__", None) is not Check.spec_of.__func__:
            return None
        columns: dict[str, Sequence[Any]] = {}
        for name, none_counts in _demands(cls):
            column = [values[name] for values in many]
            kinds: set[type[Any]] = set(map(type, column))
            if kinds <= _SCALARS or (none_counts and kinds == _NONE):
                columns[name] = column
            elif kinds != _NONE:
                return None
        return columns if {values["severity"] for values in many} == {"error"} and columns else None

    # Results, and checks that were made of the same values, hold the same dict: it is replaced, not changed.
    _replaces_values: ClassVar[bool] = True

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, "__dict__", dict(self.__dict__))
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        object.__setattr__(self, "__dict__", dict(self.__dict__))
        super().__delattr__(name)


_SCALARS = frozenset({str, int, float, bool})
_NONE = {type(None)}
# Written so that the type checker takes what is in them for Any.
_LISTS: tuple[type[Any], ...] = (list, tuple)
_CONTAINERS: tuple[type[Any], ...] = (dict, list, tuple, set)
_type_of: Callable[[object], type[Any]] = type
_IDENTITY = frozenset({"name", "description", "id", "severity"})


@functools.cache
def _demands(cls: type[Check]) -> tuple[tuple[str, bool], ...]:
    """The fields of a check that say what it demands, not who it is; and whether None is a demand there."""
    return tuple((name, field.default is MISSING) for name, field in cls.model_fields.items() if name not in _IDENTITY)


def _spec_of(value: Any) -> Any:
    """A field's value as a spec shows it; None when it is empty."""
    if value is None or value is MISSING:
        return None
    if isinstance(value, (FunctionType, type)):
        return f"{value.__module__}:{value.__qualname__}"
    if callable(value) or hasattr(value, "complete"):  # a model's client may hold a key: it is only named
        return f"{type(value).__module__}:{type(value).__qualname__}"
    if isinstance(value, Check):
        return {"kind": value.kind, **cast("Check", value).spec}
    if isinstance(value, _LISTS) and value and any(isinstance(item, Check) for item in value):
        return [_spec_of(item) for item in value]
    return None if isinstance(value, _CONTAINERS) and not value else value


class CodeCheck(Check[In, Out, TraceT], Generic[In, Out, TraceT]):
    """A check that code decides, at once: subclasses write ``verdict(trace)``.

    `verdict` gives a `Verdict`, and raises `NoVerdict` when it cannot tell.
    """

    def verdict(self, trace: TraceT) -> Verdict | CheckResult | Awaitable[Verdict | CheckResult]:
        """The verdict on `trace`.

        Raises
        ------
        NoVerdict
            When no verdict can be reached.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement verdict(trace)")

    async def run(self, trace: TraceT) -> CheckResult:
        """The verdict on `trace`; an ERROR when none can be reached."""
        try:
            verdict = self.verdict(trace)
            if not isinstance(verdict, (Verdict, CheckResult)):
                verdict = await verdict
        except NoVerdict as problem:
            verdict = problem.verdict()
        if isinstance(verdict, CheckResult):
            return verdict
        if verdict.found is not MISSING:
            message, details = worded(type(self), self.__dict__, verdict.found, verdict.message, verdict.details)
            verdict = verdict._replace(message=message, details=details)
        return verdict.result()

    @classmethod
    def passed(cls, values: Mapping[str, Any], found: Any) -> tuple[str | None, dict[str, Any]]:
        """The message and the details of a PASS that was given by `passed_with`.

        Parameters
        ----------
        values
            The fields of the check, as they were when it ran.
        found
            What it was given with.
        """
        raise NotImplementedError(f"{cls.__name__} does not implement passed(values, found)")


def validate_checks(value: Any) -> list[Check]:
    """`value` as a list of checks, in which dictionaries are loaded by their kind.

    Raises
    ------
    ValueError
        When it is anything else than a list of checks.
    """
    if _type_of(value) not in _LISTS and not _is_row(value):
        raise ValueError(f"expected a list of checks, got {_type_of(value).__name__}: {value!r:.200}")
    return list(value) if all(map(_is_check, value)) else each(value, validate_check, "checks")


# As isinstance: the one of pydantic's classes, which may be abstract, costs ten times as much.
_is_check: Callable[[object], bool] = type.__instancecheck__.__get__(Check)


def _is_row(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, BaseModel))


def _no_check(item: object) -> ValueError:
    kind = _type_of(item)
    hint = "; wrap it: FnCheck(fn=...)" if callable(item) else ""
    if kind in _LISTS:
        hint = "; give its items one by one: .checks(*items)"
    return ValueError(f"expected a check, got {kind.__name__}: {item!r:.200}{hint}")


def _loaded(item: Any) -> Check:
    if isinstance(item, type) and issubclass(item, Check):
        raise ValueError(f"expected a check, got the class {item.__name__}; make one: {item.__name__}(...)")
    if not isinstance(item, dict):
        raise _no_check(cast("object", item))
    return Check.model_validate(item)


def validate_check(item: Any) -> Check:
    """`item` as a check: a dictionary is loaded by its kind.

    Raises
    ------
    ValueError
        When it is anything else.
    """
    return item if _is_check(item) else _loaded(item)


# Checks of any kind and type parameters are kept as they are; dictionaries are loaded by their kind.
Checks: TypeAlias = Annotated[Sequence[Check], PlainValidator(validate_checks), PlainSerializer(list)]
OneCheck: TypeAlias = Annotated[
    Check,
    PlainValidator(validate_check),
    PlainSerializer(lambda item: item),
]


def lookup(trace: Any, key: str, field: str = "target_key") -> Any:
    """The value at `key`; a list for a path that may match many.

    Parameters
    ----------
    field
        The name of the check's field that holds `key`, for the message.

    Raises
    ------
    NoVerdict
        When there is no value: an absent one must never be taken for an answer, nor for "nothing matched"
        by an indefinite path whose container is not there.
    """
    path = compile_path(key)
    try:
        value = path.resolve(trace)
    except (TimeoutError, ValueError) as error:  # a filter's regex, or a descent, without end
        bad = "bad_type" if isinstance(error, BadToolCall) else "config"
        cause = "timeout" if isinstance(error, TimeoutError) else bad
        raise NoVerdict(f"{field}: {error}", kind=cause, details={field: key}) from error
    if type(value) is str or type(value) is float:  # it is there: most values are one of these
        return value
    if type(value) is NoMatch or (not path.definite and not value and not path.grounded(trace)):
        _no_value(trace, key, field)
    return value


def _no_value(trace: Any, key: str, field: str) -> NoReturn:
    try:
        where = compile_path(key).explain(trace)
    except Exception as error:  # a property of the user's object may raise anything
        where = f"looking for it raised {type(error).__name__}"
    raise NoVerdict(f"no value at {key!r} ({field}): {where}", kind="missing_value", details={field: key})
