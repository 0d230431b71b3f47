"""The sentinel of "not given": pydantic's own, so that models leave it out of what they write."""

from __future__ import annotations

try:  # pydantic >= 2.14 has it at its root and warns about the older place
    from pydantic import MISSING  # pyright: ignore
except ImportError:  # pragma: no cover - depends on the pydantic installed
    from pydantic.experimental.missing_sentinel import MISSING  # pyright: ignore

__all__ = ["MISSING"]
