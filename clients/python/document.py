"""The OpenAPI document as the client's generated modules need it."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

JSON = "application/json"
HEAD = '''"""{}

Written by `make reference` from the API's description. Do not edit.
"""

from __future__ import annotations
'''
LEFT_OUT = {"jobs.list_at_slash": "the same as jobs.list"}
"""Operations without a method, each with its reason."""
NAMES = {
    "api_keys.revoke": "api_keys.delete",
    "crawls.create": "crawls.start",
    "dead_letters.by_error": "dead_letters.list",
    "schedules.patch": "schedules.update",
}
"""Methods with another name than their operation; each `change` is an `update` as well."""
LISTS = {"items", "jobs", "results"}
"""Fields that hold the items of a page."""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Document:
    """The OpenAPI document, as the client needs it."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.version = str(document["info"]["version"])
        self.schemas: Mapping[str, Any] = document["components"]["schemas"]
        self.operations = [
            Described(self, method, path, operation)
            for path, methods in sorted(document["paths"].items())
            for method, operation in sorted(methods.items())
            if operation["operationId"] not in LEFT_OUT
        ]
        self.requested = self._reachable([one.operation.get("requestBody") for one in self.operations])
        self.answered = self._reachable([one.operation.get("responses") for one in self.operations])

    def _reachable(self, roots: object) -> set[str]:
        reached: set[str] = set()
        pending = [*references(roots)]
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending.extend(references(self.schemas[name]))
        return reached

    def required(self, name: str, *, request: bool) -> set[str]:
        """The fields that are always present: an answer fills in what has a default."""
        shape = self.schemas[name]
        always = set(shape.get("required", ()))
        if not request and name in self.requested:
            always |= {
                field for field, value in shape.get("properties", {}).items() if value.get("default") is not None
            }
        return always

    def differs(self, name: str) -> bool:
        """Whether requests may leave out what answers always have."""
        both = name in self.requested and name in self.answered
        return both and self.required(name, request=True) != self.required(name, request=False)

    def type_of(self, shape: Mapping[str, Any], *, request: bool, prefix: str = "") -> str:
        if "$ref" in shape:
            name = name_of(shape)
            return f"{prefix}{name}Input" if request and self.differs(name) else f"{prefix}{name}"
        if "const" in shape or "enum" in shape:
            return f"Literal[{', '.join(map(quoted, shape.get('enum', [shape.get('const')])))}]"
        if "anyOf" in shape:
            choices = dict.fromkeys(self.type_of(one, request=request, prefix=prefix) for one in shape["anyOf"])
            return " | ".join(sorted(choices, key=lambda one: one == "None"))
        return self._unnamed(shape, request=request, prefix=prefix)

    def _unnamed(self, shape: Mapping[str, Any], *, request: bool, prefix: str) -> str:
        match shape.get("type"):
            case "array":
                item = self.type_of(shape.get("items", {}), request=request, prefix=prefix)
                return f"Sequence[{item}]" if request else f"list[{item}]"
            case "object":
                values = shape.get("additionalProperties")
                value = self.type_of(values, request=request, prefix=prefix) if isinstance(values, Mapping) else "Any"
                return f"Mapping[str, {value}]" if request else f"dict[str, {value}]"
            case "string" if request and shape.get("format") == "date-time":
                return f"{prefix}Time"
            case known:
                return PLAIN.get(str(known), "Any")


@dataclass(frozen=True)
class Described:
    """One operation of the document."""

    document: Document
    verb: str
    path: str
    operation: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.operation["operationId"])

    @property
    def method(self) -> str:
        """Group and method of the client: `schedules.update`."""
        return NAMES.get(self.name, re.sub(r"\.change$", ".update", self.name))

    @property
    def summary(self) -> str:
        return str(self.operation.get("summary", self.name)).rstrip(".")

    @cached_property
    def success(self) -> dict[str, Mapping[str, Any]]:
        """Content of each successful status."""
        responses = self.operation["responses"]
        return {status: known.get("content") or {} for status, known in responses.items() if status.startswith("2")}

    @property
    def media(self) -> set[str]:
        return {media for content in self.success.values() for media in content}

    @property
    def keyed(self) -> bool:
        return any(parameter["name"] == "Idempotency-Key" for parameter in self.parameters("header"))

    @property
    def conditional(self) -> bool:
        return any(parameter["name"] == "if-match" for parameter in self.parameters("header"))

    def parameters(self, place: str) -> list[Mapping[str, Any]]:
        return [parameter for parameter in self.operation.get("parameters", ()) if parameter["in"] == place]

    @property
    def segments(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    @cached_property
    def body(self) -> str | None:
        """The name of the body's schema."""
        body = self.operation.get("requestBody")
        return None if body is None else name_of(body["content"][JSON]["schema"])

    @property
    def dry(self) -> bool:
        """Whether the body may ask for a dry run, which 200 answers; 202 answers that the work has begun."""
        fields = self.document.schemas[self.body].get("properties", {}) if self.body else {}
        return "dry_run" in fields and {"200", "202"} <= self.success.keys()

    def answer(self, status: str | None = None) -> str:
        """The type of the JSON that success answers."""
        types = [
            self.document.type_of(content[JSON]["schema"], request=False, prefix="t.") if JSON in content else "None"
            for known, content in self.success.items()
            if status in (None, known)
        ]
        return " | ".join(dict.fromkeys(types))

    @cached_property
    def paged(self) -> tuple[str, str, str] | None:
        """The field of the items, their type, and the parameter that continues; None when the answer is no page."""
        query = {parameter["name"] for parameter in self.parameters("query")}
        shapes = [
            self.document.schemas[name]
            for content in self.success.values()
            if JSON in content
            for name in references(content[JSON]["schema"])
        ]
        lists = [
            field for shape in shapes for field in shape.get("properties", {}) if field in {"items", "jobs", "results"}
        ]
        if query & {"cursor", "after"} and all("next_cursor" in shape.get("properties", {}) for shape in shapes):
            return "items", self._item_type(shapes[0], "items"), "cursor" if "cursor" in query else "after"
        if "skip" in query:
            return " ".join(lists), self._item_type(shapes[0], lists[0]), "skip"
        return None

    def _item_type(self, shape: Mapping[str, Any], field: str) -> str:
        return self.document.type_of(shape["properties"][field]["items"], request=False, prefix="t.")


def safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def title_of(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def line_of(text: str, indent: str) -> str:
    return f"{indent}{docstring(text)}\n" if text else ""


def docstring(text: str) -> str:
    """A docstring; one that ends with a quotation mark would not end."""
    line = " ".join(text.split()).replace("\\", "\\\\").replace('"', "'").rstrip(".")
    return f'"""{line}."""'


def name_of(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rsplit("/", 1)[-1]


def references(part: object) -> Iterator[str]:
    """The names of the schemas that a part of the document refers to."""
    if isinstance(part, Mapping):
        if "$ref" in part:
            yield name_of(part)
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)
