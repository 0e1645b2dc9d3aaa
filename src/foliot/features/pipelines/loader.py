"""Finds transforms in the modules that the settings name and in installed packages; a broken one spoils no other."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from foliot.features.pipelines.chain.catalogue import Catalogue
from foliot.features.pipelines.chain.transform import Transform
from foliot.features.pipelines.steps import ALIASES, built_in

GROUP = "foliot.transforms"
"""Entry points of this group name a module, or one class in it."""
_OURS = "foliot."


def load(modules: Sequence[str]) -> Catalogue:
    """Every transform there is. What cannot be loaded is told as a sentence in the catalogue's faults."""
    found = Catalogue()
    for one in built_in():
        found.add(one, *ALIASES.get(one.__name__, ()), built_in=True)
    if modules and (here := os.getcwd()) not in sys.path:  # noqa: PTH109 -- the very text that the path holds
        # As `python -m` would find them; last, so that nothing here takes the place of what is installed.
        sys.path.append(here)
    for name in modules:
        _gather(found, f"FOLIOT_TRANSFORMS: module {name}", partial(importlib.import_module, name))
    for point in _points():
        _gather(found, f"entry point {point.name} ({point.value}) of {GROUP}", point.load, point.name)
    return found


def _points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: point.value)


def _gather(found: Catalogue, where: str, get: Callable[[], Any], name: str | None = None) -> None:
    try:
        made = get()
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a stranger's module may raise anything
        found.fault(f"{where} cannot be loaded: {type(error).__name__}: {error}".splitlines()[0][:500])
        return
    empty = True
    for called, one in transforms_in(made):
        empty = False
        names = [f"{made.__name__}.{called}"] if isinstance(made, ModuleType) else [name or called]
        try:
            found.add(one, *names)
        except (TypeError, ValueError) as wrong:
            found.fault(f"{where}: transform {one.__name__}: {wrong}")
    if empty:
        found.fault(f"{where} has no transform: a class that derives from foliot.Transform")


def transforms_in(made: Any) -> Iterator[tuple[str, type[Transform]]]:
    """The transforms of a module with what it calls them, or the one that this is; not those it imported from us."""
    members = dict(vars(made)) if isinstance(made, ModuleType) else {getattr(made, "__name__", ""): made}
    seen: set[type[Transform]] = set()
    for name, member in members.items():
        if not inspect.isclass(member) or not issubclass(member, Transform) or member in seen:
            continue
        if member.__module__.startswith(_OURS) or name.startswith("_"):
            continue
        seen.add(member)
        yield name, member
