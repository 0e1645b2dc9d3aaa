"""Tries a watch before it is saved: one visit, and what each selector found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foliot.commands.envelope import requires
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb
from foliot.core.document import check_object, check_text
from foliot.core.errors import Unavailable
from foliot.db.database import Database
from foliot.features.fetching.model import PageSource
from foliot.features.watches.model.condition import TEXT
from foliot.features.watches.model.condition_nodes import Visit
from foliot.features.watches.model.request import read_watch
from foliot.features.watches.model.watch import PageState, WatchSettings
from foliot.features.watches.visitor import PageVisitor, SourceUnreadable, VisitPlan

PATIENCE = 60.0
"""Seconds that a preview waits for the host's turn and its answer."""
MOST_SHOWN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedPage:
    """What one visit of a page found."""

    url: str
    state: PageState
    fields: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    """What would be compared; the text of the whole page where only fields are."""
    around: Mapping[str, str | None] = field(default_factory=dict)
    missing: Sequence[str] = ()
    hints: Mapping[str, str] = field(default_factory=dict)
    problem: Mapping[str, Any] | None = None
    selectors: Sequence[Mapping[str, Any]] = ()
    """Selectors for the value that was looked for."""


@dataclass(frozen=True, slots=True)
class WatchPreview:
    """What a watch would find now."""

    pages: Sequence[PreviewedPage]
    when: bool | None
    """Whether the condition is true now; None without one, and where it compares with a version before."""
    listed: int | None = None
    """How many pages its sitemap, feed or page of links names."""
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPreviews:
    """Fetches one page once; nothing is stored."""

    store: Database
    limiter: Limiter
    visitor: PageVisitor | None

    @requires(Verb.WRITE, Thing.WATCH)
    async def preview(self, caller: Caller, raw: object) -> WatchPreview:
        """`raw` is a watch without its name and time; `find` is a text on the page that selectors are wanted for."""
        given = dict(check_object("body", {} if raw is None else raw))
        find = None if given.get("find") is None else check_text("find", given["find"], 500)
        given.pop("find", None)
        if given.get("revisit") is None and given.get("schedule") is None:
            given["schedule"] = {"type": "interval", "interval_seconds": 3600}
        visitor = self.visitor
        if visitor is None:
            raise Unavailable("this process visits no pages")
        settings = read_watch({"name": "preview", **given}, visitor.guard)
        self.limiter.run(caller, await self.limiter.of(caller.tenant_id))
        settings = replace(settings, options=replace(settings.options, keep=None))
        plan = VisitPlan(caller.tenant_id, settings, settings.reading_digest, PageSource("watch", ""))
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._visited(visitor, plan, find)
        except TimeoutError:
            raise Unavailable(
                f"the host gave no answer within {PATIENCE:g} s; it may have others to answer first"
            ) from None

    async def _visited(self, visitor: PageVisitor, plan: VisitPlan, find: str | None) -> WatchPreview:
        urls, listed = plan.settings.sources.urls[:1], None
        if not urls:
            try:
                found = await visitor.listed(plan)
            except SourceUnreadable as why:
                return WatchPreview((), None, 0, (f"{plan.settings.sources.found}: {why}",))
            urls, listed = (found[0].url,), len(found)
        page, when = await self._page(visitor, plan, urls[0], find)
        return WatchPreview((page,), when, listed)

    async def _page(
        self, visitor: PageVisitor, plan: VisitPlan, url: str, find: str | None
    ) -> tuple[PreviewedPage, bool | None]:
        read, raw, selectors = await visitor.preview(plan, url, find)
        fields = raw.get("fields", {})
        text = raw.get("text") if raw.get("text") is not None else raw.get("whole")
        page = PreviewedPage(
            url=url,
            state=PageState.NEW if read.state is PageState.SAME else read.state,
            fields=fields,
            text=None if text is None else text[:MOST_SHOWN],
            around=raw.get("found", {}),
            missing=[name for name, value in fields.items() if value is None],
            hints={name: hint for name, hint in raw.get("hints", {}).items() if hint},
            problem=read.problem,
            selectors=selectors,
        )
        return page, _holds(plan.settings, fields, raw.get("text")) if raw else None


def _holds(settings: WatchSettings, fields: Mapping[str, Any], text: str | None) -> bool | None:
    condition = settings.condition
    if condition is None:
        return None
    return condition.holds(Visit(None, {TEXT: text, **fields}))
