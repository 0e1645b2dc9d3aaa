"""Signing in at the dashboard: what a browser keeps instead of a token, and links that sign somebody in once."""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import orjson

from foliot.domain.access import Caller, Door, Thing
from foliot.domain.errors import SessionOver, Unauthenticated
from foliot.ports import Clock, Store
from foliot.ports.keys import LOGIN_PURPOSE, SESSION_PURPOSE, Pepper, Ticket
from foliot.usecases.again import again
from foliot.usecases.once import EACH_TIME, Once
from foliot.usecases.tickets import NewTicket, Tickets, stands_for, written
from foliot.usecases.trail import Change, record

LINK_LASTS = timedelta(minutes=5)
LONGEST = timedelta(days=30)
"""Of a session whose token or key has no nearer end."""
PREFIX = "ses_"


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a browser keeps, and until when."""

    text: str
    expires_at: datetime

    def __repr__(self) -> str:
        return "NewSession(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """Nothing of a session is stored: it says who it is for, sealed, and ends with what was shown to begin it."""

    store: Store
    clock: Clock
    pepper: Pepper | None

    @property
    def _links(self) -> Tickets:
        return Tickets(
            store=self.store,
            clock=self.clock,
            pepper=self.pepper,
            prefix="lgn_",
            purpose=LOGIN_PURPOSE,
            lasts=LINK_LASTS,
        )

    async def link(self, caller: Caller, once: Once = EACH_TIME) -> NewTicket:
        """A code that signs this caller in, once, within five minutes."""
        return await self._links.issue(caller, once)

    async def redeem(self, code: str) -> Caller:
        """Whom the code signs in; it is gone then. `Unauthenticated` when it was taken, is too old or never was."""
        return await self._links.take(code)

    @again
    async def begin(self, caller: Caller, shown: str | None = None) -> NewSession:
        """A session of this caller, remembered in the trail. Without a master key it is what was `shown`, itself."""
        caller = replace(caller, door=Door.DASHBOARD)
        now = self.clock.now()
        ends = min(caller.expires_at or now + LONGEST, now + LONGEST)
        if self.pepper is None and shown is None:
            raise Unauthenticated
        text = shown if self.pepper is None else self._seal(self.pepper, replace(caller, expires_at=ends))
        async with self.store.begin(caller.tenant_id) as tx:
            became = {"role": caller.role.value}
            await record(tx, caller, now, Change("sign_in", Thing.SESSION, caller.user_id, became=became))
        return NewSession(text or "", ends)

    def caller(self, text: str) -> Caller:
        """Whom a sealed session is for; whether what began it still counts is for others to ask."""
        payload, _, seal = text.removeprefix(PREFIX).rpartition(".")
        if self.pepper is None or not payload or not seal.isascii():
            raise SessionOver
        if not any(hmac.compare_digest(seal, digest) for _, digest in self.pepper.digests(SESSION_PURPOSE, payload)):
            raise SessionOver
        try:
            said = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            found = stands_for(Ticket(tenant_id=said["tenant_id"], caller=said, expires_at=self.clock.now()))
        except (binascii.Error, orjson.JSONDecodeError, KeyError, TypeError, Unauthenticated):
            raise SessionOver from None
        if found.expires_at is None or found.expires_at <= self.clock.now():
            raise SessionOver
        return found

    def _seal(self, pepper: Pepper, caller: Caller) -> str:
        said = orjson.dumps({"tenant_id": caller.tenant_id, **written(caller)})
        payload = base64.urlsafe_b64encode(said).decode().rstrip("=")
        _, digest = pepper.digest(SESSION_PURPOSE, payload)
        return f"{PREFIX}{payload}.{digest}"
