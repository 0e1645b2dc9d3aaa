"""Definitions of pipelines, contents of their file, and ports of their steps; without I/O."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, Protocol

import orjson

from foliot.core.egress import Egress
from foliot.core.parent_template import ParentRun
from foliot.features.fetching.fetcher import Fetcher

PIPELINE: Final = "pipeline"
"""Kind of the action."""

Item = dict[str, Any]
"""One item of a chain."""

OnError = Literal["skip", "fail"]
"""Effect of a failed item: it is counted and skipped, or ends the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """One step of a chain, as in the file."""

    cls: str
    """A short or dotted name in the catalogue; a file cannot cause an import."""
    name: str
    """Unique within the chain; used by progress and logs."""
    kwargs: Mapping[str, Any]
    on_error: OnError = "fail"
    line: int | None = None
    """Line in the file; not part of the revision."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        kept = {"class": self.cls, "name": self.name, "kwargs": dict(self.kwargs), "on_error": self.on_error}
        return kept if self.line is None else {**kept, "line": self.line}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> StepSpec:
        """The reverse of `to_dict`."""
        return cls(
            cls=raw["class"],
            name=raw["name"],
            kwargs=raw.get("kwargs") or {},
            on_error=raw.get("on_error", "fail"),
            line=raw.get("line"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineDefinition:
    """One pipeline."""

    name: str
    steps: tuple[StepSpec, ...]
    draft: Mapping[str, Any] | None
    """The schedule as in a request of the API; None runs it once per revision."""
    on_error: OnError = "fail"
    """Default of its steps."""
    expect: Mapping[str, Any] | None = None
    """What its data must be like; else its sinks are not written."""
    revision: str
    """Short hash of its content: see `revision_of`."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {
            "name": self.name,
            "steps": [step.to_dict() for step in self.steps],
            "draft": None if self.draft is None else dict(self.draft),
            "on_error": self.on_error,
            "revision": self.revision,
        } | ({"expect": dict(self.expect)} if self.expect else {})

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> PipelineDefinition:
        """The reverse of `to_dict`."""
        return cls(
            name=raw["name"],
            steps=tuple(StepSpec.from_dict(step) for step in raw["steps"]),
            draft=raw.get("draft"),
            on_error=raw.get("on_error", "fail"),
            expect=raw.get("expect"),
            revision=raw["revision"],
        )


def revision_of(
    steps: Sequence[StepSpec],
    draft: Mapping[str, Any] | None,
    on_error: OnError = "fail",
    expect: Mapping[str, Any] | None = None,
) -> str:
    """Hash of the content, independent of its place in the file."""
    chain = [{**step.to_dict(), "line": None} for step in steps]
    content = [chain, draft, on_error] if expect is None else [chain, draft, on_error, expect]
    told = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(told).hexdigest()[:12]


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


class PipelineDefinitions(Protocol):
    """The pipelines of every tenant, by name."""

    async def find(self, tenant_id: str, name: str) -> PipelineDefinition | None:
        """The current definition, or None."""
        ...

    async def names(self, tenant_id: str) -> Sequence[str]:
        """The names of the tenant's pipelines, sorted."""
        ...


class FileSinkWriter(Protocol):
    """One file being written; invisible before `commit`, unless it was opened for appending."""

    async def write(self, data: bytes) -> None: ...

    async def commit(self) -> None:
        """Puts the finished file in place, atomically."""
        ...

    async def discard(self) -> None:
        """Deletes the unfinished file; no effect after `commit`."""
        ...


class SinkFiles(Protocol):
    """The directories that pipelines may write to."""

    def check(self, path: str) -> None:
        """`Invalid` when nothing may be written there."""
        ...

    async def open(self, path: str, owner: str, *, append: bool = False) -> FileSinkWriter:
        """`owner` is the run that writes: temporary files of its earlier attempts are deleted.

        Raises `Invalid` when the path is not allowed, `Unavailable` when it cannot be written now.
        """
        ...


class RowWriter(Protocol):
    """Writes items to one table or collection."""

    async def put(self, items: Sequence[Mapping[str, Any]]) -> Mapping[int, str]:
        """Writes the items; returns the errors of refused ones by index. `Unavailable` when none can be written now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTarget:
    """Connection, table, key and columns of a sink; what is not set is derived from the first item."""

    url: str
    name: str
    database: str | None = None
    key: Sequence[str] = ()
    """Key of an upsert: a later item with equal fields replaces an earlier one."""
    columns: Sequence[str] = ()
    create: bool = True


class SinkDatabase(Protocol):
    """An external database, connected for the time of a run."""

    def open(self, into: RowTarget) -> AbstractAsyncContextManager[RowWriter]:
        """`Invalid` (of `url`, `table`, `key` …) for a wrong target, `Unavailable` when it cannot be reached now."""
        ...


class SecretLookup(Protocol):
    """The secrets of a tenant."""

    async def named(self, tenant_id: str, names: Collection[str]) -> Mapping[str, str]: ...


class IsolatedCall(Protocol):
    """Calls a module-level function in a separate process, because untrusted input may crash its parser."""

    async def __call__(
        self, function: Callable[..., Any], body: bytes, parameters: Mapping[str, Any], tenant_id: str
    ) -> Any:
        """Calls `function(body=…, **parameters)`, which returns JSON; `Unreadable` when there is no result.

        Tenants take turns, so that one with many calls does not block the others.
        """
        ...


class Unreadable(Exception):
    """Untrusted input cannot be parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordCredentials:
    """Default channel and bot token of Discord."""

    api: str = "https://discord.com/api/v10"
    token: str | None = field(default=None, repr=False)


class RunItemReader(Protocol):
    """Reads items that a run has produced."""

    async def page(self, tenant_id: str, run: ParentRun, after: int, limit: int) -> Sequence[Item] | None:
        """Up to so many items after the first `after`; None for a run whose kind keeps no items."""
        ...


@dataclass(frozen=True, slots=True)
class NoRunItems:
    """For chains that run without a database."""

    async def page(self, tenant_id: str, run: ParentRun, after: int, limit: int) -> Sequence[Item] | None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResources:
    """Guarded access of steps to the network, files, databases and secrets."""

    egress: Egress
    fetcher: Fetcher
    """For pages of the web: turns of the host, robots.txt."""
    files: SinkFiles
    tables: SinkDatabase
    collections: SinkDatabase
    wallet: SecretLookup
    apart: IsolatedCall
    article: Callable[..., Any]
    """Extracts the article of a page: `(body, content_type, url)`; for `apart`."""
    price: Callable[..., Any]
    """Finds the price on a page: `(body, encoding, selectors)`; for `apart`."""
    price_text: Callable[[str], tuple[Any, str]]
    """Parses a price in a short text: amount and currency."""
    discord: DiscordCredentials = field(default_factory=DiscordCredentials)
    run_items: RunItemReader = field(default_factory=NoRunItems)
