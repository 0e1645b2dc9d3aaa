"""The table and statements of encrypted secrets, and the re-encryption of stored credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table, and_, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.errors import Contended
from foliot.db.database import Statements
from foliot.db.dialects import Dialect
from foliot.db.metadata import DamagedDocument, Document, Moment, blob, key, metadata
from foliot.db.sealer import Sealer
from foliot.engine.sql import tenant_limits
from foliot.engine.sql.tables import runs, schedules, versions
from foliot.features.secrets.model import ResealedActions, SealedSecret, SecretView

secrets = Table(
    "secrets",
    metadata,
    Column("tenant_id", key(64), primary_key=True),
    Column("name", key(64), primary_key=True),
    Column("version", Integer, primary_key=True),
    # The id of the master key.
    Column("sealed_with", key(16), nullable=False),
    Column("sealed", blob(), nullable=False),
    Column("created_by", key(200), nullable=False),
    Column("created_at", Moment, nullable=False),
    # When the next version replaced it; both sign for a while.
    Column("retired_at", Moment),
    # Hosts it may be sent to; null is any.
    Column("hosts", Document),
    CheckConstraint("tenant_id <> ''", name="tenant"),
    Index(None, "sealed_with"),
)


_TABLES: tuple[tuple[Table, tuple[str, ...]], ...] = (
    (schedules, ("id",)),
    (versions, ("schedule_id", "version")),
    (runs, ("id",)),
)


@dataclass(frozen=True, slots=True)
class CredentialRekey:
    """Iterates over schedules, then their versions, then runs; the cursor is (table, key)."""

    conn: AsyncConnection
    dialect: Dialect
    sealer: Sealer

    async def reseal(self, place: tuple[Any, ...], limit: int) -> ResealedActions:
        at, *after = place or (0,)
        table, names = _TABLES[at]
        key = [table.c[name] for name in names]
        query = select(*key, table.c.tenant_id, table.c.action).where(table.c.action.is_not(None))
        if after:
            query = query.where(_beyond(key, after))
        rows = (await self.conn.execute(self.dialect.lock(query.order_by(*key).limit(limit)))).all()
        done, shut = 0, list[str]()
        for row in rows:
            if isinstance(row.action, DamagedDocument):
                continue
            opened = self.sealer.stale(row.tenant_id, row.action)
            if opened is None:
                continue
            if opened.locked:
                shut.append(f"{row.tenant_id}/{row[0]}")
                continue
            action = self.sealer.seal(row.tenant_id, opened.action)
            where = [column == value for column, value in zip(key, row, strict=False)]
            await self.conn.execute(update(table).where(*where).values(**_values(table, action)))
            done += 1
        if len(rows) == limit:
            return ResealedActions(done, shut, (at, *rows[-1][: len(names)]))
        return ResealedActions(done, shut, (at + 1,) if at + 1 < len(_TABLES) else None)


def _values(table: Table, action: Mapping[str, Any]) -> dict[str, Any]:
    return {"action": dict(action)} | ({"digest": tenant_limits.digest(dict(action))} if table is versions else {})


def _beyond(key: list[Any], after: list[Any]) -> Any:
    if len(key) == 1:
        return key[0] > after[0]
    return or_(key[0] > after[0], and_(key[0] == after[0], key[1] > after[1]))


@dataclass(frozen=True, slots=True)
class SqlSecrets(Statements):
    """At most two rows for each name: the current version and the previous one."""

    async def lock(self, tenant_id: str) -> None:
        """Serialises changes of this tenant's secrets until the transaction ends."""
        query = select(secrets.c.name).where(secrets.c.tenant_id == tenant_id)
        await self.conn.execute(self.dialect.lock(query.order_by(secrets.c.name, secrets.c.version)))

    async def newest(self, tenant_id: str, name: str) -> SealedSecret | None:
        query = select(secrets).where(secrets.c.tenant_id == tenant_id, secrets.c.name == name)
        row = (await self.conn.execute(query.order_by(secrets.c.version.desc()).limit(1))).first()
        return None if row is None else _sealed(row)

    async def count(self, tenant_id: str) -> int:
        """How many names there are."""
        query = select(func.count(secrets.c.name.distinct())).where(secrets.c.tenant_id == tenant_id)
        return int((await self.conn.execute(query)).scalar_one())

    async def put(self, sealed: SealedSecret) -> None:
        """Add a version: the previous one retires, older ones are deleted. `Contended` when another transaction won."""
        ours = (secrets.c.tenant_id == sealed.tenant_id, secrets.c.name == sealed.name)
        await self.conn.execute(delete(secrets).where(*ours, secrets.c.version < sealed.version - 1))
        before = (*ours, secrets.c.version < sealed.version, secrets.c.retired_at.is_(None))
        await self.conn.execute(update(secrets).where(*before).values(retired_at=sealed.created_at))
        values = {column.name: getattr(sealed, column.name) for column in secrets.c}
        try:
            await self.conn.execute(insert(secrets).values(**values))
        except IntegrityError as error:
            # The first version has no row to lock: the second of two inserts fails here.
            raise Contended(f"another request set the secret {sealed.name!r} at the same moment") from error

    async def views(self, tenant_id: str) -> list[SecretView]:
        """In order of name."""
        columns = [secrets.c[name] for name in ("name", "version", "created_at", "created_by", "retired_at", "hosts")]
        query = select(*columns).where(secrets.c.tenant_id == tenant_id)
        views: dict[str, SecretView] = {}
        for row in await self.conn.execute(query.order_by(secrets.c.name, secrets.c.version)):
            before = views.get(row.name)
            views[row.name] = SecretView(
                name=row.name,
                version=row.version,
                created_at=row.created_at,
                created_by=row.created_by,
                retired_at=before.retired_at if before is not None else row.retired_at,
                hosts=tuple(row.hosts or ()),
            )
        return list(views.values())

    async def delete(self, tenant_id: str, name: str) -> bool:
        """All versions; returns whether there were any."""
        done = await self.conn.execute(delete(secrets).where(secrets.c.tenant_id == tenant_id, secrets.c.name == name))
        return bool(done.rowcount)

    async def usable(self, tenant_id: str, since: datetime) -> list[SealedSecret]:
        """Current versions, and those that retired after `since`; newest first."""
        fresh = or_(secrets.c.retired_at.is_(None), secrets.c.retired_at > since)
        query = select(secrets).where(secrets.c.tenant_id == tenant_id, fresh)
        return [_sealed(row) for row in await self.conn.execute(query.order_by(secrets.c.version.desc()))]

    async def stale(self, key_id: str, limit: int, after: tuple[str, str, int] = ("", "", 0)) -> list[SealedSecret]:
        """Locks and returns versions of all tenants that another master key encrypted, in key order, after this one."""
        tenant_id, name, version = after
        beyond = or_(
            secrets.c.tenant_id > tenant_id,
            and_(secrets.c.tenant_id == tenant_id, secrets.c.name > name),
            and_(secrets.c.tenant_id == tenant_id, secrets.c.name == name, secrets.c.version > version),
        )
        query = select(secrets).where(secrets.c.sealed_with != key_id, beyond)
        query = query.order_by(secrets.c.tenant_id, secrets.c.name, secrets.c.version).limit(limit)
        return [_sealed(row) for row in await self.conn.execute(self.dialect.lock(query))]

    async def left(self, key_id: str) -> int:
        """How many versions another master key encrypted."""
        query = select(func.count()).select_from(secrets).where(secrets.c.sealed_with != key_id)
        return int((await self.conn.execute(query)).scalar_one())

    async def reseal(self, rows: Sequence[SealedSecret]) -> None:
        """Store these versions' new ciphertexts; a version deleted meanwhile stays deleted."""
        for row in rows:
            where = (
                secrets.c.tenant_id == row.tenant_id,
                secrets.c.name == row.name,
                secrets.c.version == row.version,
            )
            values = {"sealed": row.sealed, "sealed_with": row.sealed_with}
            await self.conn.execute(update(secrets).where(*where).values(**values))

    async def reseal_actions(self, place: tuple[Any, ...], limit: int) -> ResealedActions:
        """Re-encrypt credentials of so many stored actions by the newest key; an empty cursor is the beginning."""
        if self.sealer is None:
            return ResealedActions(0, [], None)
        return await CredentialRekey(self.conn, self.dialect, self.sealer).reseal(place, limit)

    async def prune(self, before: datetime) -> int:
        """Delete versions that retired before this moment."""
        done = await self.conn.execute(delete(secrets).where(secrets.c.retired_at < before))
        return done.rowcount


def _sealed(row: Any) -> SealedSecret:
    values = {column.name: getattr(row, column.name) for column in secrets.c}
    return SealedSecret(**{**values, "sealed": bytes(row.sealed)})
