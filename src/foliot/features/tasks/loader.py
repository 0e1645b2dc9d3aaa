"""Finds tasks in the modules that the settings name and in installed packages; a broken module spoils no other."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from foliot.features.tasks.catalogue import Catalogue
from foliot.features.tasks.model.task import MARK, Task

OURS = str(Path(__file__).parents[1]) + os.sep
"""Where our own code is: what a module did wrong is told by a line of its own."""
GROUP = "foliot.tasks"
"""Entry points of this group name a module, or one function in it."""


def load(modules: Sequence[str], built_in: Iterable[Task] = ()) -> Catalogue:
    """Every task there is. What cannot be loaded is told as a sentence in the catalogue's faults."""
    found = Catalogue()
    for one in built_in:
        found.add(one)
    if modules and (here := os.getcwd()) not in sys.path:  # noqa: PTH109 -- the very text that the path holds
        # As `python -m` would find them; last, so that nothing here takes the place of what is installed.
        sys.path.append(here)
    for name in modules:
        _gather(found, f"FOLIOT_TASKS: module {name}", lambda name=name: importlib.import_module(name))
    for point in _points():
        _gather(found, f"entry point {point.name} ({point.value}) of {GROUP}", point.load)
    return found


def _points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: point.value)


def _gather(found: Catalogue, where: str, get: Any) -> None:
    try:
        made = get()
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a stranger's module may raise anything
        found.fault(f"{where} cannot be loaded: {told(error)}")
        return
    for one in tasks_in(made):
        try:
            found.add(one)
        except (TypeError, ValueError) as wrong:
            found.fault(f"{where}: {_place(one)}: task {one.name}: {wrong}")


def tasks_in(made: Any) -> Iterator[Task]:
    """The marked functions of a module, or the one that this is; in the order of the module."""
    members = list(vars(made).values()) if isinstance(made, ModuleType) else [made]
    seen: set[int] = set()
    for member in members:
        one = getattr(member, MARK, None) if callable(member) else None
        if isinstance(one, Task) and id(one) not in seen:
            seen.add(id(one))
            yield one


def _place(one: Task) -> str:
    code = getattr(one.function, "__code__", None)
    return f"line {code.co_firstlineno}" if code is not None else one.module


def told(error: BaseException) -> str:
    """What went wrong and at which line: of the module where it can be said, for that is what its author can mend."""
    said = f"{type(error).__name__}: {error}".splitlines()[0][:500]
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{_file(error.filename or '')}line {error.lineno}: {said}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and not frame.filename.startswith(("<", OURS))
    ]
    if not frames:
        return said
    return f"{_file(frames[-1].filename)}line {frames[-1].lineno}: {said}"


def _file(path: str) -> str:
    return f"{os.path.basename(path)}, " if path else ""  # noqa: PTH119 -- a text for people
