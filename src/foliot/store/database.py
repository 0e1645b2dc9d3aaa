"""Opens the database and hands out transactions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.domain.errors import Cause, Contended, Unavailable
from foliot.domain.standstill import Refusal
from foliot.store.articles import SqlArticles
from foliot.store.bulks import SqlBulks
from foliot.store.caps import Caps
from foliot.store.claims import SqlClaims
from foliot.store.crawls import SqlCrawls
from foliot.store.declared import SqlDeclarations
from foliot.store.dialects import DIALECTS, Dialect, Engines
from foliot.store.endpoints import SqlEndpoints
from foliot.store.firing import SqlFiring
from foliot.store.history import SqlHistory
from foliot.store.holding import Holding, Versions
from foliot.store.keys import SqlKeys
from foliot.store.log_pages import SqlLogs
from foliot.store.mutes import SqlMutes
from foliot.store.offers import SqlOffers
from foliot.store.parked import SqlParked
from foliot.store.past import SqlPast
from foliot.store.pipelines import SqlPipelines
from foliot.store.prices import SqlPrices
from foliot.store.queues import SqlQueues
from foliot.store.refusal import Refusals, cause_of
from foliot.store.requests import SqlRequests
from foliot.store.runs import SqlRuns
from foliot.store.schedules import SqlSchedules
from foliot.store.sealed import Sealer
from foliot.store.searching import SqlSearching
from foliot.store.secrets import SqlSecrets
from foliot.store.tenants import SqlTenants
from foliot.store.trail import SqlTrail
from foliot.store.troubles import SqlTroubles
from foliot.store.upkeep import SqlUpkeep

POOL = 8

_OUR_FAULT = (IntegrityError, ProgrammingError, DataError, NotSupportedError)

_BROKEN_CHECKS = frozenset({4025, 3819})
"""What MariaDB and MySQL answer to a broken CHECK; their driver takes it for trouble with the connection."""

_UNDONE = frozenset({"40001", "40P01", "55P03", 1205, 1213})
"""Deadlocks, failed serialisations, and locks not given in time: nothing has happened, and asking again is safe."""

_UNDONE_FOR_ANOTHER = "the database undid this for another's sake"


@dataclass(frozen=True, slots=True)
class SqlTransaction:
    """One connection, seen by each asker through its own facet."""

    firing: SqlFiring
    claims: SqlClaims
    offers: SqlOffers
    parked: SqlParked
    schedules: SqlSchedules
    runs: SqlRuns
    requests: SqlRequests
    upkeep: SqlUpkeep
    keys: SqlKeys
    secrets: SqlSecrets
    trail: SqlTrail
    tenants: SqlTenants
    queues: SqlQueues
    endpoints: SqlEndpoints
    crawls: SqlCrawls
    articles: SqlArticles
    prices: SqlPrices
    declarations: SqlDeclarations
    pipelines: SqlPipelines
    searching: SqlSearching
    logs: SqlLogs
    bulks: SqlBulks
    mutes: SqlMutes
    history: SqlHistory
    troubles: SqlTroubles
    past: SqlPast
    conn: AsyncConnection


@dataclass(slots=True)
class Database:
    """The store. `bind_clock` makes the caller's clock decide instead of the database's, for tests that stop time."""

    url: str
    pool: int = POOL
    bind_clock: bool = False
    caps: Caps = field(default_factory=Caps)
    sealer: Sealer | None = None
    """Keeps credentials sealed; a store without one keeps what it is given, for whoever only looks after it."""
    dialect: Dialect = field(init=False)
    engines: Engines = field(init=False)
    _writer: asyncio.Lock | None = field(init=False, default=None)
    _walled: bool | None = field(init=False, default=None)
    """Whether the database itself keeps tenants apart; asked once."""
    _versions: Versions = field(init=False, default_factory=dict)
    _refusals: Refusals = field(init=False, default_factory=Refusals)

    def __post_init__(self) -> None:
        self.dialect = DIALECTS[make_url(self.url).get_backend_name()]
        self.engines = self.dialect.engines(self.url, self.pool)
        if self.engines.single_writer:
            self._writer = asyncio.Lock()

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[SqlTransaction]:
        """A transaction that writes; where there is one writer, the next one waits its turn."""
        if self._writer is None:
            async with self._noted(writes=True), _translated(), self.engines.write.begin() as conn:
                await self._confine(conn, tenant_id)
                yield self._transaction(conn)
        else:
            async with self._writer, self._noted(writes=True), _translated(), self.engines.write.begin() as conn:
                yield self._transaction(conn)

    @asynccontextmanager
    async def read(self, tenant_id: str | None = None) -> AsyncIterator[SqlTransaction]:
        """One consistent look."""
        if self.engines.read is self.engines.write and self._writer is not None:
            async with self.begin() as tx:
                yield tx
            return
        async with self._noted(writes=False), _translated(), self.engines.read.connect() as conn:
            await self._confine(conn, tenant_id)
            yield self._transaction(conn)

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[SqlTransaction]:
        """A look without a transaction around it, which spares two round trips."""
        if self.engines.single_writer:
            async with self.read() as tx:
                yield tx
            return
        async with self._noted(writes=False), _translated(), self.engines.read.connect() as conn:
            await conn.execution_options(isolation_level="AUTOCOMMIT")
            yield self._transaction(conn)

    def refusal(self) -> Refusal | None:
        """What the database refuses this process now; known without asking it."""
        return self._refusals.standing(time.monotonic())

    @asynccontextmanager
    async def _noted(self, *, writes: bool) -> AsyncIterator[None]:
        try:
            yield
        except Contended:
            raise
        except Unavailable as error:
            if error.cause is not None:
                self._refusals.note(error.cause, str(error), time.monotonic(), writes=writes)
            raise

    async def walled(self) -> bool:
        """Whether the database itself keeps tenants apart."""
        async with _translated(), self.engines.read.connect() as conn:
            return await self.dialect.walled(conn)

    async def _confine(self, conn: AsyncConnection, tenant_id: str | None) -> None:
        if tenant_id is None or self._walled is False:
            return
        if self._walled is None:
            self._walled = await self.dialect.walled(conn)
        if self._walled:
            await self.dialect.confine(conn, tenant_id)

    def _transaction(self, conn: AsyncConnection) -> SqlTransaction:
        holding = Holding(conn, self.dialect, self.bind_clock, self._versions, self.sealer)
        return SqlTransaction(
            firing=SqlFiring(conn, self.dialect, self.bind_clock),
            claims=SqlClaims(conn, self.dialect, holding, self.caps),
            offers=SqlOffers(conn, self.dialect, self.caps),
            parked=SqlParked(conn, self.dialect, holding),
            schedules=SqlSchedules(conn, self.dialect, self.sealer),
            runs=SqlRuns(conn, self.dialect, self.sealer),
            requests=SqlRequests(conn, self.dialect),
            upkeep=SqlUpkeep(conn, self.dialect),
            keys=SqlKeys(conn, self.dialect),
            secrets=SqlSecrets(conn, self.dialect, self.sealer),
            trail=SqlTrail(conn, self.dialect),
            tenants=SqlTenants(conn, self.dialect),
            queues=SqlQueues(conn, self.dialect),
            endpoints=SqlEndpoints(conn, self.dialect),
            crawls=SqlCrawls(conn, self.dialect),
            articles=SqlArticles(conn, self.dialect, self.bind_clock),
            prices=SqlPrices(conn, self.dialect),
            declarations=SqlDeclarations(conn, self.dialect),
            pipelines=SqlPipelines(conn, self.dialect),
            searching=SqlSearching(conn, self.dialect),
            logs=SqlLogs(conn),
            bulks=SqlBulks(conn, self.dialect, self.sealer),
            mutes=SqlMutes(conn, self.dialect),
            history=SqlHistory(conn, self.dialect),
            troubles=SqlTroubles(conn, self.dialect),
            past=SqlPast(conn, self.dialect),
            conn=conn,
        )

    async def close(self) -> None:
        await self.engines.write.dispose()
        if self.engines.read is not self.engines.write:
            await self.engines.read.dispose()


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    """A database that is away, overloaded or broke a deadlock is `Unavailable`; a wrong statement is a bug."""
    try:
        yield
    except _OUR_FAULT:
        raise
    except DBAPIError as error:
        codes = {getattr(error.orig, "sqlstate", None), *(getattr(error.orig, "args", None) or ())[:1]}
        if codes & _BROKEN_CHECKS and error.orig is not None:
            raise IntegrityError(error.statement, error.params, error.orig) from error
        if isinstance(getattr(error.orig, "__cause__", None), ValueError | TypeError):
            # The driver refused our own values: waiting will not mend that.
            raise
        if codes & _UNDONE:
            raise Contended(f"{_UNDONE_FOR_ANOTHER}: {_brief(error)}", told=_UNDONE_FOR_ANOTHER) from error
        cause = cause_of(error)
        raise Unavailable(f"{cause.told}: {_brief(error)}", told=cause.told, cause=cause) from error
    except (PoolTimeout, ConnectionError, TimeoutError) as error:
        silent = Cause.AWAY
        raise Unavailable(f"{silent.told}: {_brief(error)}", told=silent.told, cause=silent) from error


def _brief(error: Any) -> str:
    cause = getattr(error, "orig", None) or error
    return f"{type(cause).__name__}: {cause}".splitlines()[0][:300]
