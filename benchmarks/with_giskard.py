"""The same workloads through the public API of `giskard.checks`."""

import asyncio
import io
import json
from functools import partial

import giskard.checks as g
from benchmarks.measure import memory
from benchmarks.workloads import (
    CONCURRENCY,
    FIRST,
    REPLY,
    RULE,
    SCHEMA,
    TURNS,
    blocking_target,
    documents,
    exports,
    payloads,
    recorded,
    regexes,
    replay,
    slow_target,
    suite_size,
    turns,
)


def trace(*exchanges):
    return g.Trace(interactions=[g.Interaction(inputs=i, outputs=o) for i, o in exchanges])


def has_free(t):
    return t.last is not None and "free" in t.last.outputs["answer"]


async def w2(m, scale):
    data, before = replay(scale), memory("VmRSS")
    with m.time("build", len(data), 1e6):
        cases = [
            g.TestCase(
                name=f"replay_{i}",
                trace=trace(("What is the fee?", first), ("And to replace a lost card?", last)),
                checks=[
                    g.Equals(
                        expected_value=fee,
                        target_key="trace.interactions[0].outputs.data.fee_eur",
                    ),
                    g.StringMatching(keyword="free of charge", target_key="trace.last.outputs.answer"),
                    g.FnCheck(fn=has_free, name="free"),
                ],
            )
            for i, (first, last, fee) in enumerate(data)
        ]
    with m.time("run", len(data), 1e6):
        results = await asyncio.gather(*[case.run() for case in cases])
    m.memory(before)
    m.verdict(r.passed for r in results)


async def w3(m, scale):
    for name, n in turns(scale):
        reps = max(1, 100 // n)
        with m.time("build", reps * n, 1e6, f"@{name}"):
            scenarios = [g.Scenario(f"turns_{n}_{k}") for k in range(reps)]
            for scenario in scenarios:
                for i in range(n):
                    scenario.interact(inputs=f"question {i}", outputs=f"answer {i} is fine").check(
                        g.StringMatching(keyword=f"answer {i} ", target_key="trace.last.outputs")
                    )
        with m.time("run", reps * n, 1e6, f"@{name}"):
            results = [await scenario.run() for scenario in scenarios]
        m.verdict(r.passed and len(r.final_trace.interactions) == n for r in results)
    m[f"run_cpu@{FIRST}"] = m[f"run_cpu@{TURNS[0]}"]  # which are the first of this process
    m.growth(TURNS)


async def suite(m, scale, target):
    runs = g.Suite(name="s", target=target)
    for i in range(suite_size(scale)):
        runs.append(g.Scenario(f"s{i}").interact(inputs=f"q{i}").check(g.StringMatching(keyword=f"re: q{i}")))
    with m.time("suite"):
        result = await runs.run(parallel=True, max_concurrency=CONCURRENCY, verbose=False)
    m.verdict(r.passed for r in result.results)


w4 = partial(suite, target=slow_target)
w5 = partial(suite, target=blocking_target)


async def w6(m, n):
    runs = g.Suite(name="judges")
    for i in range(n):
        runs.append(
            g.Scenario(f"j{i}").interact(inputs=f"May I invest in {i}?", outputs=REPLY).check(g.Conformity(rule=RULE))
        )
    with m.time("judge"):
        result = await runs.run(parallel=True, max_concurrency=CONCURRENCY, verbose=False)
    m.verdict(r.passed for r in result.results)


async def w7(m, scale):
    before = memory("VmRSS")
    texts, keywords = payloads(scale)
    with m.time("build"):
        case = g.TestCase(
            trace=trace(*[("q", t) for t in texts]),
            checks=[g.StringMatching(keyword=k) for k in keywords],
        )
    with m.time("run"):
        result = await case.run()
    m.memory(before)
    m.verdict(r.passed for r in result.results)


async def w8(m, scale):
    from rich.console import Console  # noqa: PLC0415  (no other workload draws a report)

    runs, key = g.Suite(name="export"), "trace.last.outputs.answer"
    for i, (question, answer, expected) in enumerate(exports(scale)):
        runs.append(
            g.Scenario(f"scenario {i}")
            .interact(inputs=question, outputs={"answer": answer})
            .check(g.StringMatching(keyword="café", target_key=key))
            .check(g.Equals(expected_value=expected, target_key=key))
        )
    with m.time("suite"):
        result = await runs.run(verbose=False)
    with m.time("junit"):
        xml = result.to_junit_xml()
    with m.time("json"):
        dumped = result.model_dump_json()
    with m.time("report"):
        out = io.StringIO()
        result.print_report(Console(file=out, width=120))
    m.update(junit_mb=len(xml) / 1e6, json_mb=len(dumped) / 1e6, report_mb=len(out.getvalue()) / 1e6)
    m.verdict(r.passed for r in result.results)


async def w9(m, scale):
    for name, data, make in (
        ("regex", regexes(scale), lambda p: g.RegexMatching(pattern=p)),
        (
            "json",
            [(json.dumps(d), SCHEMA) for d in documents(scale)],
            lambda s: g.JsonValid(schema=s),
        ),
    ):
        with m.time(name + "_build", len(data), 1e6):
            cases = [g.TestCase(trace=trace(("q", output)), checks=[make(spec)]) for output, spec in data]
        with m.time(name + "_run", len(data), 1e6):
            results = await asyncio.gather(*[case.run() for case in cases])
        m.verdict(r.passed for r in results)


async def w10(m, scale):
    path, before = recorded(scale), memory("VmRSS")
    checks = [
        g.ToolCalled(tool="get_user_details"),
        g.MaxToolCalls(limit=30),
        g.StringMatching(keyword="reservation", target_key="trace.interactions[0].outputs"),
    ]
    list(g.load_traces(io.StringIO('{"messages": [{"role": "user", "content": "Hello?"}]}')))  # W1 is about imports
    count = 0
    with m.time("stream"):
        for conversation in g.load_traces(path):
            await g.TestCase(trace=conversation, checks=checks).run()
            count += 1
    m.streamed(count, path.stat().st_size, before)
    everything = g.Equals(
        expected_value="user", target_key="trace.interactions[*].metadata.messages[0].role", match="all"
    )
    with m.time("deep"):
        for conversation in g.load_traces(path):
            await g.TestCase(trace=conversation, checks=[everything]).run()
    m["deep_cpu"] *= 1e6 / count
