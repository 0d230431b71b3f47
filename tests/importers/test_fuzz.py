"""A short run of what `make fuzz-import` does for longer, with the same files every time."""

import pytest

from tests.importers.fuzzing import fuzz


@pytest.mark.parametrize("seed", range(4))
def test_spoiled_files_give_traces_or_a_report(seed):
    fuzz(150, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_many_spoiled_files(seed):
    fuzz(1_000, seed)
