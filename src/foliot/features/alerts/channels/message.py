"""Messages: what a notification says, in plain text and as the document that webhooks receive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.features.alerts.model.alert import Alert, DeliveryEvent, clipped

MOST_LISTED = 20
"""Alerts that a message about many lists; the rest is counted."""
TITLE = 200
LINE = 500


@dataclass(frozen=True, slots=True)
class LastChange:
    """The newest edit of a schedule: its version, when, and by whom."""

    version: int
    at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One notification about one alert, or about many of one rule."""

    id: str
    """The same for every attempt, so that a receiver recognises a repetition."""
    event: DeliveryEvent
    alerts: Sequence[Alert]
    rule_name: str
    now: datetime
    links: Mapping[str, str] = field(default_factory=dict)
    changes: Mapping[str, LastChange] = field(default_factory=dict)
    """By the id of the schedule."""
    incident: str = ""
    """The key of the incident that it opens or closes, where the service keeps incidents."""
    ends: bool = True
    """Whether a report that something is over closes the incident: that of a storm stays while an alert is open."""

    def about(self, alerts: Sequence[Alert], incident: str, *, ends: bool = True) -> Message:
        """The same for one incident."""
        return replace(self, alerts=alerts, incident=incident, ends=ends)

    @property
    def closes(self) -> bool:
        return self.event is DeliveryEvent.RESOLVED and self.ends

    def linked(self, links: Mapping[str, str]) -> Message:
        return replace(self, links=links)

    @property
    def first(self) -> Alert | None:
        return self.alerts[0] if self.alerts else None

    @property
    def critical(self) -> bool:
        return any(alert.severity == "critical" for alert in self.alerts)

    @property
    def title(self) -> str:
        """One line: what happened to what."""
        if self.event is DeliveryEvent.TEST:
            return "Foliot: this is a test"
        alert = self.alerts[0]
        if len(self.alerts) > 1:
            word = {"resolved": "are over", "reminded": "are still open"}.get(self.event.value, "opened")
            return clipped(f"Foliot: {len(self.alerts)} alerts of rule {self.rule_name} {word}", TITLE)
        mark = {"resolved": "Resolved", "reminded": "Still open"}.get(
            self.event.value, alert.severity.value.capitalize()
        )
        return clipped(f"{mark}: {alert.summary}", TITLE)

    @property
    def lines(self) -> list[str]:
        """What, since when, how often, why, and what changed last."""
        if self.event is DeliveryEvent.TEST:
            return ["If you can read this, the channel works. No alert is open because of it."]
        if len(self.alerts) > 1:
            listed = [clipped(f"- {alert.summary}", LINE) for alert in self.alerts[:MOST_LISTED]]
            more = len(self.alerts) - MOST_LISTED
            return [*listed, *([f"and {more:,} more"] if more > 0 else [])]
        return self._about(self.alerts[0])

    def _about(self, alert: Alert) -> list[str]:
        lines = [] if alert.reason in {"", alert.summary} else [clipped(alert.reason, LINE)]
        since = f"{alert.first_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        if self.event is DeliveryEvent.RESOLVED and alert.resolved_at is not None:
            lines.append(f"It lasted {shown_span(alert.resolved_at - alert.first_at)}, {times(alert.count)}.")
        elif alert.count > 1:
            lines.append(f"{times(alert.count).capitalize()} since {since}.")
        else:
            lines.append(f"Since {since}.")
        if change := self.changes.get(alert.subject.id):
            when = f"{change.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            lines.append(clipped(f"Last edited {when} by {change.by} (version {change.version}).", LINE))
        return lines

    @property
    def text(self) -> str:
        """The whole message as plain text."""
        links = [f"{name.capitalize()}: {url}" for name, url in self.links.items()]
        return "\n".join([self.title, "", *self.lines, *([""] if links else []), *links])

    def document(self) -> dict[str, Any]:
        """The JSON that a webhook channel receives."""
        document: dict[str, Any] = {"type": f"alert.{self.event.value}", "links": dict(self.links)}
        document["alert"] = None if self.first is None else shown_alert(self.first)
        if len(self.alerts) > 1:
            document |= {
                "count": len(self.alerts),
                "alerts": [shown_alert(alert) for alert in self.alerts[:MOST_LISTED]],
                "rule": self.rule_name,
            }
        return document


def shown_alert(alert: Alert) -> dict[str, Any]:
    """An alert as JSON, without its deliveries."""
    return {
        "id": alert.id,
        "rule_id": alert.rule_id,
        "event": alert.event.value,
        "severity": alert.severity.value,
        "state": alert.state.value,
        "subject": {"kind": alert.subject.kind, "id": alert.subject.id, "name": alert.subject.name},
        "count": alert.count,
        "first_at": rfc3339(alert.first_at),
        "opened_at": rfc3339(alert.opened_at),
        "last_at": rfc3339(alert.last_at),
        "acknowledged_by": alert.acknowledged_by,
        "resolved_at": rfc3339(alert.resolved_at),
        "summary": alert.summary,
        "reason": alert.reason,
        "run_id": alert.run_id,
    }


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def shown_span(span: timedelta) -> str:
    """The two largest units: `3 days 4 h`, `12 min`, `8 s`."""
    seconds = max(int(span.total_seconds()), 0)
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [(days, "day" if days == 1 else "days"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    shown = [f"{number} {unit}" for number, unit in parts if number][:2]
    return " ".join(shown) or "less than a second"
