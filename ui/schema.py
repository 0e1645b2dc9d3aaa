"""Writes src/api/schema.ts, the shapes of all answers and requests, from the API's own description: `make reference`.

The pages use these shapes (`src/api/calls.ts`), so that an answer that changed breaks the build and not the page.
A test sees to it that this file is never behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from foliot.doors.rest import create_app
from foliot.usecases import UseCases

SCHEMA = Path(__file__).resolve().parent / "src" / "api" / "schema.ts"

HEAD = """/* Written by `make reference` from the API's description. Do not edit. */
"""

PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def schema() -> str:
    """The whole file."""
    described = create_app(cast("UseCases", None)).openapi()["components"]["schemas"]
    return HEAD + "".join(f"\n{_declared(name, described[name])}" for name in sorted(described))


def _declared(name: str, shape: Mapping[str, Any]) -> str:
    if shape.get("type") == "object" and "properties" in shape:
        return f"export interface {name} {_fields(shape)}\n"
    return f"export type {name} = {_type(shape)};\n"


def _fields(shape: Mapping[str, Any]) -> str:
    needed = set(shape.get("required", ()))
    lines = [
        f"  {name}{'' if name in needed else '?'}: {_type(field)};\n" for name, field in shape["properties"].items()
    ]
    if shape.get("additionalProperties") is True:
        lines.append("  [more: string]: unknown;\n")
    return f"{{\n{''.join(lines)}}}"


def _type(shape: Mapping[str, Any]) -> str:
    if "$ref" in shape:
        return str(shape["$ref"]).rsplit("/", 1)[-1]
    if "const" in shape or "enum" in shape:
        return " | ".join(json.dumps(one) for one in shape.get("enum", [shape.get("const")]))
    if "anyOf" in shape:
        return " | ".join(dict.fromkeys(_type(one) for one in shape["anyOf"]))
    match shape.get("type"):
        case "array":
            return _list(shape)
        case "object":
            return _fields(shape).replace("\n", " ") if "properties" in shape else _mapping(shape)
        case known:
            return PLAIN.get(str(known), "unknown")


def _list(shape: Mapping[str, Any]) -> str:
    if "prefixItems" in shape:
        return f"[{', '.join(_type(one) for one in shape['prefixItems'])}]"
    return f"({_type(shape.get('items', {}))})[]"


def _mapping(shape: Mapping[str, Any]) -> str:
    values = shape.get("additionalProperties")
    value = _type(values) if isinstance(values, Mapping) else "unknown"
    # Of a closed list of names not every one is there.
    names = shape.get("propertyNames")
    return f"Partial<Record<{_type(names)}, {value}>>" if names else f"Record<string, {value}>"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
