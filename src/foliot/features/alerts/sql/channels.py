"""Rows of channels; credentials are encrypted as one document, bound to tenant and channel."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import delete, func, insert, or_, select, update

from foliot.core.errors import Conflict, Invalid
from foliot.core.secrets import CannotUnseal, Vault
from foliot.db.database import Statements
from foliot.features.alerts.model.alert import clipped
from foliot.features.alerts.model.channel import Channel, ChannelKind
from foliot.features.alerts.tables import channels

PURPOSE = "channel"


@dataclass(frozen=True, slots=True)
class SqlChannels(Statements):
    """Reads and writes channels."""

    async def add(self, channel: Channel, vault: Vault | None) -> None:
        await self.conn.execute(
            insert(channels).values(
                id=channel.id,
                tenant_id=channel.tenant_id,
                name=channel.name,
                kind=channel.kind.value,
                config=dict(channel.config),
                created_by=channel.created_by,
                created_at=channel.created_at,
                updated_at=channel.updated_at,
                **_sealed(channel, vault),
            )
        )

    async def change(self, channel: Channel, vault: Vault | None) -> None:
        """Its settings are as given from now on; a change gives a failing channel a new start."""
        values: dict[str, Any] = {
            "name": channel.name,
            "config": dict(channel.config),
            "updated_at": channel.updated_at,
            "failures": 0,
            **_sealed(channel, vault),
        }
        await self.conn.execute(update(channels).where(channels.c.id == channel.id).values(**values))

    async def get(self, tenant_id: str, channel_id: str, vault: Vault | None, *, lock: bool = False) -> Channel | None:
        query = select(channels).where(channels.c.tenant_id == tenant_id, channels.c.id == channel_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _channel(row, vault)

    async def of_tenant(self, tenant_id: str, vault: Vault | None = None) -> list[Channel]:
        """In order of name."""
        query = select(channels).where(channels.c.tenant_id == tenant_id).order_by(channels.c.name)
        return [_channel(row, vault) for row in await self.conn.execute(query)]

    async def count(self, tenant_id: str) -> int:
        query = select(func.count()).select_from(channels).where(channels.c.tenant_id == tenant_id)
        return (await self.conn.scalar(query)) or 0

    async def named(self, tenant_id: str, names: Collection[str]) -> dict[str, str]:
        """The ids of channels, by the names or ids that were given."""
        either = or_(self.dialect.among(channels.c.id, names), self.dialect.among(channels.c.name, names))
        query = select(channels.c.id, channels.c.name).where(channels.c.tenant_id == tenant_id, either)
        rows = (await self.conn.execute(query)).all()
        return {row.name: row.id for row in rows if row.name in names} | {row.id: row.id for row in rows}

    async def resolved(self, tenant_id: str, names: Collection[str], where: str) -> dict[str, str]:
        """The same; `Invalid` names those that do not exist."""
        ids = await self.named(tenant_id, names) if names else {}
        unknown = [each for each in names if each not in ids]
        if not unknown:
            return ids
        known = [channel.name for channel in await self.of_tenant(tenant_id)]
        close = difflib.get_close_matches(unknown[0][:100], known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise Invalid(where, f"must be channels that exist, by name or id{hint}", got=unknown)

    async def several(self, ids: Collection[str], vault: Vault | None) -> dict[str, Channel]:
        """Channels of any tenant, with their credentials: for the sender."""
        query = select(channels).where(self.dialect.among(channels.c.id, ids))
        return {row.id: _channel(row, vault) for row in await self.conn.execute(query)}

    async def lock_kind(self, channel_id: str) -> ChannelKind | None:
        """The kind of a channel of any tenant, its row locked; None when it was deleted."""
        query = self.dialect.lock(select(channels.c.kind).where(channels.c.id == channel_id))
        kind = await self.conn.scalar(query)
        return None if kind is None else ChannelKind(kind)

    async def failing(self, tenant_id: str) -> list[Channel]:
        """Channels whose last delivery failed for good."""
        query = select(channels).where(channels.c.tenant_id == tenant_id, channels.c.failures > 0)
        return [_channel(row, None) for row in await self.conn.execute(query.order_by(channels.c.name))]

    async def delete(self, channel_id: str) -> None:
        await self.conn.execute(delete(channels).where(channels.c.id == channel_id))

    async def sent(self, ids: Sequence[str], now: datetime) -> None:
        """Its messages arrive: what failed before is over."""
        this = self.dialect.among(channels.c.id, ids)
        await self.conn.execute(update(channels).where(this).values(failures=0, last_sent_at=now))

    async def failed(self, channel_id: str, error: str, now: datetime, *, for_good: bool) -> None:
        values: dict[str, Any] = {"last_error": clipped(error), "last_error_at": now}
        if for_good:
            values["failures"] = channels.c.failures + 1
        await self.conn.execute(update(channels).where(channels.c.id == channel_id).values(**values))


def _sealed(channel: Channel, vault: Vault | None) -> Mapping[str, Any]:
    if not channel.secrets:
        return {"sealed_with": None, "sealed": None}
    if vault is None:
        raise Conflict(
            "config holds a credential, which needs a master key to be stored: set FOLIOT_SECRET_KEY to at least 32"
            " random characters"
        )
    key, sealed = vault.seal(orjson.dumps(channel.secrets), channel.tenant_id, PURPOSE, channel.id)
    return {"sealed_with": key, "sealed": sealed}


def _channel(row: Any, vault: Vault | None) -> Channel:
    return Channel(
        id=row.id,
        tenant_id=row.tenant_id,
        name=row.name,
        kind=ChannelKind(row.kind),
        config=row.config,
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        failures=row.failures,
        last_sent_at=row.last_sent_at,
        last_error=row.last_error,
        last_error_at=row.last_error_at,
        secrets=_opened(row, vault),
    )


def _opened(row: Any, vault: Vault | None) -> Mapping[str, str]:
    """The credentials; empty, so that sending reports it, when no present key decrypts them."""
    if row.sealed is None or vault is None:
        return {}
    try:
        secrets: Mapping[str, str] = orjson.loads(
            vault.open(row.sealed_with, row.sealed, row.tenant_id, PURPOSE, row.id)
        )
    except CannotUnseal:
        return {}
    return secrets
