"""Holds an answer against its declaration, which knows every field."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter

from foliot.app.http import create_app
from foliot.commands.envelope import UseCases


@cache
def openapi() -> dict[str, Any]:
    """The OpenAPI document, made once per process; change only a copy of it."""
    return create_app(cast("UseCases", None)).openapi()


@cache
def _adapter(declaration: Any) -> TypeAdapter[Any]:
    return TypeAdapter(declaration)


def conforms(declaration: Any, answer: object) -> Any:
    """The answer as its declared type; a `ValidationError` where the two differ."""
    return _adapter(declaration).validate_python(answer)
