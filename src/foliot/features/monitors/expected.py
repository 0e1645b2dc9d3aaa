"""Expected pings of monitors in the timeline and in the calendar: those that came, were missed, and are to come."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.core.access import Caller, Thing, Verb, may
from foliot.db.database import Transaction
from foliot.engine.model.planned_counts import FiringState
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule_sort import Urgency
from foliot.features.insights.model.history import HistoryWindow
from foliot.features.insights.model.timeline import TimelineLane, TimelinePoint
from foliot.features.monitors.model import JobMonitor, MonitorStatus, Ping, PingKind
from foliot.features.monitors.sql import SqlMonitors, SqlPings

MOST_LANES = 20
"""Rows of monitors in one timeline: those that are down or late first."""
MOST_ENTRIES = 1000
KIND = "monitor"
_ORDER = {MonitorStatus.DOWN: Urgency.MISSED, MonitorStatus.LATE: Urgency.LATE, MonitorStatus.UP: Urgency.SOON}


async def monitor_lanes(
    tx: Transaction, caller: Caller, stretch: HistoryWindow
) -> Sequence[tuple[TimelineLane, FiringState | None]]:
    """A row for each of the most urgent monitors, without its planned marks, and what it has planned."""
    if not may(caller, Verb.READ, Thing.MONITOR):
        return ()
    urgencies = list(Urgency)
    known = sorted(
        await SqlMonitors(tx).of_tenant(caller.tenant_id),
        key=lambda one: (urgencies.index(_ORDER.get(one.status, Urgency.IDLE)), one.settings.name.casefold()),
    )[:MOST_LANES]
    if not known:
        return ()
    lanes = {one.id: _lane(one) for one in known}
    for ping in await SqlPings(tx).ends(caller.tenant_id, list(lanes), stretch.start, stretch.end):
        lanes[ping.monitor_id].marks.append(_mark(ping))
    found = await SqlMonitors(tx).missed(caller.tenant_id, list(lanes), stretch.start, stretch.end, MOST_ENTRIES)
    for monitor_id, entry in found:
        first, last = max(entry.first, stretch.start), min(entry.last, stretch.end)
        lanes[monitor_id].marks.append(TimelinePoint(first, last, entry.fate.value, entry.count))
    return [(lanes[one.id], _plan(one)) for one in known]


async def monitor_plans(tx: Transaction, caller: Caller) -> Sequence[FiringState]:
    """When the pings of every monitor are expected."""
    if not may(caller, Verb.READ, Thing.MONITOR):
        return ()
    return [plan for one in await SqlMonitors(tx).of_tenant(caller.tenant_id) if (plan := _plan(one)) is not None]


def _plan(monitor: JobMonitor) -> FiringState | None:
    first = monitor.next_expected_at
    return None if first is None else FiringState(monitor.settings.planned(first), first)


def _lane(monitor: JobMonitor) -> TimelineLane:
    trigger = monitor.settings.trigger
    urgency = _ORDER.get(monitor.status, Urgency.IDLE)
    return TimelineLane(
        monitor.id, monitor.settings.name, KIND, summary=trigger.summary, timezone=trigger.rule.zone, urgency=urgency
    )


def _mark(ping: Ping) -> TimelinePoint:
    state = RunState.SUCCESS if ping.kind is PingKind.SUCCESS else RunState.FAILED
    return TimelinePoint(ping.began, ping.at, state.value)
