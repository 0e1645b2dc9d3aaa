"""The watch action: visits the pages that are due, one run at a time, and records what they say."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.features.expectations.profile import ItemProfile
from foliot.features.expectations.usecases import DataJudge
from foliot.features.fetching.model import PageSource
from foliot.features.filters.model import FilterQuery, FilterTerm
from foliot.features.watches.model.condition import TEXT
from foliot.features.watches.model.planner import RevisitPlanner, ValidatorRecord, list_due
from foliot.features.watches.model.plot import number_of
from foliot.features.watches.model.visit import VisitJudge, VisitResult
from foliot.features.watches.model.watch import (
    KIND,
    MOST_PAGES,
    WATCH,
    ListedPage,
    PageChange,
    PageState,
    Watch,
    WatchedPage,
    page_of,
    url_hash,
)
from foliot.features.watches.recorder import VisitRecorder, brief, in_words
from foliot.features.watches.sql.changes import SqlChanges
from foliot.features.watches.sql.pages import SqlVersions, SqlWatchedPages
from foliot.features.watches.sql.watches import SqlWatches
from foliot.features.watches.stored import read_stored
from foliot.features.watches.visitor import PageVisitor, SourceUnreadable, VisitPlan

TOGETHER = 8
"""Pages of one run that are visited at once; hosts set their own pace."""
GROUP = 24
"""Pages whose visits are written in one transaction."""
MOST_LINES = 500
"""Log lines of one run about single pages."""
MOST_KEPT = 20
"""Changes that a run's result names, for schedules that follow it; all are in the list of changes."""
MOST_TAKEN_OVER = 1000
_ID = re.compile(rf"{WATCH}_[0-9a-f]{{32}}")


class WatchAction:
    """Visits the pages of a watch: all of them, or with `revisit` those that are due."""

    kind = KIND
    timeout = timedelta(hours=2)

    def __init__(
        self, *, store: Database, clock: Clock, visitor: PageVisitor, recorder: VisitRecorder, judge: DataJudge
    ) -> None:
        self._store = store
        self._clock = clock
        self._visitor = visitor
        self._recorder = recorder
        self._judge = judge

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form: the watch's id; `all` visits pages too that are not due."""
        fields = Fields.of("", config)
        watch_id, every = fields.value("watch"), fields.flag("all", default=False)
        fields.finish()
        if not isinstance(watch_id, str) or not _ID.fullmatch(watch_id):
            raise Invalid("watch", "must be a watch's id, wat_…: create one by POST /api/watches", got=watch_id)
        return {"watch": watch_id} | ({"all": True} if every else {})

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        """The watch is its own target, whatever its hosts do."""
        return AttemptTarget(f"watch:{config.get('watch')}")

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Visits what is due; a retry goes on with the pages that were not read."""
        watch_id = str(ctx.config["watch"])
        async with self._store.read(ctx.tenant_id) as tx:
            watch = await SqlWatches(tx).get(ctx.tenant_id, watch_id, read_stored)
        if watch is None:
            return Failed(AttemptError("unknown_watch", "there is no such watch any more"), permanent=True)
        run = await self._run(ctx, watch)
        if ctx.attempt > 1:
            await run.take_over()
        await run.find_pages()
        await run.visit_all()
        return await self._outcome(ctx, run)

    async def _run(self, ctx: ActionContext, watch: Watch) -> _WatchRun:
        settings = watch.settings
        async with self._store.read(ctx.tenant_id) as tx:
            rates = await SqlWatchedPages(tx).rates(watch.id) if settings.revisit else ()
        digest = settings.reading_digest
        validators = ValidatorRecord.of(watch.planning.get("validators") or {})
        return _WatchRun(
            ctx=ctx,
            watch=watch,
            store=self._store,
            clock=self._clock,
            visitor=self._visitor,
            recorder=self._recorder,
            plan=VisitPlan(ctx.tenant_id, settings, digest, PageSource("watch", watch.id), validators.trusted),
            validators=validators,
            judge=VisitJudge(watch=watch, run_id=ctx.run_id, condition=settings.condition, reading=digest),
            planner=RevisitPlanner.of(watch, rates, self._clock.now(), charged=not ctx.config.get("all")),
            profile=ItemProfile(settings.expect or {}),
        )

    async def _outcome(self, ctx: ActionContext, run: _WatchRun) -> Outcome:
        counts, result = run.counts, run.result()
        bad = counts[PageState.ERROR.value] + counts[PageState.BLOCKED.value]
        ctx.log(run.in_words())
        if bad and bad == run.visited:
            said = f"None of the {bad:,} pages could be read: {run.last_problem}"
            return Failed(AttemptError("no_page_read", said[:500]), response=result)
        partial = bad > 0 or run.problem is not None
        outcome = Succeeded(result=result, partial=partial, changed=run.matched > 0)
        expect = run.watch.settings.expect
        if not expect or not run.visited:
            return outcome
        facts = run.profile.facts(errors=bad, seconds=time.monotonic() - run.began)
        verdict = await self._judge.judge(ctx.tenant_id, ctx.schedule_id, expect, facts)
        if (problem := verdict.problem) is not None:
            ctx.log(problem.message, level="warning")
            return replace(outcome, result=verdict.into(result), degraded=problem)
        return replace(outcome, result=verdict.into(result))


def _item(page: WatchedPage, text: str | None) -> dict[str, Any]:
    """A page as an item that expectations are about: without its URL, so that pages that say the same are duplicates.
    A price is its amount.
    """
    item = {name: number_of(value) if isinstance(value, Mapping) else value for name, value in page.fields.items()}
    return item if text is None else {**item, TEXT: text}


@dataclass(slots=True, kw_only=True)
class _WatchRun:
    """One run of a watch."""

    ctx: ActionContext
    watch: Watch
    store: Database
    clock: Clock
    visitor: PageVisitor
    recorder: VisitRecorder
    plan: VisitPlan
    judge: VisitJudge
    planner: RevisitPlanner | None
    validators: ValidatorRecord
    profile: ItemProfile
    vanished: set[str] = field(default_factory=set)
    """Hashes of pages that its sitemap no longer lists: each is visited once more."""
    counts: Counter[str] = field(default_factory=Counter)
    matched: int = 0
    changes: list[dict[str, Any]] = field(default_factory=list)
    """The first changes that count, for schedules that follow."""
    problem: Mapping[str, Any] | None = None
    """Why its sitemap, feed or page of links could not be read."""
    last_problem: str = ""
    began: float = field(default_factory=time.monotonic)
    _lines: int = 0

    @property
    def visited(self) -> int:
        return sum(self.counts.values())

    async def take_over(self) -> None:
        """Count what an attempt before this one has written: a worker may have died after that."""
        wanted = FilterQuery((FilterTerm("watch", (self.watch.id,)),))
        async with self.store.read(self.ctx.tenant_id) as tx:
            newest = await SqlChanges(tx).find(self.ctx.tenant_id, wanted, MOST_TAKEN_OVER)
        for change in reversed(newest):
            if change.run_id == self.ctx.run_id and change.matched:
                self.matched += 1
                self._keep(change)

    async def find_pages(self) -> None:
        """Read the sitemap, feed or page of links, and take up what is new in it."""
        now = self.clock.now()
        if not list_due(self.watch, now):
            return
        try:
            listed = await self.visitor.listed(self.plan)
        except SourceUnreadable as why:
            found = self.watch.settings.sources.found
            self.problem = {"code": "source_unreadable", "message": f"{found}: {why}"[:500]}
            self.ctx.log(f"The pages could not be listed: {found}: {why}", level="warning")
            listed = None
        async with self.store.begin(self.ctx.tenant_id) as tx:
            if listed is not None:
                added = await self._take_up(SqlWatchedPages(tx), listed, now)
                count = await SqlWatchedPages(tx).count(self.watch.id)
                await SqlWatches(tx).note(self.watch.id, listed_at=now, problem=None, pages=count)
                if added:
                    self.ctx.log(f"{added:,} pages are new")
            else:
                await SqlWatches(tx).note(self.watch.id, problem=self.problem)

    async def _take_up(self, pages: SqlWatchedPages, listed: Sequence[ListedPage], now: datetime) -> int:
        known = await pages.listed(self.watch.id)
        hashes = {url_hash(each.url): each for each in listed}
        new = [each for name, each in hashes.items() if name not in known]
        # What the first listing names is what the watch begins with; what comes later is news.
        found = self.watch.listed_at is not None
        await pages.add([page_of(self.watch, each.url, now, found=found) for each in new])
        if self.watch.settings.sources.sitemap:
            self.vanished = {name for name, (_, is_listed) in known.items() if is_listed and name not in hashes}
            await pages.list_only(self.watch.id, [*hashes, *self.vanished])
            # Gone, or only left out: its last visit says which.
            await pages.bring_forward(self.watch.id, sorted(self.vanished), now)
        else:
            await self._make_room(pages, known, hashes)
        await pages.forget_unlisted(self.watch.id, MOST_PAGES)
        if self.planner is not None:
            dated = [name for name, each in hashes.items() if each.modified is not None and name in known]
            for start in range(0, len(dated), 500):
                part = await pages.of_hashes(self.watch.id, dated[start : start + 500])
                await pages.hint(self.watch.id, self.planner.hinted(listed, part, now), now)
        return len(new)

    async def _make_room(
        self, pages: SqlWatchedPages, known: Mapping[str, tuple[str, bool]], named: Collection[str]
    ) -> None:
        """A feed or a page of links may name new pages for ever: the oldest that it no longer names make room."""
        back = [name for name in named if name in known and not known[name][1]]
        await pages.put_on_list(self.watch.id, back, listed=True)
        others = sorted(
            (page_id, name) for name, (page_id, is_listed) in known.items() if is_listed and name not in named
        )
        oldest = [name for _, name in others[: max(len(others) + len(named) - MOST_PAGES, 0)]]
        await pages.put_on_list(self.watch.id, oldest, listed=False)

    async def visit_all(self) -> None:
        after, turns = "", asyncio.Semaphore(TOGETHER)
        left = 2 * MOST_PAGES if self.planner is None or self.ctx.config.get("all") else self.planner.room
        while left > 0:
            group = await self._next(after, min(GROUP, left))
            if not group:
                break
            left -= len(group)
            after = group[-1].id
            await self._visit(group, turns)
            if self.ctx.progress is not None:
                self.ctx.progress(**self.result())
        planning = {} if self.planner is None else self.planner.as_dict()
        if self.validators.tried:
            planning["validators"] = self.validators.as_dict()
        if planning != self.watch.planning:
            async with self.store.begin(self.ctx.tenant_id) as tx:
                await SqlWatches(tx).note(self.watch.id, planning=planning)

    async def _next(self, after: str, limit: int) -> list[WatchedPage]:
        async with self.store.read(self.ctx.tenant_id) as tx:
            pages = SqlWatchedPages(tx)
            if self.planner is None or self.ctx.config.get("all"):
                return await pages.unread(self.watch.id, self.ctx.run_id, after, limit)
            return await pages.due(self.watch.id, self.clock.now(), limit)

    async def _visit(self, group: Sequence[WatchedPage], turns: asyncio.Semaphore) -> None:
        texts: Mapping[str, str] = {}
        if self.watch.settings.reading["compare_text"]:
            ids = [page.version_id for page in group if page.version_id is not None]
            async with self.store.read(self.ctx.tenant_id) as tx:
                texts = await SqlVersions(tx).texts(self.ctx.tenant_id, ids) if ids else {}

        async def one(page: WatchedPage) -> VisitResult:
            old = texts.get(page.version_id or "")
            async with turns:
                read = await self.visitor.visit(self.plan, page, old)
            now = self.clock.now()
            result = replace(self.judge.judge(page, read, old, now), kept_validator=read.kept_validator)
            return result if self.planner is None else self.planner.planned(result, now)

        results = await asyncio.gather(*(one(page) for page in group))
        written = await self.recorder.write(self.watch, self.ctx.run_id, results, self.clock.now())
        for result in written:
            self._count(result)
        await self._unlist([result.page for result in written])

    async def _unlist(self, pages: Sequence[WatchedPage]) -> None:
        """Stop visiting those that the sitemap no longer lists, once their last visit could read them."""
        unread = {PageState.ERROR, PageState.BLOCKED}
        last = [page.url_hash for page in pages if page.url_hash in self.vanished and page.state not in unread]
        if not last:
            return
        async with self.store.begin(self.ctx.tenant_id) as tx:
            await SqlWatchedPages(tx).put_on_list(self.watch.id, last, listed=False)
            await SqlWatches(tx).note(self.watch.id, pages=await SqlWatchedPages(tx).count(self.watch.id))

    def _count(self, result: VisitResult) -> None:
        page = result.page
        self.counts[page.state.value] += 1
        if result.kept_validator is not None and page.state is PageState.CHANGED:
            self.validators.learn(right=not result.kept_validator)
        self.matched += result.event
        if page.state in {PageState.ERROR, PageState.BLOCKED} and page.problem is not None:
            self.last_problem = str(page.problem["message"])
            self._say(f"{page.url}: {page.problem['message']}", "warning")
        elif page.state is not PageState.REMOVED:
            self.profile.add(_item(page, result.text))
        if result.change is not None:
            if result.event:
                self._keep(result.change)
            self._say(f"{page.url} {result.change.kind.value}: {in_words(result.change)}", "info")

    def _keep(self, change: PageChange) -> None:
        if len(self.changes) < MOST_KEPT:
            self.changes.append(brief(change))

    def _say(self, line: str, level: str) -> None:
        self._lines += 1
        if self._lines <= MOST_LINES:
            self.ctx.log(line[:2000], level=level)

    def result(self) -> dict[str, Any]:
        counted = {state.value: self.counts[state.value] for state in PageState}
        changes = {"matched": self.matched, "changes": list(self.changes)}
        return {"watch": self.watch.id, "visited": self.visited, **counted, **changes}

    def in_words(self) -> str:
        said = ", ".join(f"{count:,} {name}" for name, count in sorted(self.counts.items()))
        return f"{self.visited:,} pages visited" + (f": {said}" if said else "") + f"; {self.matched:,} matched"
