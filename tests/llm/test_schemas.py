"""A model is shown what counts for it, and recordings do not depend on the words of a docstring."""

from enum import Enum

from pydantic import BaseModel, ConfigDict, Field

from giskard.checks.judges import LLMCheckResult
from giskard.checks.llm.schemas import schema_of, schema_text


class Colour(Enum):
    """For people."""

    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    """For people, too."""

    title: str
    description: int = Field(description="How many.")


class Answer(BaseModel):
    """A docstring."""

    model_config = ConfigDict(extra="forbid")

    parts: list[Part]
    colour: Colour = Colour.RED
    example: dict[str, str] = Field(default={"title": "kept"})


def test_titles_and_docstrings_are_left_out_and_nothing_else():
    assert schema_of(Answer) == {
        "$defs": {
            "Colour": {"enum": ["red", "blue"], "type": "string"},
            "Part": {
                "properties": {
                    "title": {"type": "string"},
                    "description": {"description": "How many.", "type": "integer"},
                },
                "required": ["title", "description"],
                "type": "object",
            },
        },
        "additionalProperties": False,
        "properties": {
            "parts": {"items": {"$ref": "#/$defs/Part"}, "type": "array"},
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
            "example": {"additionalProperties": {"type": "string"}, "default": {"title": "kept"}, "type": "object"},
        },
        "required": ["parts"],
        "type": "object",
    }


def test_it_is_made_once():
    assert schema_of(LLMCheckResult) is schema_of(LLMCheckResult)
    assert "Parameters" not in schema_text(LLMCheckResult)
