"""Wires pipelines: which transforms there are, what their steps may reach, and where their definitions are found."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog

from foliot.actions.articles import extraction
from foliot.actions.pipeline import RunPipeline
from foliot.domain.errors import Invalid
from foliot.domain.pipeline import Definition
from foliot.pipelines.catalogue import Catalogue
from foliot.pipelines.loading import load
from foliot.ports import Egress, Store
from foliot.ports.pipelines import Apart, DiscordBot, Into, Outside, Rows, Unreadable, Wallet
from foliot.ports.tasks import Pool, ProcessDied
from foliot.settings import Settings
from foliot.sinks.files import LocalFiles
from foliot.store.foreign import SqlShelf
from foliot.tasks import reader
from foliot.tasks.builtin import extraction as prices
from foliot.workers.pool import ProcessPool

READING = timedelta(seconds=30)
"""For reading one page, feed or sitemap."""
READS_EACH = 2000
"""After so many a reader is replaced."""
GRACE = 0.1
OUT = "out"
"""Where file sinks write, below FOLIOT_HOME."""

log = structlog.get_logger("foliot.pipelines")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piping:
    """Pipelines in one process."""

    catalogue: Catalogue
    action: RunPipeline
    outside: Outside
    pool: ProcessPool

    async def close(self) -> None:
        await self.pool.close()


def piping(settings: Settings, store: Store, egress: Egress, wallet: Wallet) -> Piping:
    """Load every transform there is; what cannot be loaded is said in the log, and spoils nothing else."""
    catalogue = load(settings.transforms)
    for fault in catalogue.faults():
        log.error(fault, action="transforms_not_loaded")
    readers = max(os.cpu_count() or 1, 2)
    pool = ProcessPool(size=readers, most=READS_EACH, grace=GRACE)
    reached = outside(
        egress=egress,
        wallet=wallet,
        apart=InPool(pool, asyncio.Semaphore(readers)),
        out=settings.home / OUT,
        more=settings.sink_dirs,
        own=settings.sqlite_path,
    )
    bot = settings.discord_token
    reached = replace(
        reached, discord=DiscordBot(api=settings.discord_api, token=None if bot is None else bot.reveal())
    )
    action = RunPipeline(definitions=StoredDefinitions(store), catalogue=catalogue, outside=reached)
    return Piping(catalogue=catalogue, action=action, outside=reached, pool=pool)


def outside(
    *,
    egress: Egress,
    wallet: Wallet,
    apart: Apart,
    out: Path | None,
    more: Sequence[Path],
    own: Path | None = None,
) -> Outside:
    """What steps may reach: files below `out` and `more`, and not our own database; without `out`, no file at all."""
    return Outside(
        egress=egress,
        files=LocalFiles([*([out] if out is not None else []), *more]),
        tables=SqlShelf(out, own, more),
        collections=LateMongo(),
        wallet=wallet,
        apart=apart,
        article=extraction.extract,
        price=prices.price_on,
        price_text=prices.read_text,
    )


@dataclass(frozen=True, slots=True)
class StoredDefinitions:
    """What the store keeps of the files that define pipelines."""

    store: Store

    async def find(self, tenant_id: str, name: str) -> Definition | None:
        async with self.store.read(tenant_id) as tx:
            return await tx.pipelines.find(tenant_id, name)

    async def names(self, tenant_id: str) -> Sequence[str]:
        async with self.store.read(tenant_id) as tx:
            return sorted(await tx.pipelines.names(tenant_id))


@dataclass(frozen=True, slots=True)
class InPool:
    """Reads what strangers wrote in the processes of a pool."""

    pool: Pool
    readers: asyncio.Semaphore
    """As many as the pool has processes: the wait for one is not the reader's own time."""
    reading: timedelta = READING

    async def __call__(self, function: Callable[..., Any], body: bytes, parameters: Mapping[str, Any]) -> Any:
        call = reader.asked(function.__module__, function.__qualname__, parameters, body)
        try:
            async with self.readers:
                told = await self.pool.call(call, reader.SILENCE, self.reading)
        except TimeoutError:
            raise Unreadable(f"it takes longer than {self.reading.total_seconds():g} s") from None
        except ProcessDied:
            raise Unreadable("it brought its reader down") from None
        if told.error is not None:
            raise Unreadable(told.error[:300])
        return told.result


class LateMongo:
    """MongoDB, whose driver takes its time to import and may not be installed."""

    def open(self, into: Into) -> AbstractAsyncContextManager[Rows]:
        return _mongo(into)


@asynccontextmanager
async def _mongo(into: Into) -> AsyncIterator[Rows]:
    try:
        from foliot.sinks.documents import MongoShelf
    except ModuleNotFoundError:
        raise Invalid("uri", "needs PyMongo, which is not installed: pip install 'foliot[mongo]'") from None
    async with MongoShelf().open(into) as rows:
        yield rows
