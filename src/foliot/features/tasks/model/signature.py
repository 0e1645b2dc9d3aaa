"""A function's parameters: read from its signature, validated by pydantic, published as JSON Schema."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError

from foliot.core.document import MOST_COMPLAINTS
from foliot.core.errors import Invalid, InvalidMany
from foliot.features.tasks.model.context import TaskContext

CONTEXT_NAME = "ctx"


@dataclass(frozen=True)
class Signature:
    """The parameters of one function."""

    function: Callable[..., Any]

    @cached_property
    def hints(self) -> dict[str, Any]:
        return typing.get_type_hints(inspect.unwrap(self.function), include_extras=True)

    @cached_property
    def all(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @cached_property
    def context(self) -> str | None:
        """The parameter that receives the context: the one annotated `TaskContext`, or an unannotated `ctx`."""
        for name, parameter in self.all.items():
            hint = self.hints.get(name)
            if hint is TaskContext or TaskContext in typing.get_args(hint):
                return name
            if name == CONTEXT_NAME and parameter.annotation is inspect.Parameter.empty:
                return name
        return None

    @cached_property
    def own(self) -> dict[str, inspect.Parameter]:
        """The parameters that a schedule gives values for."""
        return {name: parameter for name, parameter in self.all.items() if name != self.context}

    @cached_property
    def model(self) -> type[BaseModel]:
        """A pydantic model of them. Its fields have generated names: a parameter's may be one of BaseModel's."""
        fields: dict[str, Any] = {}
        extra: typing.Literal["allow", "forbid"] = "forbid"
        for at, (name, parameter) in enumerate(self.own.items()):
            if parameter.kind is parameter.VAR_KEYWORD:
                extra = "allow"
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise TypeError(f"{parameter} cannot be given by name, as every parameter of a task is")
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[f"p{at}"] = (self.hints.get(name, Any), Field(default, alias=name, title=name))
        model: type[BaseModel] = create_model(
            "Parameters",
            __config__=ConfigDict(extra=extra, arbitrary_types_allowed=False, validate_default=False),
            **fields,
        )
        return model

    def check(self) -> None:
        """`TypeError` when the function cannot be a task."""
        try:
            self.schema()
        except (PydanticUserError, NameError) as wrong:
            raise TypeError(f"its parameters cannot be read: {str(wrong).splitlines()[0]}") from None

    def schema(self) -> dict[str, Any]:
        """The parameters as JSON Schema."""
        schema = self.model.model_json_schema(mode="validation")
        schema.pop("title", None)
        return schema

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments to call it with; `Invalid` names each parameter that breaks a rule."""
        try:
            read = self.model.model_validate(dict(given))
        except ValidationError as wrong:
            raise _complaint(wrong, sorted(self.own)) from None
        values = {field.alias or name: getattr(read, name) for name, field in type(read).model_fields.items()}
        # An omitted parameter keeps the function's own default, the same object.
        left_out = {field.alias or name for name, field in type(read).model_fields.items()} - set(given)
        return {name: value for name, value in values.items() if name not in left_out} | dict(read.model_extra or {})


def _complaint(wrong: ValidationError, known: list[str]) -> Invalid:
    listed = f"known are {', '.join(known)}" if known else "this task takes none"
    return InvalidMany(
        Invalid(
            ".".join(str(part) for part in one["loc"])[:200],
            f"is not a parameter of this task; {listed}" if one["type"] == "extra_forbidden" else _said(one["msg"]),
            got=None if one["type"] == "missing" else _shown(one["input"]),
        )
        for one in wrong.errors(include_url=False, include_context=False)[:MOST_COMPLAINTS]
    )


def _said(message: str) -> str:
    """Pydantic's message, rephrased to follow the name of the field."""
    return "is required" if message == "Field required" else message[:1].lower() + message[1:]


def _shown(got: object) -> object:
    return got if isinstance(got, bool | int | float | None) else str(got)[:100]
