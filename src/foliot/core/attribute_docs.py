"""Attribute docstrings, read from the source when they are first needed; each module is parsed once.

Pydantic's own `use_attribute_docstrings` parses the whole module for each class in it, which was more than half of the
time that the first OpenAPI document took.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache


def attribute_docs(cls: type) -> Mapping[str, str]:
    """The docstring of each attribute, by name; a subclass overrides those of its bases."""
    return {
        name: words
        for each in reversed(cls.__mro__)
        for name, words in _docs_in(each.__module__).get(each.__qualname__, {}).items()
    }


@lru_cache
def _docs_in(module: str) -> Mapping[str, Mapping[str, str]]:
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
            case ast.expr():
                pass
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
