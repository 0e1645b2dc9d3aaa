"""Sessions for the fetcher of a process: opened cookies, kept a few seconds, and what answers change of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database
from foliot.features.fetching.browser_actions import BrowserActions
from foliot.features.fetching.page_session import PageSession, SessionUnusable
from foliot.features.host_sessions.cookies import header_for, read, updated
from foliot.features.host_sessions.model import FRESH, RETRY, HostSession
from foliot.features.host_sessions.sql import SqlHostSessions

HELD = 5.0
"""Seconds until what another process has changed is noticed."""
NAMES = 1000


@dataclass(slots=True, kw_only=True)
class HostSessionStore:
    """Implements `PageSessions` by the table of sessions."""

    store: Database
    clock: Clock
    vault: Vault | None
    _known: OrderedDict[tuple[str, str], tuple[float, Sequence[HostSession]]] = field(default_factory=OrderedDict)
    """By tenant and name."""

    async def find(self, tenant_id: str, name: str, host: str, *, anew: bool = False) -> PageSession | None:
        sessions = await self._named(tenant_id, name, anew=anew)
        if not sessions:
            words = f"There is no session {name!r}: create it with foliot host session set."
            raise SessionUnusable("session_missing", words)
        host = host.partition(":")[0] if not any(each.host == host for each in sessions) else host
        of_host = [each for each in sessions if each.matches(host)]
        if not of_host:
            return None
        session = max(of_host, key=lambda each: len(each.host))
        now = self.clock.now()
        due = session.due(now)
        if due and session.failed_lately(now):
            words = f"The session {name!r} could not sign in: {session.problem}"
            raise SessionUnusable("sign_in_failed", words[:500], RETRY.total_seconds())
        if session.cookies is None and not due:
            words = f"The cookies of the session {name!r} cannot be decrypted: give it new ones."
            raise SessionUnusable("session_unusable", words)
        sign_in = session.sign_in
        return PageSession(
            tenant_id=tenant_id,
            host=session.host,
            name=name,
            cookies=session.cookies or (),
            login=None if sign_in is None else sign_in.url,
            actions=BrowserActions() if sign_in is None else sign_in.actions,
            due=due,
            fresh=session.signed_in_at is not None and session.signed_in_at + FRESH > now,
        )

    def header(self, session: PageSession, url: str) -> str:
        return header_for(session.cookies, url)

    async def answered(self, session: PageSession, url: str, lines: Sequence[str]) -> None:
        if lines and updated(session.cookies, url, lines) != list(session.cookies):
            await self._keep(session, lambda cookies: updated(cookies, url, lines), signed_in=False)

    async def replaced(self, session: PageSession, cookies: Sequence[Mapping[str, Any]], *, signed_in: bool) -> None:
        given = read(list(cookies))
        if signed_in or given != list(session.cookies):
            await self._keep(session, lambda _: given, signed_in=signed_in)

    async def ended(self, session: PageSession) -> None:
        async with self.store.begin(session.tenant_id) as tx:
            await SqlHostSessions(tx).mark(_of(session, self.clock.now()), signed_in_at=None, sealed=None, cookies=0)
        self._forget(session)

    async def failed(self, session: PageSession, why: str) -> None:
        now = self.clock.now()
        async with self.store.begin(session.tenant_id) as tx:
            await SqlHostSessions(tx).mark(_of(session, now), tried_at=now, problem=why[:500])
        self._forget(session)

    async def _keep(self, session: PageSession, change: Any, *, signed_in: bool) -> None:
        """Under the lock of the row: what another process has stored meanwhile is changed, and not replaced."""
        now = self.clock.now()
        async with self.store.begin(session.tenant_id) as tx:
            sessions = SqlHostSessions(tx)
            known = await sessions.get(session.tenant_id, session.host, session.name, self.vault, lock=True)
            if known is None:
                return
            cookies = change(known.cookies or ())
            await sessions.keep(known, cookies, self.vault, now, signed_in=signed_in)
        self._forget(session)

    def _forget(self, session: PageSession) -> None:
        self._known.pop((session.tenant_id, session.name), None)

    async def _named(self, tenant_id: str, name: str, *, anew: bool) -> Sequence[HostSession]:
        known = self._known.get((tenant_id, name))
        if known is None or anew or self.clock.monotonic() - known[0] > HELD:
            async with self.store.glance() as tx:
                sessions = await SqlHostSessions(tx).of_tenant(tenant_id, self.vault, name)
            known = self._known[tenant_id, name] = (self.clock.monotonic(), sessions)
            if len(self._known) > NAMES:
                self._known.popitem(last=False)
        return known[1]


def _of(session: PageSession, now: datetime) -> HostSession:
    return HostSession(tenant_id=session.tenant_id, host=session.host, name=session.name, updated_at=now, created_by="")
