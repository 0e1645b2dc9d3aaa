"""Lists the users seen in a tenant. There is no table of users: tokens name them, the audit log has their actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from foliot.auth.identity import KeyRecord
from foliot.commands.audit_sql import AuditEntry, SqlAuditLog
from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Role, Thing, Verb
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.api_keys.sql import SqlKeys

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
