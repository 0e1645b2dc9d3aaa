"""Reads values from the text of a Python file without running it: literals, constants and calls of constructors."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.features.imports.model.imported import UnknownTerm, UnreadableSource


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call as it is written, with its arguments read."""

    name: str
    """The last part of what is called: `crontab` of `celery.schedules.crontab(…)`."""
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class PythonName:
    """A name or attribute that is no constant of the file: `jobs.sync`."""

    dotted: str


@dataclass(slots=True)
class PythonSource:
    """One file: its constants, by name."""

    tree: ast.Module
    constants: dict[str, Any] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    """What imported names stand for: `sync` for `shop.jobs.sync`."""

    @classmethod
    def of(cls, text: str, name: str) -> PythonSource:
        try:
            source = cls(ast.parse(text, name))
        except SyntaxError as wrong:
            raise UnreadableSource(f"{name}:{wrong.lineno}: is not Python: {wrong.msg}") from None
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    source.imports[each.asname or each.name] = f"{node.module}.{each.name}"
            elif isinstance(node, ast.Import):
                for each in node.names:
                    source.imports[each.asname or each.name] = each.name
        for target, value in source.assignments():
            if "." not in target:
                try:
                    source.constants[target] = source.value(value)
                except UnknownTerm:
                    continue
        return source

    def assignments(self) -> Iterator[tuple[str, ast.expr]]:
        """Every `name = value` and `a.b.name = value`, in order, with the dotted name."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name | ast.Attribute):
                        yield ast.unparse(target), node.value
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                yield ast.unparse(node.target), node.value

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Every call of one of these functions or methods, in order."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and _called(node) in names]
        yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))

    def value(self, node: ast.expr) -> Any:
        """The value of an expression; `UnknownTerm` when only running the file would tell."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
                return self._collection(node)
            case ast.UnaryOp() | ast.BinOp():
                return self._result(node)
            case ast.Name(id=name) if name in self.constants:
                return self.constants[name]
            case ast.Name() | ast.Attribute():
                return PythonName(self._dotted(ast.unparse(node)))
            case ast.Call():
                return self._call(node)
            case _:
                raise _unknown(node)

    def _collection(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Any:
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return {self.value(key): self.value(value) for key, value in pairs if key is not None}
        values = [self.value(item) for item in node.elts]
        return set(values) if isinstance(node, ast.Set) else values

    def _result(self, node: ast.UnaryOp | ast.BinOp) -> Any:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._number(left) * self._number(right)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._number(left) + self._number(right)
            case _:
                raise _unknown(node)

    def call(self, node: ast.Call) -> PythonCall:
        """A call with its arguments; `UnknownTerm` when one of them cannot be read."""
        return PythonCall(
            _called(node),
            tuple(self.value(each) for each in node.args),
            {each.arg: self.value(each.value) for each in node.keywords if each.arg is not None},
            node.lineno,
        )

    def _call(self, node: ast.Call) -> Any:
        call = self.call(node)
        match call.name:
            case "timedelta":
                return timedelta(*call.arguments, **call.options)
            case "datetime":
                whole = all(isinstance(each, int) for each in call.arguments) and not call.options
                return datetime(*call.arguments) if whole and call.arguments else call  # noqa: DTZ001 -- as written
            case "dict":
                return dict(call.options)
            case _:
                return call

    def _number(self, node: ast.expr) -> Any:
        value = self.value(node)
        if isinstance(value, bool) or not isinstance(value, int | float | timedelta):
            raise _unknown(node)
        return value

    def _dotted(self, name: str) -> str:
        first, dot, rest = name.partition(".")
        return f"{self.imports.get(first, first)}{dot}{rest}"


def _unknown(node: ast.expr) -> UnknownTerm:
    return UnknownTerm(f"line {node.lineno}: {ast.unparse(node)[:80]} is known only when the file runs")


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
        case _:
            return ""
