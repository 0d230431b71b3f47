"""A model's server for the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.llm.server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A server on loopback that is there for one test."""
    with ModelServer() as running:
        yield running
