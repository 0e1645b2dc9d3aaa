"""How the targets of webhooks fare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.domain.access import Caller, Thing, Verb, demand
from foliot.domain.endpoint import Endpoint, endpoints
from foliot.ports import Clock, Store

OVER = timedelta(hours=24)
MOST_RUNS = 2000
"""Runs that one answer looks at; of more, the newest."""
MOST = 200
NAMED = 5
"""Schedules that are named of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """Those who were called, the worst first."""

    since: datetime
    whole: bool
    """Whether all calls since then were looked at, or only those of the newest runs."""
    total: int
    items: Sequence[Endpoint]
    names: Mapping[str, str]
    """Of schedules, by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Nobody keeps a list of them: they are whoever was called lately."""

    store: Store
    clock: Clock

    async def list(self, caller: Caller) -> Called:
        demand(caller, Verb.READ, Thing.RUN)
        since = self.clock.now() - OVER
        async with self.store.read(caller.tenant_id) as tx:
            calls, whole = await tx.endpoints.calls(caller.tenant_id, since, MOST_RUNS)
            found = endpoints(calls)
            shown = found[:MOST]
            ids = sorted({each for one in shown for each in one.schedule_ids[:NAMED]})
            names = await tx.history.names(caller.tenant_id, ids)
        return Called(since=since, whole=whole, total=len(found), items=shown, names=names)
