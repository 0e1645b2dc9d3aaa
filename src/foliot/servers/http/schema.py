"""What the schemas of all features use: problems, request bodies in OpenAPI, and common types of fields."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from foliot.core import declaration
from foliot.core.attribute_docs import attribute_docs
from foliot.core.declaration import declared

# Of typed dictionaries: a declared class reads its docstrings itself.
CLOSED = cast("ConfigDict", {**declaration.CLOSED, "use_attribute_docstrings": True})
OPEN = cast("ConfigDict", {**declaration.OPEN, "use_attribute_docstrings": True})


def fields_of(one: Any) -> dict[str, Any]:
    """The fields of a declared response, for one that extends it."""
    return {each.name: getattr(one, each.name) for each in fields(one)}


class RequestBody(dict[str, Any]):
    """The `openapi_extra` of a route that reads its body itself, with the type that describes the body."""

    def __init__(self, model: type[Any], *, required: bool) -> None:
        schema = {"$ref": f"#/components/schemas/{model.__name__}"}
        super().__init__(requestBody={"required": required, "content": {"application/json": {"schema": schema}}})
        self.model = model


def body(model: type[Any], *, required: bool = True) -> RequestBody:
    """The request body of a route, for OpenAPI."""
    return RequestBody(model, required=required)


Name = Annotated[str, Field(min_length=1, max_length=200)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=64)]], Field(max_length=20)]
Queue = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Priority = Annotated[int, Field(ge=1, le=10)]


@declared
class FieldError:
    """One broken rule."""

    field: str
    message: str
    got: Any = None
    position: tuple[int, int] | None = None
    """Where in the text: from, and up to."""
    suggestion: str | None = None
    """The text as it may have been meant."""


@declared
class Problem:
    """RFC 9457. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    cause: Literal["disk_full", "read_only", "disk_error", "busy", "away"] | None = None
    errors: list[FieldError] = field(default_factory=list)


def problem(status: int, description: str) -> dict[int | str, dict[str, Any]]:
    """A response that is a problem document, for OpenAPI."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: {"description": description, "content": {"application/problem+json": {"schema": schema}}}}


UNKNOWN = problem(404, "It does not exist, or you may not see it")
CONFLICT = problem(409, "Not possible in its current state")
MISMATCH = problem(412, "Changed in the meantime")
ALWAYS = {
    **problem(400, "The body is not JSON"),
    **problem(401, "No valid token or API key was sent"),
    **problem(403, "Permission denied"),
    **problem(413, "Request body too large"),
    **problem(422, "Invalid request"),
    **problem(429, "Your tenant has sent too many requests; `Retry-After` says when to try again"),
    **problem(503, "The database, or the keys that verify tokens, are unavailable"),
}


class DocumentedModel(BaseModel):
    """A model whose attribute docstrings become descriptions."""

    # Most models serve documentation only: the validator is built when the first body is validated.
    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        made = super().__get_pydantic_json_schema__(core_schema, handler)
        shown = handler.resolve_ref_schema(made).get("properties", {})
        for name, words in attribute_docs(cls).items():
            field = cls.model_fields.get(name)
            if field is not None and words and (schema := shown.get(field.alias or name)) is not None:
                schema.setdefault("description", words)
        return made
