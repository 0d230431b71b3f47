"""What the columns of a table hold: said, or guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.importers._columns import ROLES, Columns, find_columns, words_of
from giskard.checks.importers.base import BadRecord


def find(*names, talk=(), **wanted):
    return find_columns(list(names), wanted, lambda name: name in talk)


# --- guessed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question", ["input", "Question", "PROMPT", "query", "user", "User Input", "userQuery", "inputs"]
)
@pytest.mark.parametrize(
    "answer", ["output", "Answer", "response", "completion", "actual_output", "actualOutput", "bot"]
)
def test_questions_and_answers_are_told_by_their_names(question, answer):
    columns = find("id", question, answer)

    assert (columns.input, columns.output, columns.metadata) == (question, answer, ("id",))


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("expected", "expected"),
        ("expected", "Expected Answer"),
        ("expected", "reference"),
        ("expected", "groundTruth"),
        ("expected", "ground_truth"),
        ("expected", "ideal"),
        ("conversation", "conversation_id"),
        ("conversation", "Session ID"),
        ("conversation", "threadId"),
        ("system", "system_prompt"),
    ],
)
def test_other_roles_are_told_by_their_names(role, name):
    assert getattr(find("question", "answer", name), role) == name


@pytest.mark.parametrize("name", ["context", "Contexts", "retrieved_docs", "retrievalContext"])
def test_context(name):
    assert find("question", "answer", name).context == (name,)


@pytest.mark.parametrize(
    "name", ["label", "human_label", "score", "rating", "Final Label", "annotation_2", "user_feedback", "verdict"]
)
def test_labels(name):
    assert find("question", "answer", name).label == (name,)


@pytest.mark.parametrize("name", ["judge_label", "llm_rating", "bleu_score", "labelled_by", "gpt4_verdict", "scores"])
def test_what_no_person_said_is_no_label(name):
    columns = find("question", "answer", name)

    assert columns.label == () and columns.metadata == (name,)


def test_several_people_label():
    columns = find("prompt", "completion", "annotation_1", "annotation_2", "final_label", "judge_gpt4")

    assert columns.label == ("annotation_1", "annotation_2", "final_label")
    assert columns.metadata == ("judge_gpt4",)


def test_a_turn_counts_only_within_a_conversation():
    assert find("conversation_id", "turn", "question", "answer").turn == "turn"
    alone = find("turn", "question", "answer")
    assert alone.turn is None and alone.metadata == ("turn",)


def test_surer_names_win():
    assert find("prompt", "input", "answer", "output").input == "input"
    assert find("prompt", "input", "answer", "output").output == "output"
    assert find("user", "question", "answer").input == "question"  # the other one is an id


def test_a_message_a_row():
    columns = find("conversation_id", "role", "content")

    assert (columns.role, columns.content, columns.input, columns.output) == ("role", "content", None, None)


def test_whole_conversations():
    assert find("id", "messages", talk=["messages"]).messages == "messages"
    assert find("id", "blob", talk=["blob"]).messages == "blob"
    assert find("id", "messages", "response", talk=["messages"]).output == "response"
    assert find("conversation", "label", talk=["conversation"]).messages == "conversation"


def test_a_conversation_may_be_an_id():
    columns = find("conversation", "question", "answer")

    assert (columns.messages, columns.conversation) == (None, "conversation")


# --- unsure ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["a", "b"], "no column seems to hold what the user said"),
        (["question", "b"], "no column seems to hold what was answered"),
        (["question", "answer", "response"], "'answer' and 'response' may each hold what was answered"),
        (["question", "Prompt", "answer"], "'question' and 'Prompt' may each hold what the user said"),
        (["blob", "blub"], "no column seems to hold what the user said"),
    ],
)
def test_unsure(names, why):
    with pytest.raises(BadRecord) as caught:
        find(*names, talk=["blob", "blub"])

    said = str(caught.value)
    assert why in said and "columns={'input': ..., 'output': ...}" in said
    assert all(repr(name) in said for name in names)


def test_what_is_said_settles_what_is_unsure():
    columns = find("question", "answer", "response", output="response")

    assert (columns.input, columns.output, columns.metadata) == ("question", "response", ("answer",))


def test_many_columns_are_not_all_listed():
    with pytest.raises(BadRecord, match="and 185 more"):
        find(*[f"c{n}" for n in range(200)])


# --- said --------------------------------------------------------------------------------


def test_said():
    columns = find(
        "a", "b", "c", "d", "e", "f", input="a", output="b", conversation="c", turn="d", label=["e"], metadata=["f"]
    )

    assert columns == Columns(input="a", output="b", conversation="c", turn="d", label=("e",), metadata=("f",))


def test_questions_alone_must_be_asked_for():
    assert find("q", "x", input="q").output is None
    assert find("q", "answer", input="q").output == "answer"
    assert find("q", "answer", input="q", output=None).output is None
    assert find("q", "answer", input="q", output=None).metadata == ("answer",)


def test_a_role_that_no_column_has():
    columns = find("question", "answer", "label", label=None)

    assert columns.label == () and columns.metadata == ("label",)


def test_metadata_says_what_else_is_kept():
    assert find("question", "answer", "x", "y", metadata=["y"]).metadata == ("y",)
    assert find("question", "answer", "x", "y", metadata="y").metadata == ("y",)
    assert find("question", "answer", "x", "y", metadata=[]).metadata == ()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"inputt": "a"}, "columns has no role 'inputt'; did you mean 'input'?"),
        ({"zzz": "a"}, "the roles are: input, output,"),
        ({"input": "questoin"}, "there is no such column; did you mean 'question'?"),
        ({"input": ["question", "answer"]}, "give the name of one column"),
        ({"input": []}, "give the name of a column, or None"),
        ({"input": 3}, "columns holds 3: give the name of a column"),
        ({"label": [3]}, "columns holds [3]: give the name of a column"),
    ],
)
def test_what_is_said_wrongly(wanted, said):
    with pytest.raises(ConfigurationError) as caught:
        find("question", "answer", **wanted)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("actualOutput", "actual_output"),
        ("Actual Output", "actual_output"),
        ("actual-output", "actual_output"),
        ("HTTPStatus", "http_status"),
        ("  Question ", "question"),
        ("latency (ms)", "latency_ms"),
        ("", ""),
    ],
)
def test_words(name, words):
    assert words_of(name) == words


@given(st.lists(st.text(max_size=12) | st.sampled_from(["input", "output", "label", "role", "turn"]), unique=True))
def test_no_column_is_lost_or_has_two_roles(names):
    try:
        columns = find(*names)
    except BadRecord:
        return
    found = [value for role in ROLES for value in _listed(getattr(columns, role))]
    assert sorted(found) == sorted(names)


def _listed(value):
    return value if isinstance(value, tuple) else [] if value is None else [value]
