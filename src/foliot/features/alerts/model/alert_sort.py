"""The orders in which alerts can be listed."""

from __future__ import annotations

from enum import StrEnum

from foliot.core import sort
from foliot.core.sort import SortOrder, written_pair
from foliot.features.alerts.model.alert import Alert, AlertState
from foliot.features.alerts.model.rule import AlertSeverity


class AlertSortKey(StrEnum):
    """What alerts are sorted by."""

    OPENED_AT = "opened_at"
    LAST_AT = "last_at"
    SEVERITY = "severity"
    STATE = "state"
    COUNT = "count"
    NAME = "name"


ALERT_SORTS = sort.both_ways(AlertSortKey)
AlertSort = SortOrder[AlertSortKey]
SEVERITIES = {AlertSeverity.WARNING: 1, AlertSeverity.CRITICAL: 2}
STATES = {AlertState.OPEN: 1, AlertState.ACKNOWLEDGED: 2, AlertState.RESOLVED: 3}
NAMED = 40
"""Characters of a name that alerts are sorted by."""


def read_alert_sort(text: str | None) -> AlertSort | None:
    """The order with this name, None for none; `Invalid` names those that are known."""
    if text is None:
        return None
    key, down = sort.read_sort(text, ALERT_SORTS)
    return AlertSort(AlertSortKey(key), down)


def alert_place(alert: Alert, order: AlertSort | None) -> str:
    """The position of what follows this alert."""
    if order is None:
        return alert.id
    value = {
        AlertSortKey.OPENED_AT: alert.opened_at,
        AlertSortKey.LAST_AT: alert.last_at,
        AlertSortKey.SEVERITY: SEVERITIES[alert.severity],
        AlertSortKey.STATE: STATES[alert.state],
        AlertSortKey.COUNT: alert.count,
        AlertSortKey.NAME: alert.subject.name.lower()[:NAMED],
    }[order.key]
    return written_pair(value, alert.id)
