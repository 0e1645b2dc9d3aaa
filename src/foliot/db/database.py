"""Connections to the database, and its transactions.

One connection inside a transaction, and what every statement needs to know of its database.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.errors import Cause, Contended, StoreRefusal, Unavailable
from foliot.db.dialects import DIALECTS, Dialect, Engines
from foliot.db.refusals import RefusalLog, cause_of
from foliot.db.sealer import Sealer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transaction:
    """All of its statements take effect, or none."""

    conn: AsyncConnection
    dialect: Dialect
    bind_clock: bool = False
    """Whether the caller's clock decides instead of the database's, for tests that stop time."""
    sealer: Sealer | None = None
    """Encrypts credentials; without one they are stored as given."""
    confined: bool = False
    """Whether it is of one tenant: under row-level security it sees no row of another."""
    caches: dict[type[Any], Any] = field(default_factory=dict, repr=False)
    """What modules keep in memory for this database, one of each type; shared by all of a process's transactions."""

    def cache(self, kind: type[T]) -> T:
        """The process's one value of this type, made when it is first asked for."""
        if kind not in self.caches:
            self.caches[kind] = kind()
        value: T = self.caches[kind]
        return value


@dataclass(frozen=True, slots=True)
class Statements:
    """Base of the classes that hold a feature's statements; made where a transaction is used."""

    tx: Transaction

    @property
    def conn(self) -> AsyncConnection:
        return self.tx.conn

    @property
    def dialect(self) -> Dialect:
        return self.tx.dialect

    @property
    def bind_clock(self) -> bool:
        return self.tx.bind_clock

    @property
    def sealer(self) -> Sealer | None:
        return self.tx.sealer


POOL = 8

_OUR_FAULT = (IntegrityError, ProgrammingError, DataError, NotSupportedError)

_BROKEN_CHECKS = frozenset({4025, 3819})
"""The error of MariaDB and MySQL for a violated CHECK, which their driver reports as a connection problem."""

_UNDONE = frozenset({"40001", "40P01", "55P03", 1205, 1213})
"""Deadlocks, serialisation failures and lock timeouts: nothing was written, and retrying is safe."""

_UNDONE_FOR_ANOTHER = "the database rolled this back because of another transaction"


@dataclass(slots=True)
class Database:
    """The database. `bind_clock`: the caller's clock decides instead of the database's, for tests that stop time."""

    url: str
    pool: int = POOL
    bind_clock: bool = False
    sealer: Sealer | None = None
    """Encrypts credentials; without one they are stored as given, for maintenance commands."""
    caches: dict[type[Any], Any] = field(default_factory=dict, repr=False)
    """In-memory caches of modules for this database, one of each type."""
    dialect: Dialect = field(init=False)
    engines: Engines = field(init=False)
    _writer: asyncio.Lock | None = field(init=False, default=None)
    _has_row_level_security: bool | None = field(init=False, default=None)
    """Whether row-level security is active; queried once."""
    _refusals: RefusalLog = field(init=False, default_factory=RefusalLog)

    def __post_init__(self) -> None:
        self.dialect = DIALECTS[make_url(self.url).get_backend_name()]
        self.engines = self.dialect.engines(self.url, self.pool)
        if self.engines.single_writer:
            self._writer = asyncio.Lock()

    @asynccontextmanager
    async def begin(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        """A write transaction; on a database with a single writer, the next one waits."""
        if self._writer is None:
            async with self._noted(writes=True), _translated(), self.engines.write.begin() as conn:
                await self._confine(conn, tenant_id)
                yield self._transaction(conn, tenant_id)
        else:
            async with self._writer, self._noted(writes=True), _translated(), self.engines.write.begin() as conn:
                yield self._transaction(conn, tenant_id)

    @asynccontextmanager
    async def read(self, tenant_id: str | None = None) -> AsyncIterator[Transaction]:
        """A read transaction with a consistent snapshot."""
        if self.engines.read is self.engines.write and self._writer is not None:
            async with self.begin(tenant_id) as tx:
                yield tx
            return
        async with self._noted(writes=False), _translated(), self.engines.read.connect() as conn:
            await self._confine(conn, tenant_id)
            yield self._transaction(conn, tenant_id)

    @asynccontextmanager
    async def glance(self) -> AsyncIterator[Transaction]:
        """A read without a transaction, which saves two round trips."""
        if self.engines.single_writer:
            async with self.read() as tx:
                yield tx
            return
        async with self._noted(writes=False), _translated(), self.engines.read.connect() as conn:
            await _leave_transactions(conn)
            yield self._transaction(conn)

    @property
    def most_connections(self) -> int:
        """How many connections it may open: each of its two pools may double; wake-ups take one more."""
        return 2 * 2 * self.pool + 1

    async def allowed_connections(self) -> int | None:
        """How many the server accepts from all its clients together; None on SQLite."""
        if not (query := self.dialect.connection_limit):
            return None
        async with _translated(), self.engines.read.connect() as conn:
            return int((await conn.exec_driver_sql(query)).scalar_one())

    def refusal(self) -> StoreRefusal | None:
        """What the database refuses this process now, from memory."""
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

    async def has_row_level_security(self) -> bool:
        """Whether row-level security is active."""
        async with _translated(), self.engines.read.connect() as conn:
            return await self.dialect.has_row_level_security(conn)

    async def _confine(self, conn: AsyncConnection, tenant_id: str | None) -> None:
        if tenant_id is None or self._has_row_level_security is False:
            return
        if self._has_row_level_security is None:
            self._has_row_level_security = await self.dialect.has_row_level_security(conn)
        if self._has_row_level_security:
            await self.dialect.confine(conn, tenant_id)

    def _transaction(self, conn: AsyncConnection, tenant_id: str | None = None) -> Transaction:
        confined = tenant_id is not None
        return Transaction(conn, self.dialect, self.bind_clock, self.sealer, confined, caches=self.caches)

    async def close(self) -> None:
        await self.engines.write.dispose()
        if self.engines.read is not self.engines.write:
            await self.engines.read.dispose()


async def _leave_transactions(conn: AsyncConnection) -> None:
    """MariaDB's driver asks the server to autocommit, and its errors come without SQLAlchemy's wrapper around them."""
    try:
        await conn.execution_options(isolation_level="AUTOCOMMIT")
    except conn.dialect.loaded_dbapi.Error as error:
        away = Cause.AWAY
        raise Unavailable(f"{away.told}: {_brief(error)}", told=away.told, cause=away) from error


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    """A database that is away, overloaded or broke a deadlock raises `Unavailable`; a wrong statement is a bug."""
    try:
        yield
    except _OUR_FAULT:
        raise
    except DBAPIError as error:
        codes = {getattr(error.orig, "sqlstate", None), *(getattr(error.orig, "args", None) or ())[:1]}
        if codes & _BROKEN_CHECKS and error.orig is not None:
            raise IntegrityError(error.statement, error.params, error.orig) from error
        if isinstance(getattr(error.orig, "__cause__", None), ValueError | TypeError):
            # The driver rejected our own values: retrying does not help.
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
