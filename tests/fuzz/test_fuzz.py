"""A short run of what `make fuzz` does for longer, with the same bytes every time."""

import random

import pytest

from tests.fuzz.targets import TARGETS

INPUTS = 1_000


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
@pytest.mark.parametrize("seed", range(2))
def test_any_bytes_keep_the_promises(target, seed):
    source = random.Random(seed)
    for _ in range(INPUTS):
        data = source.randbytes(source.choice([4, 16, 48, 160]))
        try:
            target(data)
        except BaseException as error:
            error.add_note(f"the bytes: {data!r}")
            raise
