"""Answers about changes, numbers over time, and trials of conditions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from foliot.core.declaration import declared
from foliot.features.watches.model.plot import WatchPlot
from foliot.features.watches.model.watch import ChangeKind
from foliot.features.watches.usecases.history import ListedChange
from foliot.features.watches.usecases.plots import ConditionTrial


@declared
class ChangeDetail:
    """A change of a page."""

    id: str
    seq: int
    """Numbers the changes of a tenant without gaps: continue after the last one by `after`."""
    watch_id: str
    watch: str
    """The name of the watch."""
    page_id: str
    url: str
    at: datetime
    kind: ChangeKind
    matched: bool
    """Whether it counts: the condition of the watch became true."""
    fields: dict[str, dict[str, Any]]
    """By name: `{"old": …, "new": …}`."""
    diff: str
    """The first lines of the text that went and came."""
    run_id: str | None
    version_id: str | None
    before_id: str | None
    """The version before, for `…/diff?from=`."""

    @classmethod
    def of(cls, listed: ListedChange) -> ChangeDetail:
        change = listed.change
        return cls(
            id=change.id,
            seq=change.seq,
            watch_id=change.watch_id,
            watch=listed.watch,
            page_id=change.page_id,
            url=change.url,
            at=change.at,
            kind=change.kind,
            matched=change.matched,
            fields={name: dict(both) for name, both in change.fields.items()},
            diff=change.diff,
            run_id=change.run_id,
            version_id=change.version_id,
            before_id=change.before_id,
        )


@declared
class PlotPointDetail:
    """A number that a field had from this time on; null where it had none."""

    at: datetime
    value: float | None


@declared
class PagePlotDetail:
    """A field of one page over time, oldest first."""

    page_id: str
    url: str
    points: list[PlotPointDetail]
    until: datetime | None
    """When the page was last read: the last value stands until then."""


@declared
class WatchPlotDetail:
    """A numeric field of the pages of a watch that changed last."""

    field: str | None
    """Null where the watch has no such field."""
    unit: str | None
    """The currency of a price."""
    pages: list[PagePlotDetail]

    @classmethod
    def of(cls, plot: WatchPlot) -> WatchPlotDetail:
        pages = [
            PagePlotDetail(
                page_id=page.page_id,
                url=page.url,
                points=[PlotPointDetail(at=point.at, value=point.value) for point in page.points],
                until=page.until,
            )
            for page in plot.pages
        ]
        return cls(field=plot.field, unit=plot.unit, pages=pages)


@declared
class TriedChangeDetail:
    """What the condition would have said of a change."""

    change_id: str
    page_id: str
    url: str
    at: datetime
    kind: ChangeKind
    fields: dict[str, dict[str, Any]]
    diff: str
    holds: bool
    matched: bool
    """Whether it would have counted: with `at: crossing` only as the condition becomes true."""


@declared
class ConditionTrialAnswer:
    """What a condition would have said of the newest changes of a watch, newest first."""

    items: list[TriedChangeDetail]
    matched: int

    @classmethod
    def of(cls, trial: ConditionTrial) -> ConditionTrialAnswer:
        items = [
            TriedChangeDetail(
                change_id=tried.change.id,
                page_id=tried.change.page_id,
                url=tried.change.url,
                at=tried.change.at,
                kind=tried.change.kind,
                fields={name: dict(both) for name, both in tried.change.fields.items()},
                diff=tried.change.diff,
                holds=tried.holds,
                matched=tried.matched,
            )
            for tried in trial.items
        ]
        return cls(items=items, matched=trial.matched)


@declared
class ChangeList:
    """Changes of all watches."""

    items: list[ChangeDetail]
    next_cursor: str | None
    last_seq: int | None
    """The highest number of this page, for `after`; null when it is empty."""
