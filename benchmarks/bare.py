"""The physical limit: hand-written loops that yield the same verdicts, messages and details."""

import asyncio
import io
import json
import os
import re
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit
from xml.sax.saxutils import escape, quoteattr

from benchmarks.measure import memory
from benchmarks.workloads import (
    CONCURRENCY,
    FIELDS,
    FIRST,
    PROMPT,
    REPLY,
    RULE,
    TURNS,
    VERDICT,
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

now = time.perf_counter


def norm(value):
    return " ".join(unicodedata.normalize("NFKC", value).split())


def record(start, kind, ok, message, **details):
    details.update(duration_ms=int((now() - start) * 1000), check_kind=kind)
    return {"status": "pass" if ok else "fail", "message": message, "details": details}


def equals(value, expected, start):
    return record(
        start,
        "equals",
        value == expected,
        f"{value!r} against the expected {expected!r}",
        actual_value=value,
        expected_value=expected,
    )


def contains(value, keyword, start):
    return record(
        start,
        "string_matching",
        norm(keyword) in norm(value),
        f"keyword {keyword!r}",
        text=value,
        keyword=keyword,
    )


def passed(results):
    return [all(check["status"] == "pass" for check in checks) for checks in results]


async def w2(m, scale):
    data, before = replay(scale), memory("VmRSS")

    async def run(case):
        first, last = case["trace"]
        return [
            equals(first["outputs"]["data"]["fee_eur"], case["fee"], now()),
            contains(last["outputs"]["answer"], "free of charge", now()),
            record(now(), "fn", "free" in last["outputs"]["answer"], None),
        ]

    with m.time("build", len(data), 1e6):
        cases = [
            {
                "name": f"replay_{i}",
                "fee": fee,
                "trace": [
                    {"inputs": "What is the fee?", "outputs": first},
                    {"inputs": "And to replace a lost card?", "outputs": last},
                ],
            }
            for i, (first, last, fee) in enumerate(data)
        ]
    with m.time("run", len(data), 1e6):
        results = await asyncio.gather(*[run(case) for case in cases])
    m.memory(before)
    m.verdict(passed(results))


def w3(m, scale):
    measure_turns(m, FIRST, 10, 10)  # as many as the library runs at this size, and as cold
    for name, n in turns(scale):
        results = measure_turns(m, name, n, max(1, 10_000 // n))
        m.verdict([all(passed(results))])
    m.growth(TURNS)


def measure_turns(m, name, n, reps):
    with m.time("build", n * reps, 1e6, f"@{name}"):
        for _ in range(reps):
            steps = [(f"question {i}", f"answer {i} is fine", f"answer {i} ") for i in range(n)]
    with m.time("run", n * reps, 1e6, f"@{name}"):
        for _ in range(reps):
            trace, results = [], []
            for question, answer, keyword in steps:
                trace.append({"inputs": question, "outputs": answer})
                results.append([contains(trace[-1]["outputs"], keyword, now())])
    return results


async def suite(m, scale, call):
    gate = asyncio.Semaphore(CONCURRENCY)

    async def one(i):
        async with gate:
            return [contains(await call(f"q{i}"), f"re: q{i}", now())]

    with m.time("suite"):
        results = await asyncio.gather(*[one(i) for i in range(suite_size(scale))])
    m.verdict(passed(results))


async def w4(m, scale):
    await suite(m, scale, slow_target)


async def w5(m, scale):
    loop, pool = asyncio.get_running_loop(), ThreadPoolExecutor(CONCURRENCY)
    await suite(m, scale, lambda q: loop.run_in_executor(pool, blocking_target, q))


FORMAT = {"type": "json_schema", "json_schema": {"name": "Verdict", "schema": VERDICT}}


async def w6(m, n):
    """As many kept connections as calls at once, of a minimal HTTP/1.1 client."""
    url, results, todo = urlsplit(os.environ["OPENAI_BASE_URL"]), [], iter(range(n))

    async def worker():
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        for i in todo:
            start, trace = now(), json.dumps({"inputs": f"May I invest in {i}?", "outputs": REPLY})
            message = {"role": "user", "content": PROMPT.format(rule=RULE, trace=trace)}
            body = json.dumps({"model": "gpt-4o-mini", "response_format": FORMAT, "messages": [message]}).encode()
            writer.write(
                b"POST %s/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%s" % (url.path.encode(), len(body), body)
            )
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
            answer = json.loads(await reader.readexactly(size))["choices"][0]["message"]
            verdict = json.loads(answer["content"])
            results.append([record(start, "conformity", verdict["passed"], verdict["reason"])])
        writer.close()

    with m.time("judge"):
        await asyncio.gather(*[worker() for _ in range(min(n, CONCURRENCY))])
    m.verdict(passed(results))


def w7(m, scale):
    before = memory("VmRSS")
    texts, keywords = payloads(scale)
    with m.time("build"):
        trace = [{"inputs": "q", "outputs": t} for t in texts]
    with m.time("run"):
        last = norm(trace[-1]["outputs"])  # once for all the checks
        results = [
            [
                record(
                    now(),
                    "string_matching",
                    norm(k) in last,
                    f"keyword {k!r}",
                    text=trace[-1]["outputs"],
                    keyword=k,
                )
            ]
            for k in keywords
        ]
    m.memory(before)
    m.verdict(passed(results))


def w8(m, scale):
    data, results, out, report = exports(scale), [], ["<testsuite>"], io.StringIO()
    with m.time("suite"):
        for i, (question, answer, expected) in enumerate(data):
            results.append(
                {
                    "name": f"scenario {i}",
                    "trace": [{"inputs": question, "outputs": {"answer": answer}}],
                    "checks": [contains(answer, "café", now()), equals(answer, expected, now())],
                }
            )
    with m.time("junit"):
        for r in results:
            trace, step = (quoteattr(json.dumps(r[k], ensure_ascii=False)) for k in ("trace", "checks"))
            out.append(
                f"<testcase name={quoteattr(r['name'])}><properties>"
                f'<property name="final_trace" value={trace}/>'
                f'<property name="step_1" value={step}/></properties>'
            )
            out += [f"<failure message={quoteattr(c['message'])}/>" for c in r["checks"] if c["status"] == "fail"]
            out.append(f"<system-out>{escape(str(r['checks']))}</system-out></testcase>")
        xml = "\n".join(out)
    with m.time("json"):
        dumped = json.dumps(results, ensure_ascii=False)
    with m.time("report"):
        for r in results:
            failed = [c for c in r["checks"] if c["status"] == "fail"]
            if failed:
                print("--", r["name"], "FAILED --", *map(repr, r["trace"]), sep="\n", file=report)
                for c in failed:
                    print(c["details"]["check_kind"], "FAIL", c["message"], file=report)
    m.update(junit_mb=len(xml) / 1e6, json_mb=len(dumped) / 1e6, report_mb=len(report.getvalue()) / 1e6)
    m.verdict(passed(r["checks"] for r in results))


OK = [
    (
        name,
        (
            lambda v: type(v) is str and 1 <= len(v) <= 40,
            lambda v: type(v) is int and v >= 0,
            lambda v: v in ("low", "mid", "high"),
        )[i % 3],
    )
    for i, (name, _) in enumerate(FIELDS)
]


async def w9(m, scale):
    async def regex(output, pattern):
        start = now()
        return [
            record(
                start,
                "regex_matching",
                re.search(pattern, output) is not None,
                f"pattern {pattern!r}",
                text=output,
                pattern=pattern,
            )
        ]

    async def schema(output, _):
        start, value = now(), json.loads(output)
        ok = type(value) is dict and len(value) == 30 and all(k in value and test(value[k]) for k, test in OK)
        return [record(start, "json_valid", ok, "valid", value=output, parsed_value=value)]

    for name, fn, data in (
        ("regex", regex, regexes(scale)),
        ("json", schema, [(json.dumps(d), None) for d in documents(scale)]),
    ):
        with m.time(name + "_build", len(data), 1e6):
            cases = [{"trace": [{"inputs": "q", "outputs": output}], "spec": spec} for output, spec in data]
        with m.time(name + "_run", len(data), 1e6):
            results = await asyncio.gather(*[fn(c["trace"][-1]["outputs"], c["spec"]) for c in cases])
        m.verdict(passed(results))


def w10(m, scale):
    """Only the parsing of each line: no conversation is made of it, and nothing is checked."""
    path, before = recorded(scale), memory("VmRSS")
    count = 0
    with m.time("stream"), path.open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)
            count += 1
    m.streamed(count, path.stat().st_size, before)
    m["deep_cpu"] = m["row_cpu"]
