"""Holds an answer against its declaration, which knows every field."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter


@cache
def _adapter(declaration: Any) -> TypeAdapter[Any]:
    return TypeAdapter(declaration)


def conforms(declaration: Any, answer: object) -> Any:
    """The answer as its declared type; a `ValidationError` where the two differ."""
    return _adapter(declaration).validate_python(answer)
