"""Statements on host sessions; cookies are sealed, bound to tenant, host and name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import delete, func, insert, select, update

from foliot.core.errors import Conflict
from foliot.core.secrets import CannotUnseal, Vault
from foliot.db.database import Statements
from foliot.features.host_sessions.model import MOST_BYTES, PURPOSE, Cookies, HostSession, SignIn
from foliot.features.host_sessions.tables import host_sessions


@dataclass(frozen=True, slots=True)
class SqlHostSessions(Statements):
    """Reads and writes sessions of one tenant."""

    async def of_tenant(self, tenant_id: str, vault: Vault | None = None, name: str | None = None) -> list[HostSession]:
        """By host and name; with the vault, the cookies are opened."""
        query = select(host_sessions).where(host_sessions.c.tenant_id == tenant_id)
        if name is not None:
            query = query.where(host_sessions.c.name == name)
        rows = await self.conn.execute(query.order_by(host_sessions.c.host, host_sessions.c.name))
        return [_session(row, vault) for row in rows]

    async def get(
        self, tenant_id: str, host: str, name: str, vault: Vault | None = None, *, lock: bool = False
    ) -> HostSession | None:
        query = select(host_sessions).where(*_key(tenant_id, host, name))
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _session(row, vault)

    async def count(self, tenant_id: str) -> int:
        query = select(func.count()).select_from(host_sessions).where(host_sessions.c.tenant_id == tenant_id)
        return (await self.conn.scalar(query)) or 0

    async def put(self, session: HostSession, vault: Vault | None, *, exists: bool) -> None:
        """Its definition, and its cookies where some are given; others keep what is stored."""
        values: dict[str, Any] = {
            "login": None if session.sign_in is None else session.sign_in.as_dict(),
            "tried_at": None,
            "problem": None,
            "updated_at": session.updated_at,
            "created_by": session.created_by,
        }
        if session.cookies is not None:
            values |= {**_sealed(session, session.cookies, vault), "signed_in_at": session.signed_in_at}
        if exists:
            this = _key(session.tenant_id, session.host, session.name)
            await self.conn.execute(update(host_sessions).where(*this).values(**values))
        else:
            key = {"tenant_id": session.tenant_id, "host": session.host, "name": session.name}
            await self.conn.execute(insert(host_sessions).values(**key, **values))

    async def keep(
        self, session: HostSession, cookies: Cookies, vault: Vault | None, now: datetime, *, signed_in: bool
    ) -> None:
        """Its cookies from now on."""
        values = dict(_sealed(session, cookies, vault)) | {"updated_at": now}
        if signed_in:
            values |= {"signed_in_at": now, "tried_at": now, "problem": None}
        this = _key(session.tenant_id, session.host, session.name)
        await self.conn.execute(update(host_sessions).where(*this).values(**values))

    async def mark(self, session: HostSession, **values: Any) -> None:
        """A sign-in that failed, or cookies that no longer count."""
        this = _key(session.tenant_id, session.host, session.name)
        await self.conn.execute(update(host_sessions).where(*this).values(**values))

    async def delete(self, tenant_id: str, host: str, name: str) -> bool:
        done = await self.conn.execute(delete(host_sessions).where(*_key(tenant_id, host, name)))
        return bool(done.rowcount)


def _key(tenant_id: str, host: str, name: str) -> Sequence[Any]:
    return host_sessions.c.tenant_id == tenant_id, host_sessions.c.host == host, host_sessions.c.name == name


def _sealed(session: HostSession, cookies: Cookies, vault: Vault | None) -> Mapping[str, Any]:
    if not cookies:
        return {"sealed_with": None, "sealed": None, "cookies": 0}
    if vault is None:
        raise Conflict("cookies need a master key to be stored: set FOLIOT_SECRET_KEY to at least 32 random characters")
    kept = list(cookies)
    while len(plain := orjson.dumps(kept)) > MOST_BYTES:
        # The newest are last.
        del kept[0]
    key, sealed = vault.seal(plain, session.tenant_id, PURPOSE, session.host, session.name)
    return {"sealed_with": key, "sealed": sealed, "cookies": len(kept)}


def _session(row: Any, vault: Vault | None) -> HostSession:
    return HostSession(
        tenant_id=row.tenant_id,
        host=row.host,
        name=row.name,
        sign_in=SignIn.of(row.login),
        cookies=_opened(row, vault),
        count=row.cookies,
        signed_in_at=row.signed_in_at,
        tried_at=row.tried_at,
        problem=row.problem,
        updated_at=row.updated_at,
        created_by=row.created_by,
    )


def _opened(row: Any, vault: Vault | None) -> Cookies | None:
    """Empty where none are stored or they cannot be opened: the next sign-in replaces them."""
    if vault is None or row.sealed is None:
        return () if row.sealed is None else None
    try:
        opened: Cookies = orjson.loads(
            vault.open(row.sealed_with, bytes(row.sealed), row.tenant_id, PURPOSE, row.host, row.name)
        )
    except CannotUnseal:
        return None
    return opened
