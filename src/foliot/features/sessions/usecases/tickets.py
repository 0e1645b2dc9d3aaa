"""Single-use tickets that authenticate a caller: for one stream, where browsers cannot set headers, or to sign in."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.auth.digest import TICKET_PURPOSE, Pepper, StoredTicket
from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.retry_on_conflict import again
from foliot.core.access import Caller, Interface, Role, Thing, Verb
from foliot.core.document import moment, rfc3339
from foliot.core.errors import Invalid, Unauthenticated
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.api_keys.sql import SqlKeys
from foliot.features.api_keys.usecases import needed
from foliot.wakeups.feed import Feed

LASTS = timedelta(seconds=60)
_SHAPE = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class NewTicket:
    """A new ticket; its text is shown only once."""

    text: str
    expires_at: datetime

    def __repr__(self) -> str:
        return "NewTicket(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tickets:
    """Issue and redeem tickets. A ticket is valid for one purpose."""

    store: Database
    clock: Clock
    feed: Feed
    pepper: Pepper | None
    prefix: str = "tkt_"
    purpose: str = TICKET_PURPOSE
    lasts: timedelta = LASTS

    @command(Verb.WRITE, Thing.TICKET)
    async def issue(self, ctx: CommandContext, once: IdempotentRequest = EACH_TIME) -> NewTicket:
        """A ticket that authenticates this caller, once."""
        text = f"{self.prefix}{secrets.token_urlsafe(32)}"
        _, digest = needed(self.pepper).digest(self.purpose, text)
        tx = await ctx.begin()
        new = NewTicket(text, ctx.now + self.lasts)
        ticket = StoredTicket(tenant_id=ctx.tenant_id, caller=written(ctx.caller), expires_at=new.expires_at)
        await SqlKeys(tx).put_ticket(digest, ticket)
        return new

    @again
    async def take(self, text: str) -> Caller:
        """The ticket's caller; deletes it. `Unauthenticated` when it was used, has expired or does not exist."""
        known = text.startswith(self.prefix) and _SHAPE.fullmatch(text.removeprefix(self.prefix))
        if self.pepper is None or not known:
            raise Unauthenticated
        # Outside the use case decorator: only the ticket says who the caller is, and of which tenant.
        digests = [digest for _, digest in self.pepper.digests(self.purpose, text)]
        async with self.store.begin() as tx:
            ticket = await SqlKeys(tx).take_ticket(digests)
        if ticket is None or ticket.expires_at <= self.clock.now():
            raise Unauthenticated
        return stands_for(ticket)


def written(caller: Caller) -> dict[str, Any]:
    """A caller as a document; the tenant is stored beside it."""
    return {
        "user_id": caller.user_id,
        "role": caller.role.value,
        "door": caller.interface.value,
        "scopes": None if caller.scopes is None else sorted(caller.scopes),
        "key_id": caller.key_id,
        "expires_at": rfc3339(caller.expires_at),
        "kid": caller.kid,
        "session_id": caller.session_id,
    }


def stands_for(ticket: StoredTicket) -> Caller:
    """The caller it names; `Unauthenticated` when that cannot be read."""
    document: Mapping[str, Any] = ticket.caller
    try:
        return Caller(
            ticket.tenant_id,
            document["user_id"],
            Role(document["role"]),
            interface=Interface(document["door"]),
            scopes=None if document["scopes"] is None else frozenset(document["scopes"]),
            key_id=document["key_id"],
            expires_at=None if document["expires_at"] is None else moment("expires_at", document["expires_at"]),
            kid=document.get("kid"),
            session_id=document.get("session_id"),
        )
    except (KeyError, TypeError, ValueError, Invalid):
        # A damaged row authenticates no one.
        raise Unauthenticated from None
