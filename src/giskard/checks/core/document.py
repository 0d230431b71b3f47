"""What the results of suites, scenarios and test cases share: versioned dumps, and files that others read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from giskard.checks.core import late
from giskard.checks.core.models import SCHEMA_VERSION
from giskard.checks.utils.lazy import json

__all__ = ["Document"]


class Document(BaseModel):
    """A mixin for results: their dump carries ``schema_version``, what lies inside of them does not.

    What writes them is on higher floors: see `giskard.checks.export`.
    """

    # As all others: the first class that is built makes pydantic look for its plugins in all installed packages.
    model_config = ConfigDict(defer_build=True)

    def _parts(self) -> list[str]:
        """The parts of the JSON text, written at less cost than pydantic's."""
        return [late.resolve_late("result_text")(self)]

    def model_dump(self, **options: Any) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As pydantic's, with ``schema_version`` first."""
        dumped = super().model_dump(**options)
        return {"schema_version": SCHEMA_VERSION, **dumped} if _is_marked(options) else dumped

    def model_dump_json(self, **options: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As pydantic's, with ``schema_version`` first."""
        if not options.keys() <= {"indent"}:
            return self._by_pydantic(options)
        parts = self._parts()
        parts[0] = parts[0].replace("{", _MARK, 1)
        text = "".join(parts)
        indent = options.get("indent")
        return text if indent is None else json.dumps(json.loads(text), ensure_ascii=False, indent=indent)

    def _by_pydantic(self, options: Mapping[str, Any]) -> str:
        text = super().model_dump_json(**options)
        if not _is_marked(options):
            return text
        indent = options.get("indent")
        head = f'"schema_version":"{SCHEMA_VERSION}"'
        if indent is not None:
            head = "\n" + " " * indent + head.replace(":", ": ")
        return "{" + head + ("" if text == "{}" else ",") + text[1:]

    def to_junit_xml(
        self, path: str | os.PathLike[str] | None = None, granularity: Literal["scenario", "check"] = "scenario"
    ) -> str:
        """The results as JUnit XML; also written to `path`, whose folders are made.

        Parameters
        ----------
        granularity
            Whether a ``testcase`` stands for a scenario or for a check.
        """
        return late.resolve_late("junit")(self, path, granularity=granularity)

    def to_json_lines(self, path: str | os.PathLike[str] | None = None) -> str:
        """The results as JSON lines, one for each attempt of each scenario; also written to `path`."""
        return late.resolve_late("json_lines")(self, path)

    def to_report_json(self, path: str | os.PathLike[str] | None = None, *, indent: int | None = None) -> str:
        """All of it as JSON that its class loads again; also written to `path`, ``report.json`` say."""
        return late.resolve_late("report_json")(self, path, indent=indent)

    def to_hub_format(self) -> dict[str, Any]:
        """The results as JSON data: scenarios, steps, check results, counts and pass rate."""
        return late.resolve_late("hub")(self)


_MARK = f'{{"schema_version":"{SCHEMA_VERSION}",'


def _is_marked(options: Mapping[str, Any]) -> bool:
    return options.get("include") is None and "schema_version" not in (options.get("exclude") or ())
