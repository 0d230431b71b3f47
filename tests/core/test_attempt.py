"""What is known of the attempt, and of the task, that runs now."""

import asyncio

from giskard.checks import Check, CheckResult, TestCase, TestCaseResult, Trace


class LeaksACancellation(Check):
    async def run(self, trace: Trace) -> CheckResult:
        raise asyncio.CancelledError("nobody asked")


def test_where_no_task_runs_nobody_asked_to_stop():
    async def main() -> TestCaseResult:
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        run = TestCase(trace=Trace(), checks=[LeaksACancellation()]).run(return_exception=True)

        def by_hand() -> None:
            """Go on with the run in a callback of the loop, which belongs to no task."""
            try:
                run.send(None)
            except StopIteration as end:
                done.set_result(end.value)
            except BaseException as error:
                done.set_exception(AssertionError(f"it came out: {error!r}"))
            else:
                loop.call_soon(by_hand)  # it let others run

        loop.call_soon(by_hand)
        return await done

    result = asyncio.run(main())
    (found,) = result.results
    assert (found.status, found.error_kind) == ("error", "cancelled")
    assert "nobody asked" in found.message
