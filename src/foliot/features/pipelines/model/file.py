"""Contents and faults of the pipelines file, and the pipelines as stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from foliot.features.pipelines.model.definition import PipelineDefinition

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""Valid names of pipelines and steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFault:
    """An error in the file: place, message, and suggestion."""

    file: str
    line: int | None
    """Counts from 1; None for the file as a whole."""
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
    """One pipeline of the file: a definition, or its faults."""

    name: str
    line: int
    definition: PipelineDefinition | None
    faults: Sequence[FileFault] = ()
    steps: Sequence[Mapping[str, Any]] = ()
    """For display, without secrets: `class`, `name`, `kwargs`, `on_error`, `line`."""
    yaml: str = ""
    """Its lines of the file, without secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """The parsed file: its pipelines, or why it cannot be read."""

    file: str
    pipelines: Sequence[PipelineEntry] = ()
    fault: FileFault | None = None
    """Why the whole file cannot be read. Its previous contents stay in effect."""
    partial: bool = False
    """It has a syntax error, and its pipelines were parsed one by one: a missing one may be hidden by the error."""


class DefinitionFile(Protocol):
    """Polls the pipelines file."""

    async def look(self, now: datetime) -> FileContents | None:
        """The contents; None when they have not changed."""
        ...

    def forget(self) -> None:
        """Makes the next poll return the contents, changed or not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPipeline:
    """A pipeline as stored: the last valid definition, and the faults of the current file."""

    tenant_id: str
    name: str
    file: str
    place: int
    """Its position in the file."""
    definition: PipelineDefinition | None
    """The last valid one; None when none ever was."""
    fault: FileFault | None
    steps: Sequence[Mapping[str, Any]]
    """The steps of that definition for display."""
    yaml: str
    schedule_id: str | None
    updated_at: datetime
