"""Monitors whose jobs are late, fail or are silent, as entries of what needs attention."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.core.access import Caller, Thing, Verb, may
from foliot.db.database import Transaction
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind, AttentionRequest, Severity
from foliot.features.monitors.model import JobMonitor, MonitorStatus
from foliot.features.monitors.sql import SqlMonitors

EACH = 20


async def silent_monitors(tx: Transaction, caller: Caller) -> Sequence[AttentionEntry]:
    """Those that are late or down, the first of them by name."""
    if not may(caller, Verb.READ, Thing.MONITOR):
        return ()
    return [_entry(monitor) for monitor in await SqlMonitors(tx).unwell(caller.tenant_id, EACH)]


def _entry(monitor: JobMonitor) -> AttentionEntry:
    down = monitor.status is MonitorStatus.DOWN
    return AttentionEntry(
        kind=AttentionKind.MONITOR,
        key=monitor.id,
        severity=Severity.FAILED if down else Severity.ATTENTION,
        title=f"Monitor {monitor.settings.name}",
        reason="its job reported a failure or sent no ping" if down else "its ping is late",
        since=monitor.gap_first or monitor.next_expected_at or monitor.last_ping_at,
        actions=[AttentionRequest("Pause", "POST", f"/api/monitors/{monitor.id}/pause", (Verb.WRITE, Thing.MONITOR))],
    )
