"""Writes what visits found: pages, versions, changes and alerts, a group of visits in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from foliot.db.database import Database
from foliot.features.alerts.judge import judge
from foliot.features.alerts.model.alert import ALERTS_TOPIC, AlertFinding, AlertSubject, SubjectKind, clipped
from foliot.features.alerts.model.rule import AlertEvent
from foliot.features.watches.model.visit import VisitResult
from foliot.features.watches.model.watch import (
    MOST_VERSIONS,
    WATCHES_TOPIC,
    ChangeKind,
    PageChange,
    Watch,
)
from foliot.features.watches.sql.changes import SqlChanges
from foliot.features.watches.sql.pages import SqlVersions, SqlWatchedPages
from foliot.features.watches.sql.watches import SqlWatches
from foliot.wakeups.feed import Feed

TRIM_EVERY = 50
MOST_SHOWN = 120
MOST_FIELDS_KEPT = 20
MOST_KEPT_TEXT = 1000
_SAID = {ChangeKind.NEW: "is new", ChangeKind.CHANGED: "changed", ChangeKind.REMOVED: "was removed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitRecorder:
    """A visit whose page was visited by another process in the meantime is not written."""

    store: Database
    feed: Feed

    async def write(
        self, watch: Watch, run_id: str, results: Sequence[VisitResult], now: datetime
    ) -> list[VisitResult]:
        """Those that were written."""
        async with self.store.begin(watch.tenant_id) as tx:
            # In one order, so that two processes cannot wait for each other.
            ordered = sorted(results, key=lambda result: result.page.id)
            pages, versions = SqlWatchedPages(tx), SqlVersions(tx)
            written = [result for result in ordered if await pages.move(result.before, result.page)]
            for result in written:
                if result.version is not None:
                    await versions.add(result.version, result.text)
                    if result.page.changes % TRIM_EVERY == TRIM_EVERY - 1:
                        await versions.trim(result.page.id, MOST_VERSIONS)
            changes = [result.change for result in written if result.change is not None]
            if changes:
                await SqlChanges(tx).add(watch.tenant_id, changes)
                await SqlWatches(tx).count_changes(watch.id, len(changes), now)
            await SqlWatches(tx).note(watch.id, last_visit_at=now)
            findings = [_finding(watch, result, run_id, now) for result in written if result.event]
            judged = await judge(tx, findings, now) if findings else None
        self.feed.wake(*([WATCHES_TOPIC] if changes else []), *([ALERTS_TOPIC] if judged else []))
        return written


def _finding(watch: Watch, result: VisitResult, run_id: str, now: datetime) -> AlertFinding:
    # About the schedule: rules name it, and filter by its tags.
    subject = AlertSubject(SubjectKind.SCHEDULE, watch.schedule_id, watch.settings.name)
    change = result.change
    word = "matches" if change is None else _SAID[change.kind]
    reason = in_words(change) if change is not None else f"{watch.settings.when} holds"
    return AlertFinding(
        watch.tenant_id,
        (AlertEvent.CHANGED,),
        subject,
        now,
        clipped(f"{watch.settings.name}: {result.page.url} {word}"),
        clipped(reason),
        run_id,
    )


def in_words(change: PageChange) -> str:
    """What changed, in one line: `price: 29.90 EUR → 24.90 EUR`."""
    if change.kind is ChangeKind.REMOVED:
        return f"{change.url} is no longer there"
    parts = [f"{name}: {shown(both['old'])} → {shown(both['new'])}" for name, both in change.fields.items()]
    if not parts:
        parts = [" / ".join(change.diff.splitlines()[:4]) or _SAID[change.kind]]
    return "; ".join(parts)


def brief(change: PageChange) -> dict[str, Any]:
    """A change for the run's result: long values are cut."""
    return {
        "id": change.id,
        "url": change.url,
        "kind": change.kind.value,
        "fields": {
            name: {side: cut(value) for side, value in both.items()}
            for name, both in list(change.fields.items())[:MOST_FIELDS_KEPT]
        },
        "diff": change.diff[:MOST_KEPT_TEXT],
        "words": in_words(change)[:MOST_KEPT_TEXT],
    }


def cut(value: Any) -> Any:
    """A price or a number as it is; of a long text or list its beginning."""
    if isinstance(value, list):
        return [cut(each) for each in value[:10]]
    return value[:MOST_SHOWN] if isinstance(value, str) else value


def shown(value: Any) -> str:
    """A value of a field as people read it."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return f"{value.get('amount')} {value.get('currency') or ''}".strip()
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"
