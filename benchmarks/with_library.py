"""W6 through the library that models are asked through, and nothing of ours: its direct request, in a plain loop."""

import asyncio
import json

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, TextPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition

from benchmarks.bare import now, passed, record
from benchmarks.workloads import CONCURRENCY, PROMPT, REPLY, RULE, VERDICT

kept: dict[str, OpenAIChatModel] = {}  # its client keeps its connections


async def w6(m, n):
    model = kept.setdefault("model", OpenAIChatModel("gpt-4o-mini"))
    parameters = ModelRequestParameters(
        output_mode="native", output_object=OutputObjectDefinition(json_schema=VERDICT, name="Verdict")
    )
    gate, results = asyncio.Semaphore(CONCURRENCY), []

    async def one(i):
        async with gate:
            start, trace = now(), json.dumps({"inputs": f"May I invest in {i}?", "outputs": REPLY})
            prompt = ModelRequest.user_text_prompt(PROMPT.format(rule=RULE, trace=trace))
            response = await model_request(model, [prompt], model_request_parameters=parameters)
            text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
            verdict = json.loads(text)
            results.append([record(start, "conformity", verdict["passed"], verdict["reason"])])

    with m.time("judge"):
        await asyncio.gather(*[one(i) for i in range(n)])
    m.verdict(passed(results))
