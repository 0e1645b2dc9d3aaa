"""Plug-ins: one loader and one catalogue for what an operator's modules and installed packages add to Foliot.

Tasks and transforms are plug-ins. A module is named by a setting, a package by an entry point; nothing is imported
because a request names it. A module that cannot be loaded is a fault of the catalogue and hinders no other.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

from foliot.core.access import TenantAllowList

T = TypeVar("T")

OURS = str(Path(__file__).parent) + os.sep
"""Where our own code is: an error is reported with a line of the module that caused it."""
EVERY_TENANT = TenantAllowList(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin(Generic[T]):
    """A task or a transform, with the names that it is found by."""

    made: T
    name: str
    """Its own, which no other has."""
    module: str
    aliases: Sequence[str] = ()
    """Further names that no other has."""
    short: str | None = None
    """A name that others may have as well: it is found by it while it is the only one, or built in."""
    built_in: bool = False
    tenants: TenantAllowList = EVERY_TENANT


@dataclass(slots=True)
class PluginCatalogue(Generic[T]):
    """The plug-ins of one kind that this process knows, by name, and why others could not be loaded."""

    noun: ClassVar[str]
    """What one of them is called in messages."""
    setting: ClassVar[str]
    """The setting that names modules with them."""
    group: ClassVar[str]
    """The group of entry points that name a module, or one of them in it."""
    wanted: ClassVar[str]
    """What a module must contain to have one."""

    _named: dict[str, Plugin[T]] = field(default_factory=dict)
    """By name and alias."""
    _short: dict[str, list[Plugin[T]]] = field(default_factory=dict)
    _faults: list[str] = field(default_factory=list)

    def register(self, plugin: Plugin[T]) -> None:
        """Registering the same again adds its aliases; `ValueError` where another has one of its names."""
        for name in (plugin.name, *plugin.aliases):
            other = self._named.get(name)
            if other is not None and other.made is not plugin.made:
                which = "this name" if name == plugin.name else f"the name {name}"
                raise ValueError(f"another {self.noun} has {which}, in {other.module}; give one of them another")
        plugin = self._named.get(plugin.name, plugin) if not plugin.aliases else plugin
        for name in (plugin.name, *plugin.aliases):
            self._named.setdefault(name, plugin)
        if plugin.short is not None:
            known = self._short.setdefault(plugin.short, [])
            if all(other.made is not plugin.made for other in known):
                known.append(plugin)

    def fault(self, sentence: str) -> None:
        self._faults.append(sentence)

    def faults(self) -> Sequence[str]:
        """Why some could not be loaded, a sentence each."""
        return tuple(self._faults)

    def plugin(self, name: str, tenant_id: str | None = None) -> Plugin[T] | None:
        """By its name or alias, or by its short name where that is clear; None also when it is another tenant's."""
        found = self._named.get(name) or self._only(name)
        return found if found is not None and (tenant_id is None or tenant_id in found.tenants) else None

    def get(self, name: str, tenant_id: str | None = None) -> T | None:
        """The plug-in itself; None also when it is another tenant's."""
        found = self.plugin(name, tenant_id)
        return None if found is None else found.made

    def has(self, name: str) -> bool:
        """Whether there is one of this name, for any tenant."""
        return self.plugin(name) is not None

    def shortest(self, plugin: Plugin[T]) -> str:
        """The shortest name that means it alone."""
        only = None if plugin.short is None else self._only(plugin.short)
        return plugin.short if plugin.short and only is not None and only.made is plugin.made else plugin.name

    def plugins(self, tenant_id: str | None = None) -> dict[str, Plugin[T]]:
        """All of them, or those of a tenant, by their shortest names and in their order."""
        once = {id(each.made): each for each in self._named.values()}.values()
        found = {self.shortest(each): each for each in once if tenant_id is None or tenant_id in each.tenants}
        return dict(sorted(found.items()))

    def names(self, tenant_id: str | None = None) -> Sequence[str]:
        """The shortest name of each."""
        return list(self.plugins(tenant_id))

    def suggestion(self, name: str) -> str | None:
        """The known name that is closest to an unknown one."""
        spoken = sorted({*self._named, *(short for short in self._short if self._only(short) is not None)})
        close = difflib.get_close_matches(name[:200], spoken, n=1)
        if not close:
            close = difflib.get_close_matches(name[:200].rpartition(".")[2], self.names(), n=1)
        return close[0] if close else None

    def _only(self, short: str) -> Plugin[T] | None:
        known = self._short.get(short, [])
        built_in = [each for each in known if each.built_in]
        if built_in:
            return built_in[0]
        return known[0] if len(known) == 1 else None


Found = tuple[str, T]
"""What a module calls a plug-in, and the plug-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader(Generic[T]):
    """Fills a catalogue from modules and entry points."""

    catalogue: PluginCatalogue[T]
    find: Callable[[Any], Iterable[Found[T]]]
    """The plug-ins in a module, or the one that an object is."""
    add: Callable[[T, Sequence[str]], None]
    """Adds one under these further names; `TypeError` or `ValueError` when it is not fit to be one."""
    place: Callable[[T], str]
    """How messages name one."""

    def load(self, modules: Sequence[str]) -> None:
        """Load these modules, then the entry points; what cannot be loaded becomes a fault."""
        kind = self.catalogue
        if modules and (here := os.getcwd()) not in sys.path:  # noqa: PTH109 -- the very text that the path holds
            # As `python -m` would find them; last, so that no file here replaces an installed module.
            sys.path.append(here)
        for name in modules:
            self._load(f"{kind.setting}: module {name}", partial(importlib.import_module, name))
        for point in points(kind.group):
            self._load(f"entry point {point.name} ({point.value}) of {kind.group}", point.load, point.name)

    def _load(self, where: str, get: Callable[[], Any], name: str | None = None) -> None:
        kind = self.catalogue
        try:
            made = get()
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- an operator's module may raise anything
            kind.fault(f"{where} cannot be loaded: {load_error(error)}")
            return
        empty = True
        for called, plugin in self.find(made):
            empty = False
            names = [f"{made.__name__}.{called}"] if isinstance(made, ModuleType) else [name or called]
            try:
                self.add(plugin, names)
            except (TypeError, ValueError) as wrong:
                kind.fault(f"{where}: {self.place(plugin)}: {wrong}")
        if empty:
            kind.fault(f"{where} has no {kind.noun}: {kind.wanted}")


def points(group: str) -> list[EntryPoint]:
    """The entry points of a group that installed packages bring."""
    return sorted(entry_points(group=group), key=lambda point: point.value)


def members(made: Any) -> Iterator[Found[Any]]:
    """What a module contains, or the object that this is, with its name."""
    yield from dict(vars(made)).items() if isinstance(made, ModuleType) else [(getattr(made, "__name__", ""), made)]


def load_error(error: BaseException) -> str:
    """The error, and the last line of the module that led to it."""
    message = f"{type(error).__name__}: {error}".splitlines()[0][:500]
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{_file(error.filename or '')}line {error.lineno}: {message}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and not frame.filename.startswith(("<", OURS))
    ]
    if not frames:
        return message
    return f"{_file(frames[-1].filename)}line {frames[-1].lineno}: {message}"


def _file(path: str) -> str:
    return f"{os.path.basename(path)}, " if path else ""  # noqa: PTH119 -- a text for people
