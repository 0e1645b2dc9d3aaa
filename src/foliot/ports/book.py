"""What is asked of the file that defines pipelines, and of the store that keeps what it said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from foliot.domain.pipeline import Definition
from foliot.domain.schedule import Schedule

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""What a pipeline, or a step of one, may be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a file, where, and what to write instead."""

    file: str
    line: int | None
    """From 1 on; None where it is about the file as a whole."""
    column: int | None
    message: str
    suggestion: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}:{self.column or 1}"
        return f"{place}: {self.message}" + (f" ({self.suggestion})" if self.suggestion else "")

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Fault:
        """The reverse of `to_dict`."""
        named: dict[str, Any] = {name: raw.get(name) for name in cls.__slots__}
        return cls(**named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One pipeline as its file has it: a definition, or what is wrong with it."""

    name: str
    line: int
    definition: Definition | None
    faults: Sequence[Fault] = ()
    steps: Sequence[Mapping[str, Any]] = ()
    """As people may see them: `class`, `name`, `kwargs`, `on_error`, `line`."""
    yaml: str = ""
    """Its own part of the file, without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a file says."""

    file: str
    pipelines: Sequence[Written] = ()
    fault: Fault | None = None
    """What keeps the whole file from being read. What it said before still counts."""
    partial: bool = False
    """Its syntax is broken somewhere, and its pipelines were read one by one: what is missing may only be hidden."""


class Book(Protocol):
    """The file."""

    async def look(self, now: datetime) -> Sheet | None:
        """What it says; None when that is what it said before."""
        ...

    def forget(self) -> None:
        """What it says counts as new at the next look."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A pipeline as the store has it: what holds, and what is wrong with what its file says now."""

    tenant_id: str
    name: str
    file: str
    place: int
    """Which of the file's pipelines it is."""
    definition: Definition | None
    """The last one that was in order; None when none ever was."""
    fault: Fault | None
    steps: Sequence[Mapping[str, Any]]
    """Of that definition, as people may see them."""
    yaml: str
    schedule_id: str | None
    updated_at: datetime


class Pipelines(Protocol):
    """The pipelines of every tenant."""

    async def find(self, tenant_id: str, name: str) -> Definition | None:
        """What is to be run under this name."""
        ...

    async def names(self, tenant_id: str) -> Sequence[str]:
        """Of those that can be run."""
        ...

    async def all(self, tenant_id: str) -> Sequence[Kept]:
        """In the order of their file."""
        ...

    async def get(self, tenant_id: str, name: str) -> Kept | None: ...

    async def put(self, kept: Kept) -> None:
        """In place of the one that stands. Whoever does holds the declaration of its schedule."""
        ...

    async def drop(self, tenant_id: str, name: str, unrun: Sequence[str] = ()) -> None:
        """Which revisions of it have had their run is not forgotten; these runs were cancelled before they were one."""
        ...

    async def waiting(self, tenant_id: str, name: str) -> Sequence[str]:
        """Ids of the runs of it that no schedule made and that nobody has begun."""
        ...

    async def first(self, tenant_id: str, name: str, revision: str, run_id: str) -> bool:
        """Whether this run is the first of this revision; then it is the only one that ever is."""
        ...

    async def noted(self, tenant_id: str, name: str, run_id: str) -> None:
        """A run of it that no schedule made."""
        ...

    async def runs(self, tenant_id: str, name: str, limit: int) -> Sequence[str]:
        """Ids of its newest runs, newest first: those that were noted, and those of any schedule of it."""
        ...

    async def newest(self, tenant_id: str) -> Mapping[str, str]:
        """The id of each one's newest run."""
        ...

    async def schedules(self, tenant_id: str) -> Mapping[str, Schedule]:
        """Those that the file has made, by id."""
        ...
