"""Reads the plain values of a command line without pydantic, whose import takes a third of a short command's time.

typer checks every parameter with a pydantic adapter, built when it reads the first value. What is text, a flag or a
number within its limits already needs none; everything else, and every error, is left to typer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from typer import core


@dataclass(frozen=True, slots=True)
class PlainValue:
    """Stands in for the adapters of all parameters."""

    adapter_of: Callable[[Any], Any]
    """typer's own, for a value that needs one."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        about = param.type_descriptor
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if not several and about.parameter_info.parser is None and _is_plain(value, about):
            return int(value) if about.annotation is int else value
        return self.adapter_of(param).coerce(value, param=param, ctx=ctx)


def _is_plain(value: Any, about: Any) -> bool:
    if about.annotation is str or about.annotation is bool:
        return type(value) is about.annotation
    if about.annotation is not int or not (type(value) is int or (type(value) is str and value.isdecimal())):
        return False
    low, high = about.parameter_info.min, about.parameter_info.max
    return (low is None or int(value) >= low) and (high is None or int(value) <= high)


def read_plainly() -> None:
    """For every command of this process. typer has no public place for it; its earlier versions know no adapters."""
    parameter: Any = getattr(core, "_TyperParameter", None)
    if parameter is not None:
        plain = PlainValue(parameter.get_runtime_param)
        parameter.get_runtime_param = lambda _: plain
