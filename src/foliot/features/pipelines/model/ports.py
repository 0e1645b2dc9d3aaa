"""What is asked of pipelines: where their definitions are found, and what their steps may reach outside."""

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
        """The newest definition, or None."""
        ...

    async def names(self, tenant_id: str) -> Sequence[str]:
        """Those that the tenant has, sorted."""
        ...


class FileSinkWriter(Protocol):
    """One file being written. Nobody sees it before `commit`, unless it was opened to be added to."""

    async def write(self, data: bytes) -> None: ...

    async def commit(self) -> None:
        """All of it is written: from now on it is there, whole."""
        ...

    async def discard(self) -> None:
        """None of it is wanted. After `commit` this does nothing."""
        ...


class SinkFiles(Protocol):
    """The directories that pipelines may write to."""

    def check(self, path: str) -> None:
        """`Invalid` when nothing may be written there."""
        ...

    async def open(self, path: str, owner: str, *, append: bool = False) -> FileSinkWriter:
        """`owner` is the run that writes: what an earlier attempt of it left behind is swept away.

        Raises `Invalid` when nothing may be written there, `Unavailable` when it cannot be now.
        """
        ...


class RowWriter(Protocol):
    """A table or a collection that takes items."""

    async def put(self, items: Sequence[Mapping[str, Any]]) -> Mapping[int, str]:
        """Why some of them were not taken, by their place; `Unavailable` when none can be taken now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTarget:
    """Where rows go. What is not said is found out from the first of them."""

    url: str
    name: str
    database: str | None = None
    key: Sequence[str] = ()
    """Which fields make two items the same: the later one takes the earlier one's place."""
    columns: Sequence[str] = ()
    create: bool = True


class SinkDatabase(Protocol):
    """Other people's databases, opened for the time of a run."""

    def open(self, into: RowTarget) -> AbstractAsyncContextManager[RowWriter]:
        """`Invalid` (of `url`, `table`, `key` …) when it never can be, `Unavailable` when it cannot be now."""
        ...


class SecretLookup(Protocol):
    """The secrets of a tenant."""

    async def named(self, tenant_id: str, names: Collection[str]) -> Mapping[str, str]: ...


class IsolatedCall(Protocol):
    """Runs a function of a module in a process of its own: what it reads may bring its reader down."""

    async def __call__(
        self, function: Callable[..., Any], body: bytes, parameters: Mapping[str, Any], tenant_id: str
    ) -> Any:
        """Calls `function(body=…, **parameters)`, which answers JSON; `Unreadable` when no answer came.

        Tenants take turns: one that has much to read keeps no other waiting for all of it.
        """
        ...


class Unreadable(Exception):
    """What somebody else wrote cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordCredentials:
    """Where messages to Discord go, and as whom."""

    api: str = "https://discord.com/api/v10"
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResources:
    """Everything that the steps of a pipeline reach, each by a way that guards it."""

    egress: Egress
    files: SinkFiles
    tables: SinkDatabase
    collections: SinkDatabase
    wallet: SecretLookup
    apart: IsolatedCall
    article: Callable[..., Any]
    """Reads an article out of a page: `(body, content_type, url)`; for `apart`."""
    price: Callable[..., Any]
    """Finds the price on a page: `(body, encoding, selectors)`; for `apart`."""
    price_text: Callable[[str], tuple[Any, str]]
    """The price that a short text says, and its currency."""
    discord: DiscordCredentials = field(default_factory=DiscordCredentials)
