"""What every run of pytest loads of Giskard Checks: the marker ``cassette`` and its option.

It stands outside of the package because a module of the package cannot be imported without it, which would cost every
run of pytest a third of a second.  `giskard.checks.pytest_plugin` is loaded when a test has the marker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from giskard.checks.pytest_plugin import CassettePlugin

MODES = ("auto", "record", "replay", "strict")

_MODE = "what tests marked with `cassette` do: auto (the default), record, replay or strict"
_MARKER = (
    "cassette(path=None, mode=None): record what models and targets answer, or replay it; the file at `path` is "
    "beside the test, and cassettes/<module>/<test>.json when it is left out"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tell pytest the mode's option."""
    parser.getgroup("giskard-checks").addoption("--cassette-mode", choices=MODES, default=None, help=_MODE)
    parser.addini("cassette_mode", _MODE, default="auto")


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest the marker."""
    config.addinivalue_line("markers", _MARKER)
    config.pluginmanager.register(_Door(config), "giskard_checks_door")


class _Door:
    """Loads the plugin when there is something to do for it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._plugin: CassettePlugin | None = None

    @pytest.hookimpl(tryfirst=True)  # also those that are left out afterwards count
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if any(item.get_closest_marker("cassette") is not None for item in items):
            self._loaded().adopt(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "giskard_cassette"):  # perhaps of another process, which pytest-xdist started
            self._loaded().collect(report)

    def _loaded(self) -> CassettePlugin:
        if self._plugin is None:
            from giskard.checks.pytest_plugin import CassettePlugin  # noqa: PLC0415 - not before a test needs it

            self._plugin = CassettePlugin(self._config)
            self._config.pluginmanager.register(self._plugin, "giskard_checks_cassettes")
        return self._plugin
