"""Models whose classes are built when they are first needed."""

import pickle
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from giskard.checks import Equals, Interaction, TestCase, Trace
from giskard.checks.utils.completed import completed


class Holder(BaseModel):
    item: Any


def test_a_model_made_without_validation_can_be_dumped_inside_of_another():
    class Late(BaseModel):
        model_config = ConfigDict(defer_build=True)

        size: int

    model = Late.model_construct(size=1)

    assert completed(model) is model
    assert completed(model) is model
    assert Holder(item=model).model_dump_json() == '{"item":{"size":1}}'


# Each in an interpreter of its own: there nothing has been validated or dumped yet.
HEAD = """
import asyncio, pickle, sys
from giskard.checks import Equals, Interaction, Scenario, Suite, TestCase, Trace
from pydantic import computed_field

class Shop(Trace[str, str], frozen=True):
    @computed_field
    @property
    def turns(self) -> int:
        return len(self.interactions)

trace = Shop(interactions=[Interaction(inputs="a", outputs="b")])
case = TestCase(name="c", trace=trace, checks=[Equals(target_key="trace.turns", expected_value=1)])
recorded = Scenario("s").interact("a", "b")
"""


@pytest.mark.parametrize(
    "code",
    [
        "assert case.model_dump()['trace']['last']['inputs'] == 'a'",
        "assert '\"turns\":1' in Suite(name='s', scenarios=[case]).model_dump_json()",
        "assert trace.model_dump(include={'last'})['last']['outputs'] == 'b'",
        "result = Suite(name='s', scenarios=[case]).run_sync(verbose=False)\n"
        "assert '\"turns\":1' in result.model_dump_json()",
        "assert recorded.run_sync().model_dump()['final_trace']['last']['inputs'] == 'a'",
        "assert recorded.run_sync().final_trace.model_dump_json()",
        "assert Scenario('s').append(Interaction(inputs='a', outputs='b')).model_dump_json()",
        "loaded = pickle.loads(bytes.fromhex(sys.argv[1]))\n"
        "assert loaded.model_dump()['checks'][0]['kind'] == 'equals'\n"
        "assert '\"equals\"' in loaded.model_dump_json()",
    ],
    ids=lambda code: code[:40],
)
def test_whatever_is_dumped_first_can_be_dumped(code):
    saved = TestCase(
        trace=Trace(interactions=[Interaction(inputs="a", outputs="b")]), checks=[Equals(expected_value=1)]
    )
    arguments = [sys.executable, "-W", "error", "-c", HEAD + code, pickle.dumps(saved).hex()]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)

    assert (done.stderr, done.returncode) == ("", 0)
