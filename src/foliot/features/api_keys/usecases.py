"""Use cases of API keys: create, list, revoke."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.auth.identity import KEY_PURPOSE, LONGER, KeyDigest, KeyRecord, Pepper, read_key, spell
from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict, NotFound, TooMany
from foliot.core.ids import KEY
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.api_keys.sql import SqlKeys
from foliot.wakeups.feed import Feed

MOST = 100
"""Valid keys of one tenant at the same time."""


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key with its secret text, which is shown once and not stored."""

    key: KeyRecord
    text: str

    def __repr__(self) -> str:
        return f"NewKey({self.key.id})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeys:
    """Create, list and revoke API keys."""

    store: Database
    clock: Clock
    feed: Feed
    new_id: Callable[[str], str]
    pepper: Pepper | None
    longer: timedelta = LONGER
    """By how much a key may outlive the token that created it."""

    @command(Verb.WRITE, Thing.KEY)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> IssuedKey:
        """A key cannot exceed its creator's rights: no higher role, no other scopes, no later expiry than their key."""
        needed(self.pepper)
        await ctx.begin()
        return await self.issue(ctx, raw)

    async def issue(self, ctx: CommandContext, raw: object, *, verb: str = "create") -> IssuedKey:
        """Add a key in the caller's transaction, under this action of the audit log."""
        pepper, tx = needed(self.pepper), ctx.tx
        draft = read_key(raw, ctx.caller, ctx.now, self.longer)
        if await SqlKeys(tx).lock_live(ctx.tenant_id, ctx.now) >= MOST:
            raise TooMany(f"there are {MOST} active API keys, the maximum: revoke one first")
        key_id = self.new_id(KEY)
        text, hint = spell(key_id, secrets.token_urlsafe(32))
        key = KeyRecord(
            id=key_id,
            tenant_id=ctx.tenant_id,
            name=draft.name,
            role=draft.role,
            scopes=None if draft.scopes is None else frozenset(draft.scopes),
            hint=hint,
            created_by=ctx.caller.user_id,
            created_at=ctx.now,
            expires_at=draft.expires_at,
        )
        await SqlKeys(tx).add(key, KeyDigest(*pepper.digest(KEY_PURPOSE, text)))
        ctx.audit(AuditedChange(verb, Thing.KEY, key_id, became=_portrait(key)))
        return IssuedKey(key, text)

    @query(Verb.READ, Thing.KEY)
    async def list(self, ctx: QueryContext, page: PageRequest) -> Sequence[KeyRecord]:
        """Newest first, revoked and expired ones too."""
        async with ctx.read() as tx:
            return await SqlKeys(tx).find(ctx.tenant_id, page)

    @command(Verb.WRITE, Thing.KEY)
    async def revoke(self, ctx: CommandContext, key_id: str) -> KeyRecord:
        """For good. It stays listed; revoking it again changes nothing."""
        tx = await ctx.begin()
        revoked = await SqlKeys(tx).revoke(ctx.tenant_id, key_id, ctx.now, ctx.caller.user_id)
        key = await SqlKeys(tx).get(ctx.tenant_id, key_id)
        if key is None:
            raise NotFound("key", key_id)
        if revoked:
            ctx.audit(AuditedChange("revoke", Thing.KEY, key_id, was=_portrait(key)))
        return key


def _portrait(key: KeyRecord) -> dict[str, Any]:
    """A key as the audit log shows it."""
    return {
        "name": key.name,
        "role": key.role.value,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "expires_at": rfc3339(key.expires_at),
        "hint": key.hint,
    }


def needed(pepper: Pepper | None) -> Pepper:
    """The pepper of digests; `Conflict` on a server that was started without one."""
    if pepper is None:
        raise Conflict("this server has no master key for keys and tickets: set FOLIOT_SECRET_KEY")
    return pepper
