"""Notices silence: monitors whose ping has not come in time become late, then down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.loop import rest_until
from foliot.features.alerts.judge import judge
from foliot.features.alerts.model.alert import ALERTS_TOPIC
from foliot.features.monitors.model import MONITORS_TOPIC, overdue
from foliot.features.monitors.sql import SqlMonitors
from foliot.wakeups.feed import Feed

BATCH = 500

log = structlog.get_logger("foliot.monitors")


@dataclass(frozen=True, slots=True)
class SilenceChecked:
    """How many monitors one round found overdue."""

    overdue: int
    rest: float


@dataclass(slots=True, kw_only=True)
class MonitorChecker:
    """Safe on every node: rows are locked, and a batch changes with its alerts in one transaction."""

    clock: Clock
    store: Database
    feed: Feed
    longest_rest: float = 5.0
    name: str = "monitor_checker"
    topics: Sequence[str] = (MONITORS_TOPIC,)

    async def run_once(self) -> SilenceChecked:
        now = self.clock.now()
        async with self.store.glance() as tx:
            following = await SqlMonitors(tx).next_alert()
        if following is None or following > now:
            return SilenceChecked(0, rest_until(following, now, self.longest_rest))
        async with self.store.begin() as tx:
            moved = [overdue(monitor, now) for monitor in await SqlMonitors(tx).lock_overdue(now, BATCH)]
            if not moved:
                # Locked by another process: it may be a ping, after which nothing is overdue.
                return SilenceChecked(0, 1.0)
            await SqlMonitors(tx).move([each.monitor for each in moved])
            await SqlMonitors(tx).miss([(each.monitor, each.missed) for each in moved if each.missed is not None])
            judged = await judge(tx, [each.finding for each in moved], now)
        for each in moved:
            event = each.finding.events[0].value
            found = {"monitor": each.monitor.id, "found": event}
            log.info("a monitor received no ping in time", action="monitor_overdue", **found)
        self.feed.wake(MONITORS_TOPIC, *([ALERTS_TOPIC] if judged else []))
        return SilenceChecked(len(moved), 0.0)
