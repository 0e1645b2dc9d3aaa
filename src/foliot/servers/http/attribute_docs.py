"""Attribute docstrings of Pydantic models as descriptions in the JSON schema, read only when the schema is requested.

Pydantic's own `use_attribute_docstrings` reads and parses the source as each class is created: a good part of every
start, for text that most processes never show.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class DocumentedModel(BaseModel):
    """A model whose attribute docstrings become descriptions."""

    # Most models serve documentation only: the validator is built when the first body is validated.
    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        made = super().__get_pydantic_json_schema__(core_schema, handler)
        shown = handler.resolve_ref_schema(made).get("properties", {})
        for name, words in _said_of(cls).items():
            field = cls.model_fields.get(name)
            if field is not None and words and (schema := shown.get(field.alias or name)) is not None:
                schema.setdefault("description", words)
        return made


def _said_of(model: type[BaseModel]) -> Mapping[str, str]:
    """The docstring of each attribute, by name; a subclass overrides those of its bases."""
    return {
        name: words
        for each in reversed(model.__mro__)
        if issubclass(each, DocumentedModel)
        for name, words in _said_in(each.__module__).get(each.__qualname__, {}).items()
    }


@lru_cache
def _said_in(module: str) -> Mapping[str, Mapping[str, str]]:
    """The same for every class in a module; empty where its source is not available."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    return dict(_classes(tree, ""))


def _classes(node: ast.AST, within: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name, body=body):
                yield within + name, _attributes(body)
                yield from _classes(child, f"{within}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _classes(child, f"{within}{name}.<locals>.")
            case _:
                yield from _classes(child, within)


def _attributes(body: list[ast.stmt]) -> Mapping[str, str]:
    docs = {}
    for line, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(words))):
                    docs[line.target.id] = inspect.cleandoc(words)
                case _:
                    docs[line.target.id] = ""
    return docs
