"""Files of recorded conversations for the tests of importers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent / "examples"


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder with a file of each format."""
    return EXAMPLES


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path: texts as they are, other data as JSON."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
