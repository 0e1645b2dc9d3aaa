"""One connection inside a transaction, and what every statement needs to know of its database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.dialects import Dialect
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
