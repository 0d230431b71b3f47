"""What targets keep of conversations, shared by loops in several threads."""

import copy
import pickle
import sys
import threading

import pytest

from giskard.checks.targets import AgentTarget, HTTPTarget
from giskard.checks.targets._kept import Kept


@pytest.fixture
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("frequent_switches")
def test_threads_that_share_it_get_one_thing_for_each_conversation():
    kept, made, failures = Kept(500), [], []

    def work(number):
        try:
            for step in range(2_000):
                kept.put(f"{number}-{step}", step)
                assert kept.get(f"{number}-{step}") in (step, None)
                kept.get_or_make(f"common {step}", lambda step=step: made.append(step) or step)
                list(kept)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(list(kept)) == 500


def test_what_was_used_last_stays():
    kept = Kept(2)
    for name in "ab":
        kept.get_or_make(name, lambda name=name: name.upper())
    kept.get_or_make("a", lambda: "another")
    kept.put("c", "C")

    assert list(kept) == ["a", "c"]
    assert (kept.get("a"), kept.get("b")) == ("A", None)


def test_a_copy_has_conversations_of_its_own():
    kept = Kept(2)
    kept.put("a", 1)

    for other in (copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        assert list(other) == []
        for number in range(3):
            other.put(f"{number}", number)
        assert list(other) == ["1", "2"]
    for target in (HTTPTarget("http://localhost:1"), AgentTarget("a.b:c")):
        assert copy.deepcopy(target) == target
