"""Rows of mutes, one per muted group of dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import CheckConstraint, Column, String, Table, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.db.database import Statements
from foliot.db.metadata import Moment, key, metadata
from foliot.engine.model.run import RunState
from foliot.engine.sql.tables import runs
from foliot.features.mutes.model import MuteRecord

mutes = Table(
    "mutes",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("fingerprint", key(16), primary_key=True),
    Column("user_id", key(200), nullable=False),
    Column("muted_at", Moment, nullable=False),
    # An expired row is not deleted at once: readers compare the time.
    Column("muted_until", Moment, nullable=False),
    Column("reason", String(500), nullable=False, server_default=""),
    CheckConstraint("tenant_id <> ''", name="tenant"),
)


@dataclass(frozen=True, slots=True)
class SqlMutes(Statements):
    """Reads and writes mutes."""

    async def put(self, tenant_id: str, mute: MuteRecord) -> None:
        """Replaces the group's mute, and deletes the tenant's expired ones."""
        over = (mutes.c.tenant_id == tenant_id, mutes.c.muted_until <= mute.at)
        await self.conn.execute(delete(mutes).where(*over))
        key = {"tenant_id": [tenant_id], "fingerprint": [mute.fingerprint]}
        said = {"user_id": mute.user_id, "muted_at": mute.at, "muted_until": mute.until, "reason": mute.reason}
        row = {**key, **{name: [value] for name, value in said.items()}}
        await self.dialect.insert(self.conn, mutes, row, conflict="ignore")
        this = (mutes.c.tenant_id == tenant_id, mutes.c.fingerprint == mute.fingerprint)
        await self.conn.execute(update(mutes).where(*this).values(**said))

    async def drop(self, tenant_id: str, fingerprint: str) -> None:
        this = (mutes.c.tenant_id == tenant_id, mutes.c.fingerprint == fingerprint)
        await self.conn.execute(delete(mutes).where(*this))

    async def standing(self, tenant_id: str, now: datetime) -> dict[str, MuteRecord]:
        """Mutes that have not expired, by fingerprint."""
        query = select(mutes).where(mutes.c.tenant_id == tenant_id, mutes.c.muted_until > now)
        return {
            row.fingerprint: MuteRecord(
                fingerprint=row.fingerprint,
                user_id=row.user_id,
                at=row.muted_at,
                until=row.muted_until,
                reason=row.reason,
            )
            for row in await self.conn.execute(query)
        }

    async def known(self, tenant_id: str, fingerprint: str) -> bool:
        """Whether the group has an unresolved dead letter."""
        unanswered = (
            runs.c.tenant_id == tenant_id,
            runs.c.state == RunState.DEAD_LETTER,
            runs.c.resolved_by.is_(None),
        )
        query = select(runs.c.id).where(*unanswered, runs.c.fingerprint == fingerprint).limit(1)
        return (await self.conn.execute(query)).first() is not None


async def muted(conn: AsyncConnection, tenant_id: str, now: datetime) -> list[str]:
    """The fingerprints of the groups that are muted now."""
    query = select(mutes.c.fingerprint).where(mutes.c.tenant_id == tenant_id, mutes.c.muted_until > now)
    return list((await conn.execute(query)).scalars())
