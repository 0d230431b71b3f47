"""What the tests of reports share."""

import pytest


@pytest.fixture(autouse=True)
def _reports_as_they_are(monkeypatch):
    """The cases, which may run in the same process, ask for plain reports in the environment."""
    monkeypatch.delenv("GISKARD_CHECKS_DISABLE_RICH_PRETTY", raising=False)
