"""What is asked of the file that defines pipelines, and of the store that keeps what it said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from foliot.features.pipelines.model.definition import PipelineDefinition

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""What a pipeline, or a step of one, may be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFault:
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
    def from_dict(cls, raw: Mapping[str, Any]) -> FileFault:
        """The reverse of `to_dict`."""
        named: dict[str, Any] = {name: raw.get(name) for name in cls.__slots__}
        return cls(**named)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineEntry:
    """One pipeline as its file has it: a definition, or what is wrong with it."""

    name: str
    line: int
    definition: PipelineDefinition | None
    faults: Sequence[FileFault] = ()
    steps: Sequence[Mapping[str, Any]] = ()
    """As people may see them: `class`, `name`, `kwargs`, `on_error`, `line`."""
    yaml: str = ""
    """Its own part of the file, without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """What a file says."""

    file: str
    pipelines: Sequence[PipelineEntry] = ()
    fault: FileFault | None = None
    """What keeps the whole file from being read. What it said before still counts."""
    partial: bool = False
    """Its syntax is broken somewhere, and its pipelines were read one by one: what is missing may only be hidden."""


class DefinitionFile(Protocol):
    """The file."""

    async def look(self, now: datetime) -> FileContents | None:
        """What it says; None when that is what it said before."""
        ...

    def forget(self) -> None:
        """What it says counts as new at the next look."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPipeline:
    """A pipeline as the store has it: what holds, and what is wrong with what its file says now."""

    tenant_id: str
    name: str
    file: str
    place: int
    """Which of the file's pipelines it is."""
    definition: PipelineDefinition | None
    """The last one that was in order; None when none ever was."""
    fault: FileFault | None
    steps: Sequence[Mapping[str, Any]]
    """Of that definition, as people may see them."""
    yaml: str
    schedule_id: str | None
    updated_at: datetime
