"""Remembers which hosts need a browser, and which it does not help."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import timedelta

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.fetching.sql.rendered_hosts import SqlRenderedHosts

FRESH = 30.0
"""Seconds until what another process has learnt is noticed."""
TENANTS = 1000
TRIES = 3
"""Pages in a row at which a browser found no more than plain HTTP."""
REST = 3600.0
"""Seconds for which it is then not asked for further pages of the host."""
HOSTS = 10_000


@dataclass(slots=True)
class _Vain:
    """Pages of a host at which a browser was of no help."""

    tries: int = 0
    until: float = 0.0


@dataclass(slots=True, kw_only=True)
class RenderMemory:
    """By tenant and host; what helps is stored with an expiry, what does not is known to this process alone."""

    store: Database
    clock: Clock
    keep: timedelta = timedelta(days=7)
    _known: OrderedDict[str, tuple[float, set[str]]] = field(default_factory=OrderedDict)
    _vain: OrderedDict[tuple[str, str], _Vain] = field(default_factory=OrderedDict)

    async def needs(self, tenant_id: str, host: str) -> bool:
        """Whether pages of this host are rendered at once."""
        known = self._known.get(tenant_id)
        if known is None or self.clock.monotonic() - known[0] > FRESH:
            async with self.store.glance() as tx:
                hosts = await SqlRenderedHosts(tx).of(tenant_id, self.clock.now())
            known = self._known[tenant_id] = (self.clock.monotonic(), hosts)
            if len(self._known) > TENANTS:
                self._known.popitem(last=False)
        return host in known[1]

    def may_help(self, tenant_id: str, host: str) -> bool:
        """Whether a browser may be asked when plain HTTP found nothing."""
        vain = self._vain.get((tenant_id, host))
        return vain is None or vain.tries < TRIES or vain.until <= self.clock.monotonic()

    async def learn(self, tenant_id: str, host: str, *, helped: bool) -> None:
        """A browser was asked; `helped`: it found what plain HTTP had not."""
        if not helped:
            vain = self._vain.setdefault((tenant_id, host), _Vain())
            vain.tries += 1
            vain.until = self.clock.monotonic() + REST
            if len(self._vain) > HOSTS:
                self._vain.popitem(last=False)
            return
        self._vain.pop((tenant_id, host), None)
        if known := self._known.get(tenant_id):
            known[1].add(host)
        async with self.store.begin() as tx:
            await SqlRenderedHosts(tx).put(tenant_id, host, self.clock.now() + self.keep)
