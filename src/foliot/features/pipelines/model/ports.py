"""Ports of pipelines: lookup of definitions and secrets, file and database sinks, isolated calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from foliot.core.egress import Egress
from foliot.features.pipelines.model.definition import PipelineDefinition


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResources:
    """Guarded access of steps to the network, files, databases and secrets."""

    egress: Egress
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
