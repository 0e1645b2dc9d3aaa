"""Writes src/api/schema.ts, the TypeScript types of the OpenAPI document: `make reference`.

Every schema becomes one exported type under its public name, and no other file renames it.
`Operations` maps each method and path to its parameters, its body and its answer; the calls of src/api/client.ts take
their types from it, so that a wrong path, or an answer that changed, breaks the build and not the page.
A test fails when the file is behind the API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from foliot.app.http import create_app
from foliot.commands.envelope import UseCases

SCHEMA = Path(__file__).resolve().parent / "src" / "api" / "schema.ts"

HEAD = """/* Written by `make reference` from the API's description. Do not edit. */
"""

OPERATIONS = """/** What an operation takes and answers, by its method and path. */
"""

METHODS = ("get", "post", "put", "patch", "delete")
JSON = "application/json"

PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def schema() -> str:
    """The whole file."""
    return Types(create_app(cast("UseCases", None)).openapi()).file()


class Types:
    """The TypeScript types of one OpenAPI document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.schemas: Mapping[str, Any] = document["components"]["schemas"]
        self.paths: Mapping[str, Any] = document["paths"]
        operations = [operation for path in self.paths.values() for operation in path.values()]
        self.requested = self._reachable([operation.get("requestBody") for operation in operations])
        self.answered = self._reachable([operation.get("responses") for operation in operations])

    def file(self) -> str:
        declarations = "".join(f"\n{self._declaration(name)}" for name in sorted(self.schemas))
        return f"{HEAD}{declarations}\n{self._operations()}"

    def _operations(self) -> str:
        methods = "".join(f"  {method.upper()}: {{\n{self._operations_of(method)}  }};\n" for method in METHODS)
        return f"{OPERATIONS}export interface Operations {{\n{methods}}}\n"

    def _operations_of(self, method: str) -> str:
        operations = {path: known[method] for path, known in sorted(self.paths.items()) if method in known}
        return "".join(
            f"    /** {operation['operationId']} */\n    {json.dumps(path)}: {{ {self._operation(operation)} }};\n"
            for path, operation in operations.items()
        )

    def _operation(self, operation: Mapping[str, Any]) -> str:
        parts = [self._parameters(operation, "path"), self._parameters(operation, "query"), self._body(operation)]
        return " ".join(part for part in (*parts, *self._answers(operation)) if part)

    def _parameters(self, operation: Mapping[str, Any], where: str) -> str:
        """The parameters of the path as `params`, those of the query as `query`; headers are left to the caller."""
        parameters = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == where]
        if not parameters:
            return ""
        fields = " ".join(
            f"{json.dumps(parameter['name']) if not parameter['name'].isidentifier() else parameter['name']}"
            f"{'' if parameter.get('required') else '?'}: {self._type(parameter['schema'], request=True)};"
            for parameter in parameters
        )
        optional = "" if any(parameter.get("required") for parameter in parameters) else "?"
        return f"{'params' if where == 'path' else where}{optional}: {{ {fields} }};"

    def _body(self, operation: Mapping[str, Any]) -> str:
        body = operation.get("requestBody")
        if body is None:
            return ""
        shape = self._type(body["content"][JSON]["schema"], request=True)
        if self._has_dry_run(operation):
            shape = f'Omit<{shape}, "dry_run">'
        return f"body{'' if body.get('required') else '?'}: {shape};"

    def _answers(self, operation: Mapping[str, Any]) -> list[str]:
        """The JSON that success answers: `undefined` for 204, nothing for an operation that answers text alone."""
        answers = {
            status: self._type(content[JSON]["schema"], request=False) if JSON in content else "undefined"
            for status, response in operation["responses"].items()
            if status.startswith("2") and (JSON in (content := response.get("content") or {}) or status == "204")
        }
        if self._has_dry_run(operation):
            return [f"answer: {answers['202']};", f"dryRun: {answers['200']};"]
        return [f"answer: {' | '.join(dict.fromkeys(answers.values()))};"] if answers else []

    def _has_dry_run(self, operation: Mapping[str, Any]) -> bool:
        """Whether the body may ask for a dry run, which 200 answers; 202 answers that the work has begun."""
        names = _references(operation.get("requestBody"))
        return {"200", "202"} <= operation["responses"].keys() and any(
            "dry_run" in self.schemas[name].get("properties", {}) for name in names
        )

    def _reachable(self, roots: object) -> set[str]:
        """The schemas that these parts of the document refer to, directly or through others."""
        reached: set[str] = set()
        pending = [*_references(roots)]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending.extend(_references(self.schemas[name]))
        return reached

    def _declaration(self, name: str) -> str:
        shape = self.schemas[name]
        request = name in self.requested - self.answered
        if shape.get("type") == "object" and "properties" in shape:
            return f"export interface {name} {self._fields(shape, self._required(name), request=request)}\n"
        return f"export type {name} = {self._type(shape, request=request)};\n"

    def _required(self, name: str) -> set[str]:
        """The fields that are always present; answers fill in the defaults of a schema that requests use too."""
        shape = self.schemas[name]
        required = set(shape.get("required", ()))
        if name in self.requested & self.answered:
            required |= {
                name for name, field in shape.get("properties", {}).items() if field.get("default") is not None
            }
        return required

    def _fields(self, shape: Mapping[str, Any], required: set[str], *, request: bool) -> str:
        lines = [
            f"  {name}{'' if name in required else '?'}: {self._type(field, request=request)};\n"
            for name, field in shape["properties"].items()
        ]
        if shape.get("additionalProperties") is True:
            lines.append("  [more: string]: unknown;\n")
        return f"{{\n{''.join(lines)}}}"

    def _type(self, shape: Mapping[str, Any], *, request: bool) -> str:
        if "$ref" in shape:
            return self._reference(_name(shape), request=request)
        if "const" in shape or "enum" in shape:
            return " | ".join(json.dumps(value) for value in shape.get("enum", [shape.get("const")]))
        if "anyOf" in shape:
            return " | ".join(dict.fromkeys(self._type(choice, request=request) for choice in shape["anyOf"]))
        match shape.get("type"):
            case "array":
                return self._array(shape, request=request)
            case "object":
                return self._object(shape, request=request)
            case known:
                return PLAIN.get(str(known), "unknown")

    def _reference(self, name: str, *, request: bool) -> str:
        # A request may leave out what has a default.
        filled = self._required(name) - set(self.schemas[name].get("required", ()))
        return f"Partial<{name}>" if request and filled else name

    def _array(self, shape: Mapping[str, Any], *, request: bool) -> str:
        if "prefixItems" in shape:
            return f"[{', '.join(self._type(item, request=request) for item in shape['prefixItems'])}]"
        return f"({self._type(shape.get('items', {}), request=request)})[]"

    def _object(self, shape: Mapping[str, Any], *, request: bool) -> str:
        if "properties" in shape:
            return self._fields(shape, set(shape.get("required", ())), request=request).replace("\n", " ")
        values = shape.get("additionalProperties")
        value = self._type(values, request=request) if isinstance(values, Mapping) else "unknown"
        # Of a closed list of names not every one is present.
        names = shape.get("propertyNames")
        key = self._type(names, request=request) if names else "string"
        return f"Partial<Record<{key}, {value}>>" if names else f"Record<{key}, {value}>"


def _name(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rsplit("/", 1)[-1]


def _references(part: object) -> Iterator[str]:
    """The names of the schemas that a part of the document refers to."""
    if isinstance(part, Mapping):
        if "$ref" in part:
            yield _name(part)
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
