"""What stored versions show: numbers over time, and what a condition would have said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Thing, Verb
from foliot.core.declaration import read
from foliot.core.errors import Invalid
from foliot.db.database import Database
from foliot.features.watches.model.condition import TEXT, parse_condition
from foliot.features.watches.model.condition_nodes import Visit
from foliot.features.watches.model.plot import PagePlot, PlotPoint, WatchPlot, number_of, numeric_fields, unit_of
from foliot.features.watches.model.request import ConditionTrialRequest
from foliot.features.watches.model.visit import counts, standing
from foliot.features.watches.model.watch import ChangeKind, PageChange
from foliot.features.watches.sql.changes import SqlChanges
from foliot.features.watches.sql.pages import SqlVersions
from foliot.features.watches.sql.plots import SqlPlots
from foliot.features.watches.usecases.history import GRAMMAR, find_page
from foliot.features.watches.usecases.watches import find_watch

MOST_PAGES_SHOWN = 12
MOST_POINTS = 500
MOST_TRIED = 200
"""Newest changes over which a condition is tried."""
MOST_TEXTS = 20
"""The same, where it looks at texts: two of each change are in memory."""


@dataclass(frozen=True, slots=True)
class TriedChange:
    """What a condition would have said of a change."""

    change: PageChange
    holds: bool
    matched: bool
    """Whether it would have counted."""


@dataclass(frozen=True, slots=True)
class ConditionTrial:
    """What a condition would have said of the newest changes of a watch, newest first."""

    items: Sequence[TriedChange]

    @property
    def matched(self) -> int:
        return sum(each.matched for each in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPlots:
    """Numbers over time, and trials of conditions, from stored versions."""

    store: Database

    @query(Verb.READ, Thing.WATCH)
    async def plot(
        self, ctx: QueryContext, watch_id: str, field: str | None, most: int, page_id: str | None = None
    ) -> WatchPlot:
        """A numeric field of the pages that changed last, or of one; without a name, the first field."""
        async with ctx.read() as tx:
            watch = await find_watch(tx, ctx.tenant_id, watch_id)
            known = numeric_fields(watch.settings)
            if field is not None and field not in known:
                said = (
                    f"must be one of {', '.join(known)}"
                    if known
                    else "cannot be plotted: no field is a number or a price"
                )
                raise Invalid("field", said, got=field)
            if not known:
                return WatchPlot(None, None, ())
            name = field or known[0]
            if page_id is None:
                pages = await SqlPlots(tx).pages(ctx.tenant_id, watch_id, min(most, MOST_PAGES_SHOWN))
            else:
                pages = [await find_page(tx, ctx.tenant_id, watch_id, page_id)]
            stored = await SqlPlots(tx).fields(ctx.tenant_id, [page.id for page in pages], MOST_POINTS)
        shown = [
            PagePlot(
                page.id,
                page.url,
                [PlotPoint(each.at, number_of(each.fields.get(name))) for each in stored.get(page.id, ())],
                page.last_read_at,
            )
            for page in pages
        ]
        units = (unit_of(page.fields.get(name)) for page in pages)
        return WatchPlot(name, next((unit for unit in units if unit), None), shown)

    @query(Verb.READ, Thing.WATCH)
    async def try_condition(self, ctx: QueryContext, watch_id: str, raw: object) -> ConditionTrial:
        """What another condition would have said of the newest changes; nothing is stored."""
        asked = read(ConditionTrialRequest, raw)
        async with ctx.read() as tx:
            watch = await find_watch(tx, ctx.tenant_id, watch_id)
            condition = parse_condition(asked.when, watch.settings.types)
            most = MOST_TEXTS if replace(watch.settings, when=asked.when).names_text else MOST_TRIED
            # The condition is about times that have passed: no clock is read.
            wanted = GRAMMAR.read(f"watch:{watch_id}", watch.created_at)
            changes = await SqlChanges(tx).find(ctx.tenant_id, wanted, most)
            ids = [each for change in changes for each in (change.before_id, change.version_id) if each is not None]
            stored = await SqlVersions(tx).fields(ctx.tenant_id, ids) if ids else {}
            texts = await SqlVersions(tx).texts(ctx.tenant_id, ids) if ids and most == MOST_TEXTS else {}

        def values_of(version_id: str | None) -> Mapping[str, Any] | None:
            if version_id is None or version_id not in stored:
                return None
            return {TEXT: texts.get(version_id), **stored[version_id]}

        levels: dict[str, bool] = {}
        tried: list[TriedChange] = []
        for change in reversed(changes):
            old, new = values_of(change.before_id), values_of(change.version_id)
            gone = change.kind is ChangeKind.REMOVED
            level = levels.get(change.page_id, old is not None and standing(condition, old))
            visit = Visit(old, None if gone else new, removed=gone, changed=True)
            matched = counts(condition, asked.at, visit, level=level)
            levels[change.page_id] = standing(condition, visit.new)
            tried.append(TriedChange(change, condition.holds(visit), matched))
        return ConditionTrial(tried[::-1])
