"""Inputs that are made while a conversation goes on."""

from giskard.checks.generators.base import BaseLLMGenerator, LLMGenerator, LLMGeneratorOutput
from giskard.checks.generators.dataset import DatasetInputGenerator
from giskard.checks.generators.user import PERSONAS, UserSimulator

__all__ = [
    "PERSONAS",
    "BaseLLMGenerator",
    "DatasetInputGenerator",
    "LLMGenerator",
    "LLMGeneratorOutput",
    "UserSimulator",
]
