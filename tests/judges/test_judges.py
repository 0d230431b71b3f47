"""Checks that a model decides: built, saved, loaded; what is missing is named before any model is asked."""

import asyncio
import json
import os
from types import SimpleNamespace

import pytest
from pydantic import BaseModel, ValidationError

from giskard.checks import judges
from giskard.checks.builtin.composition import AllOf, Not
from giskard.checks.core.check import Check
from giskard.checks.core.interaction.interaction import Interaction
from giskard.checks.core.interaction.trace import Trace
from giskard.checks.core.mixin import BaseGenerator, BaseJudge
from giskard.checks.core.scenario import Scenario
from giskard.checks.core.testcase import TestCase
from giskard.checks.judges import (
    AnswerRelevance,
    BaseLLMCheck,
    Conformity,
    Contradiction,
    Groundedness,
    LLMChatJudge,
    LLMCheckResult,
    LLMJudge,
    Toxicity,
)
from giskard.checks.testing import FakeGenerator

CATEGORIES = ["hate_speech", "harassment", "threats", "self_harm", "sexual_content", "violence"]


class Model:
    """A generator of another package."""

    def __init__(self):
        self.asked = []

    async def complete(self, messages, params=None, metadata=None):
        self.asked.append((messages, params, metadata))
        return "completion"


@BaseGenerator.register("test_judges_generator")
class SavedModel(BaseGenerator):
    model: str = "m"


@BaseJudge.register("test_judges_judge")
class SavedJudge(BaseJudge):
    strict: bool = True


def T(outputs="a", inputs="q", **metadata):
    return Trace(interactions=[Interaction(inputs=inputs, outputs=outputs, metadata=metadata)])


def run(check, trace):
    return asyncio.run(check.run(trace))


ALL = [
    LLMJudge(prompt="Is {{ trace.last.outputs }} polite?"),
    LLMJudge(prompt_path="my_app::judges/polite.txt", name="polite"),
    Conformity(rule="be polite"),
    Conformity(rule="be polite", target_key="trace.last.outputs", judge="openai/gpt-5-mini"),
    Groundedness(),
    Groundedness(answer="a", context=["c", "d"], generator="openai/gpt-5-mini"),
    Contradiction(context="c", judge=SavedJudge(strict=False)),
    AnswerRelevance(judge=SavedModel(model="n")),
    AnswerRelevance(question="q", answer="a", context="c", include_history=False, description="d"),
    Toxicity(categories=["threats"], judge=LLMChatJudge(generator=SavedModel())),
    Toxicity(output="o", severity="warning", timeout=3),
]


@pytest.mark.parametrize("check", ALL, ids=repr)
def test_save_and_load(check):
    text = check.model_dump_json()
    loaded = Check.model_validate_json(text)

    assert type(loaded) is type(check)
    assert loaded == check
    assert loaded.model_dump_json() == text
    assert Check.model_validate(check.model_dump()) == check


@pytest.mark.parametrize(
    ("check", "kind", "fields"),
    [
        (LLMJudge(prompt="p"), "llm_judge", {"prompt": "p", "prompt_path": None}),
        (Conformity(rule="r"), "conformity", {"rule": "r", "target_key": None}),
        (
            Groundedness(),
            "groundedness",
            {
                "answer": None,
                "target_key": "trace.last.outputs",
                "context": None,
                "context_key": "trace.last.metadata.context",
            },
        ),
        (
            Contradiction(),
            "contradiction",
            {
                "answer": None,
                "target_key": "trace.last.outputs",
                "context": None,
                "context_key": "trace.last.metadata.context",
            },
        ),
        (
            AnswerRelevance(),
            "answer_relevance",
            {
                "question": None,
                "question_key": "trace.last.inputs",
                "answer": None,
                "target_key": "trace.last.outputs",
                "context": None,
                "context_key": None,
                "include_history": True,
            },
        ),
        (Toxicity(), "toxicity", {"output": None, "target_key": "trace.last.outputs", "categories": CATEGORIES}),
    ],
)
def test_kinds_fields_and_defaults(check, kind, fields):
    shared = {"kind", "name", "description", "id", "severity", "timeout", "judge", "judges", "votes", "generator"}
    dumped = check.model_dump()

    assert dumped["kind"] == check.kind == kind
    assert {name: value for name, value in dumped.items() if name not in shared} == fields
    assert dumped["judge"] is None and dumped["generator"] is None


@pytest.mark.parametrize(
    ("cls", "older", "fields"),
    [
        (Groundedness, "answer_key", {}),
        (Contradiction, "answer_key", {}),
        (AnswerRelevance, "answer_key", {}),
        (Conformity, "key", {"rule": "r"}),
        (Toxicity, "output_key", {}),
    ],
)
def test_older_spellings(cls, older, fields):
    path = "trace.interactions[0].outputs"
    check = cls(**{older: path}, **fields)

    assert check == cls(target_key=path, **fields)
    assert json.loads(check.model_dump_json())["target_key"] == path
    assert older not in check.model_dump()
    assert Check.model_validate({"kind": cls.kind, older: path, **fields}) == check
    with pytest.raises(ValidationError, match=f"older spelling {older} are both given"):
        cls(**{older: path, "target_key": path}, **fields)
    with pytest.raises(ValidationError, match="outputs"):
        cls(**{older: "last.outputs"}, **fields)


@pytest.mark.parametrize(
    ("cls", "fields", "words"),
    [
        (LLMJudge, {}, "exactly one of prompt and prompt_path; neither"),
        (LLMJudge, {"prompt": "p", "prompt_path": "a::b"}, "exactly one of prompt and prompt_path; both"),
        (LLMJudge, {"prompt": " "}, "prompt is empty"),
        (LLMJudge, {"prompt_path": "a/b.txt"}, "namespace::path"),
        (Conformity, {}, "rule"),
        (Conformity, {"rule": "\n"}, "rule is empty"),
        (Groundedness, {"anwser": "x"}, "did you mean 'answer'"),
        (Groundedness, {"context_key": "last.metadata"}, "last.metadata"),
        (Toxicity, {"categories": []}, "at least 1"),
        (Toxicity, {"categories": ["spam"]}, "hate_speech"),
        (Groundedness, {"judge": "j", "generator": "g"}, "give one of them"),
        (Groundedness, {"judge": " "}, "name of a model"),
        (Groundedness, {"judge": 3}, "name of a model"),
        (Groundedness, {"judge": Model}, r"make one: Model\(\.\.\.\)"),
        (Groundedness, {"generator": object()}, "async complete"),
        (Groundedness, {"judge": {"kind": "nope"}}, "no judge of kind 'nope'"),
        (Groundedness, {"generator": {"kind": "llm_chat"}}, "no generator of kind 'llm_chat'"),
        (Groundedness, {"generator": {"kind": []}}, "not a text"),
    ],
)
def test_what_is_refused_when_it_is_built(cls, fields, words):
    with pytest.raises(ValidationError, match=words):
        cls(**fields)


# ------------------------------------------------------------------ judges are kept


@pytest.mark.parametrize("field", ["judge", "generator"])
def test_objects_are_kept_and_refused_only_when_they_are_saved(field):
    model = Model()
    check = Conformity(rule="r", **{field: model})

    assert getattr(check, field) is model
    assert check.model_dump()[field] is model
    assert Check.model_validate(check.model_dump()) == check
    for whole in (check, Not(check=check), Scenario("s").check(check)):
        with pytest.raises(ValueError, match=rf"(?s){field}=.*Model.*cannot be saved.*BaseGenerator"):
            whole.model_dump_json()


def test_a_model_of_pydantic_that_is_of_no_family_cannot_be_saved():
    class Foreign(BaseModel):
        model: str = "m"

        async def complete(self, messages, params=None, metadata=None): ...

    check = Conformity(rule="r", judge=Foreign())
    assert isinstance(check.judge, Foreign)
    with pytest.raises(ValueError, match="cannot be saved"):
        check.model_dump_json()


def test_families_of_their_own():
    assert BaseJudge.model_validate({"kind": "test_judges_judge"}) == SavedJudge()
    assert BaseGenerator.model_validate({"kind": "test_judges_generator", "model": "x"}) == SavedModel(model="x")
    loaded = BaseJudge.model_validate_json(LLMChatJudge(generator="openai/gpt-5-mini").model_dump_json())
    assert loaded == LLMChatJudge(generator="openai/gpt-5-mini")
    with pytest.raises(ValidationError, match="no judge of kind 'lm_chat'; did you mean 'llm_chat'"):
        BaseJudge.model_validate({"kind": "lm_chat"})


def test_a_chat_judge_asks_its_generator():
    model = Model()

    completion = asyncio.run(LLMChatJudge(generator=model).complete(["hi"], metadata={"k": 1}))
    assert completion.text == "completion"
    assert model.asked == [(["hi"], None, {"k": 1})]
    with pytest.raises(NotImplementedError, match="SavedJudge"):
        asyncio.run(SavedJudge().complete([]))
    with pytest.raises(NotImplementedError, match="SavedModel"):
        asyncio.run(SavedModel().complete([]))


# ------------------------------------------------------------------ running them


@pytest.mark.parametrize("check", [check for check in ALL if check.name != "polite"], ids=repr)
@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ('{"reason": "fine", "passed": true}', "pass"),
        ('{"reason": "bad", "passed": false}', "fail"),
        ('{"reason": "hard to say", "passed": null}', "error"),
        ("I think it is fine.", "error"),
        (None, "error"),
        (RuntimeError("down"), "error"),
    ],
)
def test_the_states(check, reply, status):
    llm = FakeGenerator(reply)
    check = check.model_copy(update={"judge": llm, "generator": None})
    trace = T(context="c")

    result = run(check, trace)
    inverted = run(Not(check=check), trace)

    assert result.status == status
    assert inverted.status == {"pass": "fail", "fail": "pass", "error": "error"}[status]
    assert check.severity == "warning" or run(AllOf(checks=[check]), trace).status == status
    assert llm.params[0].response_format is LLMCheckResult


def test_a_file_that_is_not_there_is_an_error_when_the_check_runs():
    result = run(LLMJudge(prompt_path="my_app::judges/polite.txt", judge=FakeGenerator("x")), T())

    assert result.errored and result.error_kind == "config"
    assert "'my_app' is no package" in result.message


def test_without_a_judge_it_is_an_error_that_says_how_to_give_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "GISKARD_CHECKS_DEFAULT")):
            monkeypatch.delenv(name)

    result = run(Groundedness(name="g"), T(context="c"))

    assert result.errored and result.error_kind == "config"
    assert "'g'" in result.message and "set_default_judge" in result.message


def test_in_a_test_case_it_is_an_error_beside_the_other_results():
    check = Groundedness(name="g", judge=FakeGenerator("no verdict"))
    result = asyncio.run(TestCase(trace=T(context="c"), checks=[check]).run())

    assert result.errored and not result.failed
    assert result.results[0].details["check_kind"] == "groundedness"
    assert (
        "g" in result.format_failures()[0] if isinstance(result.format_failures(), list) else result.format_failures()
    )


@pytest.mark.parametrize(
    ("check", "trace", "named"),
    [
        (Groundedness(), Trace(), "trace.last.outputs"),
        (Groundedness(), T(None, context="c"), "no answer.*trace.last.outputs"),
        (Groundedness(), T("  "), "no answer"),
        (Groundedness(), T("a"), "trace.last.metadata.context"),
        (Groundedness(), T("a", context=""), "no context.*trace.last.metadata.context"),
        (Groundedness(), T("a", context=[]), "no context"),
        (Groundedness(), T("a", context=None), "no context"),
        (Groundedness(), T("a", context=["", " "]), "no context"),
        (Groundedness(), T("a", context={}), "no context"),
        (Groundedness(answer=""), T("a", context="c"), "no answer.*answer="),
        (Groundedness(context=[]), T("a", context="c"), "no context.*context="),
        (Groundedness(answer="a"), T("", context=""), "no context"),
        (Contradiction(), T("", context=""), "no answer"),
        (Contradiction(context_key="trace.annotations.kb"), T("a"), "trace.annotations.kb"),
        (AnswerRelevance(), T("", ""), "no question.*trace.last.inputs"),
        (AnswerRelevance(), T("", "q"), "no answer"),
        (AnswerRelevance(context_key="trace.last.metadata.x"), T("", ""), "no question"),
        (AnswerRelevance(context_key="trace.last.metadata.x"), T(), "trace.last.metadata.x"),
        (AnswerRelevance(question="q"), Trace(), "trace.last.outputs"),
        (Toxicity(), T(b" "), "no output"),
        (Toxicity(target_key="trace.interactions[*].outputs"), Trace(), "trace.interactions"),
        (Conformity(rule="r"), Trace(), "no interactions"),
        (Conformity(rule="r", key="trace.last.outputs.x"), T(), "trace.last.outputs.x"),
        (Conformity(rule="r", key="trace.last.outputs"), T(""), "no target"),
    ],
)
def test_what_is_missing_is_an_error_before_anything_else(check, trace, named):
    result = run(check, trace)

    assert result.errored
    assert result.error_kind == "missing_value"
    assert result.message is not None
    assert __import__("re").search(named, result.message), result.message
    assert run(Not(check=check), trace).errored


@pytest.mark.parametrize(
    ("check", "inputs"),
    [
        (LLMJudge(prompt="p"), {}),
        (Conformity(rule="{{ r }}"), {"rule": "{{ r }}"}),
        (Conformity(rule="r", key="trace.last.outputs"), {"rule": "r", "target": {"text": "a"}}),
        (Groundedness(), {"answer": {"text": "a"}, "context": ["c"]}),
        (Groundedness(answer="x", context="y"), {"answer": "x", "context": "y"}),
        (Groundedness(answer="x", answer_key="trace.last.nope"), {"answer": "x", "context": ["c"]}),
        (Contradiction(), {"answer": {"text": "a"}, "context": ["c"]}),
        (AnswerRelevance(), {"question": 0, "answer": {"text": "a"}, "include_history": True}),
        (
            AnswerRelevance(context="c", question="q", include_history=False),
            {"question": "q", "answer": {"text": "a"}, "include_history": False, "context": "c"},
        ),
        (
            AnswerRelevance(context_key="trace.last.metadata.context"),
            {"question": 0, "answer": {"text": "a"}, "include_history": True, "context": ["c"]},
        ),
        (Toxicity(categories=["threats"]), {"output": {"text": "a"}, "categories": ["threats"]}),
    ],
)
def test_what_a_judge_is_shown(check, inputs):
    assert asyncio.run(check.get_inputs(T({"text": "a"}, 0, context=["c"]))) == inputs


# ------------------------------------------------------------------ one's own


class Own(BaseLLMCheck):
    def get_prompt(self):
        return "Is {{ answer }} short?"

    async def get_inputs(self, trace):
        return {"answer": trace.last.outputs}


def test_the_hooks_of_a_check_of_ones_own():
    check = Own(name="own")
    trace = T()

    assert check.output_type is LLMCheckResult
    inputs = {"answer": "a", "trace": trace}
    passed = check._handle_output(LLMCheckResult(passed=True, reason="fine"), inputs, trace)
    failed = check._handle_output(LLMCheckResult(passed=False), inputs, trace)
    assert passed.passed and passed.message == "fine"
    assert passed.details == {"reason": "fine", "inputs": {"answer": "a"}}
    assert failed.failed and failed.message is None
    with pytest.raises(Exception, match="the judge cannot tell"):
        check._handle_output(LLMCheckResult(passed=None), inputs, trace)
    with pytest.raises(Exception, match="no verdict: passed is 'yes'"):
        check._handle_output(SimpleNamespace(passed="yes"), inputs, trace)
    with pytest.raises(NotImplementedError, match="BaseLLMCheck does not implement get_prompt"):
        BaseLLMCheck().get_prompt()
    assert asyncio.run(BaseLLMCheck().get_inputs(trace)) == {}


def test_a_crash_in_a_hook_comes_out():
    class Crashing(Own):
        async def get_inputs(self, trace):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(Crashing(), T())


def test_prompts():
    assert LLMJudge(prompt=" p ").get_prompt() == " p "
    with pytest.raises(ValueError, match="'a' is no package"):
        LLMJudge(prompt_path="a::b").get_prompt()


@pytest.mark.parametrize("passed", ["true", 1, "yes"])
def test_a_verdict_is_true_or_false(passed):
    with pytest.raises(ValidationError):
        LLMCheckResult(passed=passed, reason="r")


def test_the_folder_hands_out_its_names():
    assert all(getattr(judges, name) for name in judges.__all__)
