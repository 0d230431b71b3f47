"""What a type checker sees of the public API: ``make lint`` reads this file, nothing runs it."""

# A mistake below that is not seen makes its comment an error.
# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

from giskard.checks import (
    Interaction,
    Scenario,
    ScenarioResult,
    ScenarioRunner,
    Suite,
    SuiteResult,
    TestCase,
    TestCaseResult,
    TestCaseRunner,
    Trace,
)


class Chat(Trace[str, str], frozen=True):
    pass


def scenarios(scenario: Scenario[str, str, Chat], runner: ScenarioRunner) -> None:
    assert_type(scenario.run_sync(len, multiple_runs=2, strict=True), ScenarioResult[Chat])
    assert_type(runner.run_sync(scenario, None, True), ScenarioResult[Chat])
    scenario.run_sync(taget=len)  # pyright: ignore[reportCallIssue]
    scenario.run_sync(multiple_runs="2")  # pyright: ignore[reportArgumentType]
    runner.run_sync()  # pyright: ignore[reportCallIssue]


def test_cases(case: TestCase[str, str, Chat], runner: TestCaseRunner) -> None:
    assert_type(case.run_sync(return_exception=True), TestCaseResult)
    assert_type(runner.run_sync(case, strict=True), TestCaseResult)
    case.run_sync(exception=True)  # pyright: ignore[reportCallIssue]
    runner.run_sync(case, target=len)  # pyright: ignore[reportCallIssue]


def suites(suite: Suite[Any, Any]) -> None:
    assert_type(suite.run_sync(max_concurrency=3, timeout=1.5), SuiteResult)
    suite.run_sync(max_concurency=3)  # pyright: ignore[reportCallIssue]


async def the_async_ones(scenario: Scenario[str, str, Chat]) -> None:
    assert_type(await scenario.run(), ScenarioResult[Chat])
    await scenario.run(taget=len)  # pyright: ignore[reportCallIssue]


def turns() -> None:
    assert_type(Interaction(inputs=1, outputs="a"), Interaction[int, str])
    Interaction(input=1, outputs="a")  # pyright: ignore[reportCallIssue]
    Interaction(inputs=1, outputs="a", metadata=3)  # pyright: ignore[reportArgumentType]
