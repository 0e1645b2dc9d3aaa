"""Writes src/api/schema.ts, the TypeScript types of the OpenAPI document: `make reference`.

Every schema becomes one exported type under its public name, and no other file renames it.
The pages import these types, so that an answer that changed breaks the build and not the page.
A test fails when the file is behind the API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from foliot.app.http import create_app
from foliot.commands.use_cases import UseCases

SCHEMA = Path(__file__).resolve().parent / "src" / "api" / "schema.ts"

HEAD = """/* Written by `make reference` from the API's description. Do not edit. */
"""

PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def schema() -> str:
    """The whole file."""
    return Types(create_app(cast("UseCases", None)).openapi()).file()


class Types:
    """The TypeScript types of one OpenAPI document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.schemas: Mapping[str, Any] = document["components"]["schemas"]
        operations = [operation for path in document["paths"].values() for operation in path.values()]
        self.requested = self._reachable([operation.get("requestBody") for operation in operations])
        self.answered = self._reachable([operation.get("responses") for operation in operations])

    def file(self) -> str:
        return HEAD + "".join(f"\n{self._declaration(name)}" for name in sorted(self.schemas))

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
