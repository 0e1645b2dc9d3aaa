"""Creates invitations. An invitation is an API key whose text is thrown away, and a ticket that signs in as it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.auth.identity import LOGIN_PURPOSE, KeyRecord, Pepper, StoredTicket
from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.declaration import read
from foliot.core.document import rfc3339
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.api_keys.sql import SqlKeys
from foliot.features.api_keys.usecases import ApiKeys, needed
from foliot.features.invites.model import InviteRequest
from foliot.features.sessions.usecases import LOGIN_PREFIX, written
from foliot.wakeups.feed import Feed


@dataclass(frozen=True, slots=True)
class IssuedInvite:
    """The key that holds the access, and the code of the link, which is not stored."""

    key: KeyRecord
    code: str
    link_expires_at: datetime

    def __repr__(self) -> str:
        return f"IssuedInvite({self.key.id})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invites:
    """Invites people; revoking their key ends their sessions, and a link that was not used yet."""

    store: Database
    clock: Clock
    feed: Feed
    pepper: Pepper | None
    keys: ApiKeys

    @command(Verb.WRITE, Thing.KEY)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> IssuedInvite:
        """Bound by the same rights as the creation of a key."""
        pepper = needed(self.pepper)
        asked = read(InviteRequest, raw)
        tx = await ctx.begin()
        access = {"name": asked.name, "role": asked.role.value, "expires_at": rfc3339(asked.expires_at)}
        issued = await self.keys.issue(ctx, access, verb="invite")
        code = f"{LOGIN_PREFIX}{secrets.token_urlsafe(32)}"
        ends = ctx.now + timedelta(hours=asked.link_hours)
        if issued.key.expires_at is not None:
            ends = min(ends, issued.key.expires_at)
        _, digest = pepper.digest(LOGIN_PURPOSE, code)
        ticket = StoredTicket(tenant_id=ctx.tenant_id, caller=written(issued.key.caller()), expires_at=ends)
        await SqlKeys(tx).put_ticket(digest, ticket)
        return IssuedInvite(issued.key, code, ends)
