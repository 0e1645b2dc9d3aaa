"""Sessions of the dashboard: what a browser keeps instead of a token, how it ends, and links that begin one once."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import orjson

from foliot.auth.digest import LOGIN_PURPOSE, SESSION_PURPOSE, Pepper, StoredSession, StoredTicket
from foliot.auth.identity_port import Identity
from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, command, requires, unchecked_command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Interface, Thing, Verb
from foliot.core.errors import SessionOver, Unauthenticated
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.api_keys.sql import SqlKeys
from foliot.features.sessions.usecases.tickets import NewTicket, Tickets, stands_for, written
from foliot.wakeups.feed import Feed

LINK_LASTS = timedelta(minutes=5)
LONGEST = timedelta(days=30)
"""Of a session whose token or key has no nearer end."""
PREFIX = "ses_"
SEAM = "~"
"""Between a token and the id of its session, where no master key seals the two; no token holds it."""
FRESH = 2.0
"""Seconds for which an ended session may go on in another process; a stream asks every second: it ends within four."""
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a browser keeps, and until when."""

    text: str
    expires_at: datetime

    def __repr__(self) -> str:
        return "NewSession(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """A session says who it is for, sealed; it ends with its row in the store, and with what was shown to begin it."""

    store: Database
    clock: Clock
    feed: Feed
    pepper: Pepper | None
    _seen: OrderedDict[str, tuple[float, bool]] = field(init=False, default_factory=OrderedDict, repr=False)

    @property
    def _links(self) -> Tickets:
        return Tickets(
            store=self.store,
            clock=self.clock,
            feed=self.feed,
            pepper=self.pepper,
            prefix="lgn_",
            purpose=LOGIN_PURPOSE,
            lasts=LINK_LASTS,
        )

    @requires(Verb.WRITE, Thing.TICKET)
    async def link(self, caller: Caller, once: IdempotentRequest = EACH_TIME) -> NewTicket:
        """A code that signs this caller in, once, within five minutes."""
        return await self._links.issue(caller, once)

    async def redeem(self, code: str) -> Caller:
        """Whom the code signs in; it is gone then. `Unauthenticated` when it was taken, is too old or never was."""
        return await self._links.take(code)

    async def begin(self, caller: Caller, shown: str | None = None) -> NewSession:
        """A session of this caller, with an audit entry. Without a master key it is what was `shown`, itself."""
        session_id = secrets.token_hex(16)
        caller = replace(caller, interface=Interface.DASHBOARD, session_id=session_id)
        now = self.clock.now()
        ends = min(caller.expires_at or now + LONGEST, now + LONGEST)
        if self.pepper is None and shown is None:
            raise Unauthenticated
        sealed = None if self.pepper is None else self._seal(self.pepper, replace(caller, expires_at=ends))
        begun = StoredSession(
            id=session_id, tenant_id=caller.tenant_id, user_id=caller.user_id, begun_at=now, expires_at=ends
        )
        await self._begin(caller, begun)
        return NewSession(sealed or f"{shown}{SEAM}{session_id}", ends)

    @unchecked_command
    async def _begin(self, ctx: CommandContext, begun: StoredSession) -> None:
        tx = await ctx.begin()
        await SqlKeys(tx).begin_session(begun)
        became = {"role": ctx.caller.role.value}
        ctx.audit(AuditedChange("sign_in", Thing.SESSION, ctx.caller.user_id, became=became))

    @unchecked_command
    async def end(self, ctx: CommandContext) -> bool:
        """End the session of this caller, here at once and everywhere within five seconds. False: it had none."""
        session_id = ctx.caller.session_id
        if session_id is None:
            return False
        tx = await ctx.begin()
        ended = await SqlKeys(tx).end_session(ctx.tenant_id, session_id)
        if ended:
            ctx.audit(AuditedChange("sign_out", Thing.SESSION, ctx.caller.user_id))
        ctx.after_commit(lambda: self._seen.pop(session_id, None))
        return ended

    @command(Verb.WRITE, Thing.TICKET)
    async def end_all(self, ctx: CommandContext) -> int:
        """End every session of this caller's user, wherever they signed in; says how many there were."""
        tx = await ctx.begin()
        count = await SqlKeys(tx).end_sessions(ctx.tenant_id, ctx.caller.user_id)
        if count:
            told = AuditedChange("sign_out_everywhere", Thing.SESSION, ctx.caller.user_id, became={"sessions": count})
            ctx.audit(told)
        ctx.after_commit(self._seen.clear)
        return count

    async def counts(self, caller: Caller) -> bool:
        """Whether the session of this caller goes on, as far as was known two seconds ago."""
        if caller.session_id is None:
            return True
        at, session_id = self.clock.monotonic(), caller.session_id
        seen = self._seen.get(session_id)
        if seen is None or not 0 <= at - seen[0] < FRESH:
            async with self.store.glance() as tx:
                seen = at, await SqlKeys(tx).has_session(caller.tenant_id, session_id)
            self._seen[session_id] = seen
            while len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        return seen[1]

    def over(self, identity: Identity) -> Identity:
        """The same identity, to which a caller counts no longer than their session."""
        return _SessionIdentity(identity, self)

    def caller(self, text: str) -> Caller:
        """Whom a sealed session is for; whether what began it still counts is for others to ask."""
        payload, _, seal = text.removeprefix(PREFIX).rpartition(".")
        if self.pepper is None or not payload or not seal.isascii():
            raise SessionOver
        if not any(hmac.compare_digest(seal, digest) for _, digest in self.pepper.digests(SESSION_PURPOSE, payload)):
            raise SessionOver
        try:
            said = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            found = stands_for(StoredTicket(tenant_id=said["tenant_id"], caller=said, expires_at=self.clock.now()))
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


@dataclass(frozen=True, slots=True)
class _SessionIdentity:
    """Asks the session first, and then whoever knows what was shown to begin it."""

    identity: Identity
    sessions: Sessions

    async def caller(self, bearer: str) -> Caller:
        return await self.identity.caller(bearer)

    async def still(self, caller: Caller) -> bool:
        return await self.sessions.counts(caller) and await self.identity.still(caller)
