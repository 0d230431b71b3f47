"""What the columns of a table hold: as they were named by whoever loads it, else guessed from their names."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from giskard.checks.core.exceptions import ConfigurationError
from giskard.checks.core.models import did_you_mean
from giskard.checks.importers.base import BadRecord
from giskard.checks.utils.text import cut

__all__ = ["ROLES", "Columns", "find_columns", "known_names", "names_in", "words_of"]

# What `columns={...}` may name, and what it says in an error.
ROLES: Final = {
    "input": "what the user said",
    "output": "what was answered",
    "messages": "a whole conversation",
    "role": "who speaks, where each row is a message",
    "content": "what is said, where each row is a message",
    "system": "the system prompt",
    "conversation": "the id of the conversation that the row belongs to",
    "turn": "its place in that conversation",
    "context": "what was retrieved for the answer",
    "expected": "the answer that is hoped for",
    "label": "what people said of the answer",
    "metadata": "what else is kept; everything by default",
}
_SEVERAL: Final = frozenset({"context", "label", "metadata"})

# For each role the names that speak for it, the surest first: a name of a later line is taken when there is none of an
# earlier one.  Two names of one line leave it open, and for what was said and answered, that is an error.
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "input": (
        "input inputs user_input",
        "question query prompt instruction user_message user_query user_question user_prompt customer_message "
        "human_message request",
        "user human customer message utterance",
    ),
    "output": (
        "output outputs actual_output model_output",
        "answer response completion reply generation prediction generated_text generated_answer actual_answer "
        "final_answer model_answer predicted_answer output_text "
        "model_response agent_response assistant_response bot_response llm_response ai_response chatbot_response "
        "llm_output agent_output assistant_message agent_message bot_message agent_reply bot_reply",
        "assistant agent bot chatbot ai model_text",
    ),
    "messages": ("messages conversations transcript", "conversation dialog dialogue chat chat_history traj trajectory"),
    "role": ("role speaker author sender",),
    "content": ("content text message utterance",),
    "system": ("system_prompt system system_message instructions",),
    "conversation": (
        "conversation_id conversation_uuid conv_id",
        "session_id thread_id dialog_id dialogue_id chat_id",
        "conversation session thread dialog dialogue",
    ),
    "turn": ("turn turn_id turn_number turn_index turn_no turn_idx", "message_index position step sequence"),
    "context": (
        "context contexts",
        "retrieved_docs retrieved_documents retrieved_contexts retrieved_context retrieval_context retrieved documents "
        "docs passages chunks source_documents",
    ),
    "expected": (
        "expected expected_output expected_answer expected_response",
        "reference reference_answer ground_truth groundtruth ground_truths gold gold_answer golden_answer ideal "
        "ideal_answer correct_answer target",
    ),
}
_TIERS: Final = {role: tuple(tier.split() for tier in tiers) for role, tiers in _NAMES.items()}
# Those of which a column is called may be many: two people label one answer.
_LABELS: Final = re.compile(
    r"(.+_)?(label|labels|rating|annotation|verdict)(_\d+)?|(human_|user_)?(score|feedback|grade)"
)
_JUDGES: Final = re.compile(r"(judge|llm|model|gpt\d*|auto|predicted)_.*")

# Of the columns that errors list.
_MOST_NAMES: Final = 15
_LONGEST_NAME: Final = 60

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN: Final = re.compile(r"[\W_]+")

HoldsTalk = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Columns:
    """The column of each role, by its name; see `ROLES`.  ``metadata`` holds all the others that are kept."""

    input: str | None = None
    output: str | None = None
    messages: str | None = None
    role: str | None = None
    content: str | None = None
    system: str | None = None
    conversation: str | None = None
    turn: str | None = None
    context: tuple[str, ...] = ()
    expected: str | None = None
    label: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()


@functools.lru_cache(maxsize=4096)
def words_of(name: str) -> str:
    """A name in lower case, its words joined by underscores: ``actualOutput`` and ``Actual Output`` are one."""
    return "_".join(word for word in _BETWEEN.split(_CAMEL.sub("_", name)) if word).lower()


def known_names(names: Sequence[str], wanted: Mapping[str, Any]) -> int:
    """How many of `names` are named in ``columns=``, or speak for a role: they tell a header that was cut rightly."""
    asked = names_in(wanted)
    spoken = {name for tiers in _TIERS.values() for tier in tiers for name in tier}
    return sum(name in asked or (words := words_of(name)) in spoken or bool(_LABELS.fullmatch(words)) for name in names)


def names_in(wanted: Mapping[str, Any]) -> set[str]:
    """The columns that whoever loads a table named."""
    return {name for value in wanted.values() for name in _as_names(value)}


def find_columns(names: Sequence[str], wanted: Mapping[str, Any], holds_talk: HoldsTalk) -> Columns:
    """The columns of a table.

    Parameters
    ----------
    names
        Of all its columns.
    wanted
        What whoever loads it said: for each role a name, or a list of names; None for a role that none has.
    holds_talk
        Whether the cells of a column are whole conversations.

    Raises
    ------
    ConfigurationError
        When `wanted` names a role or a column that there is not.
    BadRecord
        When it is not clear which columns hold what was said.
    """
    given = _given(names, wanted)
    free = [name for name in names if not any(name in columns for columns in given.values())]
    guess = _Guess(free, holds_talk)
    found = dict(given)
    _find_talk(found, guess, names)
    for role in ("system", "conversation", "turn", "context", "expected"):
        if role not in found and (role != "turn" or found["conversation"]):
            found[role] = guess.first(role)
    if "label" not in found:
        found["label"] = guess.labels()
    if "metadata" not in found:
        found["metadata"] = tuple(guess.free)
    made: dict[str, Any] = {
        role: found.get(role, ()) if role in _SEVERAL else (found.get(role) or (None,))[0] for role in ROLES
    }
    return Columns(**made)


def _find_talk(found: dict[str, tuple[str, ...]], guess: _Guess, names: Sequence[str]) -> None:
    """Find what was said: whole conversations, or questions and answers, or one message a row."""
    # Whoever names the columns of the talk in one way does not want it guessed in another.
    by_turn, by_message = {"input", "output"} & found.keys(), found.get("role") or found.get("content")
    if "messages" not in found and not by_turn and not by_message:
        found["messages"] = guess.messages()
    if found.get("messages"):
        if "output" not in found:
            found["output"] = guess.one("output", names, needed=False)
        return
    if by_message or (not by_turn and not {"role", "content"} & found.keys() and guess.could_be_messages()):
        for role in ("role", "content"):
            found[role] = found.get(role) or guess.one(role, names)
        return
    for role in ("input", "output"):
        if role not in found:  # the questions alone may be wanted, but then that must be said
            found[role] = guess.one(role, names, needed="input" not in by_turn)
    if not found["input"] and not found["output"]:
        raise _unsure("no column holds what was said", names)


class _Guess:
    """The columns that speak for a role by their names; those that were taken speak for no other."""

    def __init__(self, free: list[str], holds_talk: HoldsTalk) -> None:
        self.free = free
        self._words = {name: words_of(name) for name in free}
        self._holds_talk = holds_talk

    def could(self, role: str) -> bool:
        return any(self._in_tier(tier) for tier in _TIERS[role])

    def could_be_messages(self) -> bool:
        """Whether each row seems to be a message."""
        return self.could("role") and self.could("content") and not self.could("output")

    def first(self, role: str) -> tuple[str, ...]:
        """The column that speaks for a role the loudest."""
        for tier in _TIERS[role]:
            for name in tier:
                for column in self._in_tier([name]):
                    return self._take(column)
        return ()

    def one(self, role: str, names: Sequence[str], needed: bool = True) -> tuple[str, ...]:
        """The only column that speaks for a role."""
        for tier in _TIERS[role]:
            columns = self._in_tier(tier)
            if len(columns) == 1:
                return self._take(columns[0])
            if columns:
                listed = " and ".join(map(repr, columns))
                raise _unsure(f"{listed} may each hold {ROLES[role]}", names)
        if needed:
            raise _unsure(f"no column seems to hold {ROLES[role]}", names)
        return ()

    def messages(self) -> tuple[str, ...]:
        """The column of whole conversations: called so, or the only one that holds some where none holds questions."""
        for tier in _TIERS["messages"]:
            for column in self._in_tier(tier):
                if self._holds_talk(column):
                    return self._take(column)
        if self.could("input") or self.could("output"):
            return ()
        talks = [column for column in self.free if self._holds_talk(column)]
        return self._take(talks[0]) if len(talks) == 1 else ()

    def labels(self) -> tuple[str, ...]:
        """The columns that hold what people said of an answer, and not what a judge did."""
        columns = [
            name
            for name in self.free
            if _LABELS.fullmatch(self._words[name]) and not _JUDGES.fullmatch(self._words[name])
        ]
        for column in columns:
            self._take(column)
        return tuple(columns)

    def _in_tier(self, tier: Sequence[str]) -> list[str]:
        return [name for name in self.free if self._words[name] in tier]

    def _take(self, column: str) -> tuple[str, ...]:
        self.free.remove(column)
        return (column,)


def _given(names: Sequence[str], wanted: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What was said of the columns, which are there."""
    given: dict[str, tuple[str, ...]] = {}
    for role, value in wanted.items():
        if role not in ROLES:
            known = ", ".join(ROLES)
            raise ConfigurationError(f"columns has no role {role!r}{did_you_mean(role, ROLES)}; the roles are: {known}")
        columns = _as_names(value)
        if len(columns) > 1 and role not in _SEVERAL:
            raise ConfigurationError(f"columns[{role!r}] is {value!r}: give the name of one column")
        if not columns and value is not None and role not in _SEVERAL:
            raise ConfigurationError(f"columns[{role!r}] is {value!r}: give the name of a column, or None")
        for column in columns:
            if column not in names:
                raise ConfigurationError(
                    f"columns[{role!r}] is {column!r}, and there is no such column{did_you_mean(column, names)}; "
                    f"the columns are: {listed(names)}"
                )
        given[role] = columns
    return given


def _as_names(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple | set | frozenset):
        items = cast("Sequence[Any]", value)
        if all(isinstance(item, str) for item in items):
            return tuple(items)
    raise ConfigurationError(f"columns holds {value!r}: give the name of a column, or a list of names")


def listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(cut(name, _LONGEST_NAME)) for name in names[:_MOST_NAMES])
    return f"{shown} and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else shown


def _unsure(why: str, names: Sequence[str]) -> BadRecord:
    say = "columns={'input': ..., 'output': ...}, or columns={'messages': ...} for whole conversations"
    return BadRecord(f"{why}; say which columns to read with {say}. The columns are: {listed(names)}")
