"""The transforms of one process, by name: an allow-list, for nothing is imported because a file names it."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic.errors import PydanticUserError

from foliot.features.pipelines.chain.transform import Transform


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformView:
    """A transform as people see it."""

    name: str
    """The shortest that means it alone."""
    description: str
    module: str
    built_in: bool
    kwargs: dict[str, Any]
    """What it takes, as a JSON Schema."""


@dataclass(slots=True)
class Catalogue:
    """Every transform that this process knows, and what could not be loaded."""

    _named: dict[str, type[Transform]] = field(default_factory=dict)
    """By dotted name and alias."""
    _short: dict[str, list[type[Transform]]] = field(default_factory=dict)
    _built_in: set[type[Transform]] = field(default_factory=set)
    _faults: list[str] = field(default_factory=list)

    def add(self, transform: type[Transform], *names: str, built_in: bool = False) -> None:
        """Under its own dotted name, and these. `TypeError` or `ValueError` when it cannot be one."""
        _check(transform)
        if not built_in:
            # Ours are checked by our tests; making their models costs a start that nobody asked for.
            _check_kwargs(transform)
        own = f"{transform.__module__}.{transform.__qualname__}"
        for name in (own, *transform.aliases, *names):
            other = self._named.setdefault(name, transform)
            if other is not transform:
                raise ValueError(f"another transform has the name {name}; give one of them another")
        known = self._short.setdefault(transform.__name__, [])
        if transform not in known:
            known.append(transform)
        if built_in:
            self._built_in.add(transform)

    def fault(self, sentence: str) -> None:
        self._faults.append(sentence)

    def get(self, name: str) -> type[Transform] | None:
        """By its dotted name, or by its short one where that is clear: a built-in one keeps its own."""
        if name in self._named:
            return self._named[name]
        known = self._short.get(name, [])
        ours = [one for one in known if one in self._built_in]
        if ours:
            return ours[0]
        return known[0] if len(known) == 1 else None

    def name_of(self, transform: type[Transform]) -> str:
        """The shortest name that means it alone."""
        short = transform.__name__
        return short if self.get(short) is transform else f"{transform.__module__}.{transform.__qualname__}"

    def names(self) -> Sequence[str]:
        """Each one's shortest."""
        return sorted({self.name_of(one) for known in self._short.values() for one in known})

    def suggestion(self, name: str) -> str | None:
        """The name that somebody may have meant."""
        spoken = sorted({*self._named, *(short for short in self._short if self.get(short) is not None)})
        close = difflib.get_close_matches(name[:200], spoken, n=1)
        if not close:
            close = difflib.get_close_matches(name[:200].rpartition(".")[2], self.names(), n=1)
        return close[0] if close else None

    def views(self) -> Sequence[TransformView]:
        """In the order of their names."""
        found = {self.name_of(one): one for known in self._short.values() for one in known}
        return [self._view(name, found[name]) for name in sorted(found)]

    def faults(self) -> Sequence[str]:
        """Why some could not be loaded, a sentence each."""
        return tuple(self._faults)

    def _view(self, name: str, one: type[Transform]) -> TransformView:
        schema = one.model_json_schema(mode="validation")
        for said in ("title", "description"):
            schema.pop(said, None)
        text = inspect.cleandoc(one.__doc__ or "").partition("\n\n")[0]
        return TransformView(
            name=name,
            description=" ".join(text.split()),
            module=one.__module__,
            built_in=one in self._built_in,
            kwargs=schema,
        )


def _check(transform: type[Transform]) -> None:
    if transform.run is Transform.run and transform.handle is Transform.handle:
        raise TypeError("has neither `async def run` nor `async def handle`")
    if transform.run is not Transform.run and not _streams(transform.run):
        raise TypeError("its run must be an async generator: `async def run(self, items, ctx)` with a yield in it")
    if transform.handle is not Transform.handle and not inspect.iscoroutinefunction(transform.handle):
        raise TypeError("its handle must be a coroutine: `async def handle(self, item, ctx)`")


def _check_kwargs(transform: type[Transform]) -> None:
    try:
        transform.model_rebuild()
        transform.model_json_schema(mode="validation")
    except (PydanticUserError, NameError) as wrong:
        raise TypeError(f"its kwargs cannot be read: {str(wrong).splitlines()[0]}") from None


def _streams(run: Any) -> bool:
    return inspect.isasyncgenfunction(run) or not (inspect.iscoroutinefunction(run) or inspect.isgeneratorfunction(run))
