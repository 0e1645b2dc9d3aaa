"""Dashboard sessions (sealed cookies that a row can revoke), login links, and single-use tickets of a caller.

Lists the users seen in a tenant. There is no table of users: tokens name them, the audit log has their actions.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from foliot.auth.identity import (
    LOGIN_PURPOSE,
    SESSION_PURPOSE,
    TICKET_PURPOSE,
    Identity,
    KeyRecord,
    Pepper,
    StoredSession,
    StoredTicket,
)
from foliot.commands.audit import AuditedChange
from foliot.commands.audit_sql import AuditEntry, SqlAuditLog
from foliot.commands.envelope import CommandContext, QueryContext, again, command, query, requires, unchecked_command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Interface, Role, Thing, Verb
from foliot.core.document import moment, rfc3339
from foliot.core.errors import Invalid, SessionOver, Unauthenticated
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.api_keys.sql import SqlKeys
from foliot.features.api_keys.usecases import needed
from foliot.wakeups.feed import Feed

RECENT = 20_000
"""Entries of the audit log that are read; the newest."""
KEYS = SIGN_INS = 500


@dataclass(slots=True)
class SeenMember:
    """A user, or an API key under the name that the audit log has for it."""

    user_id: str
    roles: set[Role] = field(default_factory=set)
    keys: int = 0
    """Valid API keys that they created."""
    last_seen_at: datetime | None = None
    last_action: str | None = None

    def seen(self, at: datetime | None) -> None:
        if at is not None and (self.last_seen_at is None or at > self.last_seen_at):
            self.last_seen_at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """List the members of a tenant."""

    store: Database
    clock: Clock

    @query(Verb.READ, Thing.KEY)
    async def list(self, ctx: QueryContext) -> Sequence[SeenMember]:
        """Latest first."""
        async with ctx.read() as tx:
            keys = await SqlKeys(tx).find(ctx.tenant_id, PageRequest(KEYS))
            latest = await SqlAuditLog(tx).latest_of_each(ctx.tenant_id, RECENT)
            signed_in = await SqlAuditLog(tx).find(ctx.tenant_id, PageRequest(SIGN_INS), verb="sign_in")
        activity = _MemberActivity()
        for key in keys:
            activity.key(key, self.clock.now())
        for entry in latest:
            activity.acted(entry)
        for entry in signed_in:
            activity.signed_in(entry)
        return activity.ordered()


@dataclass(slots=True)
class _MemberActivity:
    members: dict[str, SeenMember] = field(default_factory=dict)

    def of(self, user_id: str) -> SeenMember:
        return self.members.setdefault(user_id, SeenMember(user_id))

    def key(self, key: KeyRecord, now: datetime) -> None:
        if not key.counts(now):
            return
        self.of(key.created_by).keys += 1
        own = self.of(key.caller().user_id)
        own.roles.add(key.role)
        own.seen(key.last_used_at)

    def acted(self, entry: AuditEntry) -> None:
        member = self.of(entry.user_id)
        member.seen(entry.at)
        member.last_action = f"{entry.verb} {entry.thing}"

    def signed_in(self, entry: AuditEntry) -> None:
        role = (entry.became or {}).get("role")
        if role in set(Role):
            self.of(entry.user_id).roles.add(Role(role))

    def ordered(self) -> list[SeenMember]:
        everybody = sorted(self.members.values(), key=lambda one: one.user_id)
        return sorted(everybody, key=lambda one: -one.last_seen_at.timestamp() if one.last_seen_at else 0)


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


LOGIN_PREFIX = "lgn_"
LINK_LASTS = timedelta(minutes=5)
LONGEST = timedelta(days=30)
"""The lifetime of a session whose token or key has no earlier expiry."""
PREFIX = "ses_"
SEAM = "~"
"""Separates a token from its session's id, where no master key seals the two; no token contains it."""
FRESH = 2.0
"""Seconds for which another process may accept an ended session; a stream checks every second: it ends within four."""
REMEMBERED = 10_000
LARGEST = 3800
"""Characters of a session; browsers silently drop a cookie of more than 4096."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """The cookie's value, and its expiry."""

    text: str
    expires_at: datetime

    def __repr__(self) -> str:
        return "NewSession(…)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """A sealed session names its caller; it ends with its row in the store, or with the credential that began it."""

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
            prefix=LOGIN_PREFIX,
            purpose=LOGIN_PURPOSE,
            lasts=LINK_LASTS,
        )

    @requires(Verb.WRITE, Thing.TICKET)
    async def link(self, caller: Caller, once: IdempotentRequest = EACH_TIME) -> NewTicket:
        """A code that signs this caller in, once, within five minutes."""
        return await self._links.issue(caller, once)

    async def redeem(self, code: str) -> Caller:
        """The code's caller; deletes it. `Unauthenticated` when it was used, has expired or does not exist."""
        return await self._links.take(code)

    async def begin(self, caller: Caller, shown: str | None = None) -> NewSession:
        """A session of this caller, with an audit entry. Without a master key it is `shown`, the credential."""
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
        """End every session of this caller's user, in all browsers; returns how many there were."""
        tx = await ctx.begin()
        count = await SqlKeys(tx).end_sessions(ctx.tenant_id, ctx.caller.user_id)
        if count:
            change = AuditedChange("sign_out_everywhere", Thing.SESSION, ctx.caller.user_id, became={"sessions": count})
            ctx.audit(change)
        ctx.after_commit(self._seen.clear)
        return count

    async def counts(self, caller: Caller) -> bool:
        """Whether the caller's session is valid, from a cache of two seconds."""
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
        """The same identity, for which a caller is valid no longer than their session."""
        return _SessionIdentity(identity, self)

    def caller(self, text: str) -> Caller:
        """The caller of a sealed session; whether the credential that began it is still valid is checked elsewhere."""
        payload, _, seal = text.removeprefix(PREFIX).rpartition(".")
        if self.pepper is None or not payload or not seal.isascii():
            raise SessionOver
        if not any(hmac.compare_digest(seal, digest) for _, digest in self.pepper.digests(SESSION_PURPOSE, payload)):
            raise SessionOver
        try:
            document = orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            caller = stands_for(
                StoredTicket(tenant_id=document["tenant_id"], caller=document, expires_at=self.clock.now())
            )
        except (binascii.Error, orjson.JSONDecodeError, KeyError, TypeError, Unauthenticated):
            raise SessionOver from None
        if caller.expires_at is None or caller.expires_at <= self.clock.now():
            raise SessionOver
        return caller

    def _seal(self, pepper: Pepper, caller: Caller) -> str:
        said = orjson.dumps({"tenant_id": caller.tenant_id, **written(caller)})
        payload = base64.urlsafe_b64encode(said).decode().rstrip("=")
        _, digest = pepper.digest(SESSION_PURPOSE, payload)
        return f"{PREFIX}{payload}.{digest}"


@dataclass(frozen=True, slots=True)
class _SessionIdentity:
    """Checks the session first, then the credential that began it."""

    identity: Identity
    sessions: Sessions

    async def caller(self, bearer: str) -> Caller:
        return await self.identity.caller(bearer)

    async def still(self, caller: Caller) -> bool:
        return await self.sessions.counts(caller) and await self.identity.still(caller)


async def session_caller(identity: Identity, sessions: Sessions, session: str) -> Caller:
    """The session's caller; `SessionOver` when it, or the credential that began it, is no longer valid."""
    if not 0 < len(session) <= LARGEST or not session.isascii():
        raise SessionOver
    try:
        caller = await _caller(identity, sessions, session)
    except Unauthenticated:
        raise SessionOver from None
    if not await identity.still(caller):
        raise SessionOver
    return replace(caller, interface=Interface.DASHBOARD)


async def _caller(identity: Identity, sessions: Sessions, session: str) -> Caller:
    if session.startswith(PREFIX):
        return sessions.caller(session)
    token, seam, session_id = session.rpartition(SEAM)
    if not seam:
        raise SessionOver
    return replace(await identity.caller(token), session_id=session_id)
