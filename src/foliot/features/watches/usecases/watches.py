"""Use cases of watches: create, change, pause, visit and delete them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.document import check_object
from foliot.core.errors import Conflict, Invalid, NotFound, TooMany, Unavailable
from foliot.core.ids import SCHEDULE
from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database, Transaction
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.monitors.usecases import digest_of
from foliot.features.schedules.usecases.change import hold
from foliot.features.schedules.usecases.create import ScheduleOwner
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.watches.model.plot import FieldLine, number_of, numeric_fields
from foliot.features.watches.model.request import as_document, beneath, merged, read_watch
from foliot.features.watches.model.watch import (
    KIND,
    MOST_WATCHES,
    WATCH,
    WATCHES_TOPIC,
    Watch,
    WatchSettings,
    page_of,
    url_hash,
)
from foliot.features.watches.sql.pages import SqlVersions, SqlWatchedPages
from foliot.features.watches.sql.plots import SqlPlots
from foliot.features.watches.sql.watches import SqlWatches
from foliot.features.watches.stored import read_stored
from foliot.features.watches.visitor import PageVisitor
from foliot.wakeups.feed import Feed

LINE_POINTS = 40
"""Values of the line in a list of watches."""
FED_CHANGES = ("when", "at", "history", "tags")
"""What can be changed of a watch that a task feeds."""
FEED_PURPOSE = "watch-feed"
"""Purpose of the keyed digest that is the key of a watch's feed."""


@dataclass(frozen=True, slots=True)
class WatchView:
    """A watch with its schedule; and the key of its feed for callers who may change it."""

    watch: Watch
    schedule: Schedule | None
    states: Mapping[str, int] = field(default_factory=dict)
    """How many of its pages are in each state; empty in lists."""
    next_visit_at: datetime | None = None
    key: str | None = field(default=None, repr=False)
    line: FieldLine | None = None
    """A numeric field over time; only in lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watches:
    """Create, change, pause, visit and delete watches. The runs of a watch's own schedule visit its pages."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    schedules: Schedules
    visitor: PageVisitor | None
    """Checks addresses."""
    vault: Vault | None
    new_id: Callable[[str], str]

    @command(Verb.WRITE, Thing.WATCH)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> WatchView:
        settings = self.read(raw)
        await ctx.begin(self.limiter)
        return await self.add(ctx, settings)

    async def add(self, ctx: CommandContext, settings: WatchSettings) -> WatchView:
        """Create one as part of the caller's transaction, which has read the tenant's limits."""
        tx = ctx.tx
        if await SqlWatches(tx).count(ctx.tenant_id) >= MOST_WATCHES:
            raise TooMany(f"a tenant has at most {MOST_WATCHES} watches")
        await _refuse_taken(tx, ctx.tenant_id, settings.name)
        watch_id = self.new_id(WATCH)
        schedule = await self._scheduled(ctx, watch_id, settings)
        watch = Watch(
            id=watch_id,
            tenant_id=ctx.tenant_id,
            settings=settings,
            document=as_document(settings),
            schedule_id=schedule.id,
            key_of="" if self.vault is None else self.vault.current,
            created_by=ctx.caller.user_id,
            created_at=ctx.now,
            updated_at=ctx.now,
            pages=len(settings.sources.urls),
        )
        key = self._key(watch)
        await SqlWatches(tx).add(watch, None if key is None else digest_of(key))
        await SqlWatchedPages(tx).add([page_of(watch, url, ctx.now) for url in settings.sources.urls])
        await self.limiter.stored(tx, ctx.caller, ctx.limits)
        ctx.audit(AuditedChange("create", Thing.WATCH, watch.id, became=audit_view(watch)))
        ctx.wake(WATCHES_TOPIC)
        return WatchView(watch, schedule, next_visit_at=schedule.next_at, key=key)

    @query(Verb.READ, Thing.WATCH)
    async def list(self, ctx: QueryContext, page: PageRequest, q: str = "") -> Sequence[WatchView]:
        """Newest first."""
        async with ctx.read() as tx:
            found = await SqlWatches(tx).find(ctx.tenant_id, page, read_stored, q)
            planned = await SqlWatchedPages(tx).next_visit([watch.id for watch in found if watch.settings.revisit])
            schedules = await SqlSchedules(tx).by_ids(ctx.tenant_id, [watch.schedule_id for watch in found])
            lines = await self._lines(tx, ctx.tenant_id, found)
        views = (self._view(ctx.caller, watch, schedules.get(watch.schedule_id), planned) for watch in found)
        return [replace(view, line=lines.get(view.watch.id)) for view in views]

    @query(Verb.READ, Thing.WATCH)
    async def get(self, ctx: QueryContext, watch_id: str) -> WatchView:
        async with ctx.read() as tx:
            return await self._whole(tx, ctx.caller, await find_watch(tx, ctx.tenant_id, watch_id))

    @command(Verb.WRITE, Thing.WATCH)
    async def change(self, ctx: CommandContext, watch_id: str, raw: object) -> WatchView:
        """A merge patch; the result is validated whole, by the rules of a new one."""
        tx = await ctx.begin(self.limiter)
        known = await find_watch(tx, ctx.tenant_id, watch_id, lock=True)
        return await self.rewrite(ctx, known, self._changed(known, raw))

    async def rewrite(self, ctx: CommandContext, known: Watch, settings: WatchSettings) -> WatchView:
        """Give a locked watch other settings as part of the caller's transaction."""
        tx, watch_id = ctx.tx, known.id
        if settings.name != known.settings.name:
            await _refuse_taken(tx, ctx.tenant_id, settings.name)
        schedule = await self._rescheduled(ctx, known, settings)
        document = as_document(settings)
        watch = replace(known, settings=settings, document=document, schedule_id=schedule.id, updated_at=ctx.now)
        watch = await self._changed_pages(tx, known, watch, ctx.now)
        await SqlWatches(tx).change(watch)
        await self.limiter.stored(tx, ctx.caller, ctx.limits)
        ctx.audit(AuditedChange("change", Thing.WATCH, watch_id, audit_view(known), audit_view(watch)))
        ctx.wake(WATCHES_TOPIC)
        return await self._whole(tx, ctx.caller, watch)

    @command(Verb.WRITE, Thing.WATCH)
    async def delete(self, ctx: CommandContext, watch_id: str) -> None:
        """With its pages, versions, changes and its schedule."""
        tx = await ctx.begin()
        await self.remove(ctx, await find_watch(tx, ctx.tenant_id, watch_id, lock=True))

    async def remove(self, ctx: CommandContext, known: Watch) -> None:
        """Delete a locked watch as part of the caller's transaction."""
        tx, watch_id = ctx.tx, known.id
        schedule = await SqlSchedules(tx).get(ctx.tenant_id, known.schedule_id, lock=True)
        if schedule is not None and schedule.status is not ScheduleStatus.DELETED and not known.settings.fed_by:
            await self.schedules.remove(ctx, schedule)
        await SqlVersions(tx).forget(watch_id)
        await SqlWatches(tx).delete(watch_id)
        ctx.audit(AuditedChange("delete", Thing.WATCH, watch_id, audit_view(known)))
        ctx.wake(WATCHES_TOPIC)

    @command(Verb.WRITE, Thing.WATCH)
    async def pause(self, ctx: CommandContext, watch_id: str, once: IdempotentRequest = EACH_TIME) -> WatchView:
        """Its schedule is paused: no page is visited."""
        tx = await ctx.begin(self.limiter)
        watch = await find_watch(tx, ctx.tenant_id, watch_id)
        await self.schedules.pause_one(ctx, watch.schedule_id)
        ctx.wake(WATCHES_TOPIC)
        return await self._whole(tx, ctx.caller, watch)

    @command(Verb.WRITE, Thing.WATCH)
    async def resume(self, ctx: CommandContext, watch_id: str, once: IdempotentRequest = EACH_TIME) -> WatchView:
        tx = await ctx.begin(self.limiter)
        watch = await find_watch(tx, ctx.tenant_id, watch_id)
        await self.schedules.resume_one(ctx, watch.schedule_id)
        ctx.wake(WATCHES_TOPIC)
        return await self._whole(tx, ctx.caller, watch)

    @command(Verb.RUN, Thing.WATCH)
    async def visit(self, ctx: CommandContext, watch_id: str, once: IdempotentRequest = EACH_TIME) -> RunView:
        """A run that visits every page now, also pages that are not due."""
        tx = await ctx.begin(self.limiter)
        watch = await find_watch(tx, ctx.tenant_id, watch_id)
        every = None if watch.settings.fed_by else {"payload": {"all": True}}
        return await self.schedules.run_one(ctx, watch.schedule_id, every)

    def _changed(self, known: Watch, raw: object) -> WatchSettings:
        if known.settings.fed_by is None:
            return self.read(merged(known.document, raw))
        for name in check_object("body", raw):
            if name not in FED_CHANGES:
                said = f"comes from the runs of {known.settings.fed_by}; here {', '.join(FED_CHANGES)} can be changed"
                raise Invalid(str(name)[:64], said)
        document = {name: value for name, value in merged(known.document, raw).items() if name != "fed_by"}
        return replace(self.read(document), fed_by=known.settings.fed_by)

    def read(self, raw: object) -> WatchSettings:
        """The settings that a document says; `Invalid` names each field that breaks a rule."""
        if self.visitor is None:
            raise Unavailable("this process visits no pages")
        return read_watch(raw, self.visitor.guard)

    async def _scheduled(self, ctx: CommandContext, watch_id: str, settings: WatchSettings) -> Schedule:
        owner = ScheduleOwner(self.new_id(SCHEDULE), ctx.caller.user_id)
        try:
            return await self.schedules.add(ctx, schedule_document(watch_id, settings), owner)
        except Invalid as wrong:
            raise beneath("schedule", wrong) from None

    async def _rescheduled(self, ctx: CommandContext, known: Watch, settings: WatchSettings) -> Schedule:
        """Its schedule as the settings say; one that was deleted is created again, unless a task feeds the watch."""
        schedule = await SqlSchedules(ctx.tx).get(ctx.tenant_id, known.schedule_id, lock=True)
        if known.settings.fed_by is not None:
            if schedule is None:
                raise NotFound("schedule", known.schedule_id)
            return schedule
        if schedule is None or schedule.status is ScheduleStatus.DELETED:
            return await self._scheduled(ctx, known.id, settings)
        wanted = schedule_document(known.id, settings)
        if wanted == schedule_document(known.id, known.settings):
            return schedule
        held = await hold(ctx, schedule, self.clock.now())
        try:
            return await self.schedules.rewrite(ctx, held, wanted)
        except Invalid as wrong:
            raise beneath("schedule", wrong) from None

    async def _changed_pages(self, tx: Transaction, known: Watch, watch: Watch, now: datetime) -> Watch:
        """Its pages as the settings name them; those it no longer has keep their history."""
        pages = SqlWatchedPages(tx)
        if watch.settings.sources != known.settings.sources:
            urls = watch.settings.sources.urls
            await pages.add([page_of(watch, url, now) for url in urls])
            await pages.list_only(watch.id, [url_hash(url) for url in urls])
            watch = replace(watch, pages=len(urls), listed_at=None, problem=None)
        if watch.settings.revisit != known.settings.revisit:
            await pages.replan(watch.id)
        return watch

    async def _lines(self, tx: Transaction, tenant_id: str, found: Sequence[Watch]) -> Mapping[str, FieldLine]:
        """By watch, for those that have numbers, the newest ones of the page that changed last."""
        names = {watch.id: numeric[0] for watch in found if (numeric := numeric_fields(watch.settings))}
        pages = await SqlPlots(tx).liveliest(tenant_id, list(names)) if names else {}
        stored = await SqlPlots(tx).fields(tenant_id, list(pages.values()), LINE_POINTS)
        return {
            watch_id: FieldLine(
                names[watch_id], [number_of(each.fields.get(names[watch_id])) for each in stored[page_id]]
            )
            for watch_id, page_id in pages.items()
        }

    def _view(
        self, caller: Caller, watch: Watch, schedule: Schedule | None, planned: Mapping[str, datetime]
    ) -> WatchView:
        fires = None if schedule is None else schedule.next_at
        first = planned.get(watch.id)
        # A page is visited by the first run after it is due.
        following = fires if first is None or fires is None else max(first, fires)
        key = self._key(watch) if may(caller, Verb.WRITE, Thing.WATCH) else None
        return WatchView(watch, schedule, next_visit_at=following, key=key)

    async def _whole(self, tx: Transaction, caller: Caller, watch: Watch) -> WatchView:
        planned = await SqlWatchedPages(tx).next_visit([watch.id]) if watch.settings.revisit else {}
        schedule = await SqlSchedules(tx).get(watch.tenant_id, watch.schedule_id)
        view = self._view(caller, watch, schedule, planned)
        return replace(view, states=await SqlWatchedPages(tx).states(watch.id))

    def _key(self, watch: Watch) -> str | None:
        """The key of its feed: derived with the master key, so that it can be shown again and is not stored."""
        if self.vault is None:
            return None
        made = dict(self.vault.digests(FEED_PURPOSE, watch.id)).get(watch.key_of)
        return None if made is None else str(UUID(made[:32]))


def schedule_document(watch_id: str, settings: WatchSettings) -> dict[str, Any]:
    """The document of the schedule whose runs visit the pages."""
    timed = settings.schedule
    if settings.revisit is not None:
        timed = {"type": "interval", "interval_seconds": int(settings.revisit.tick.total_seconds())}
    own = {"name": settings.name, "tags": list(settings.tags), "action": {"kind": KIND, "watch": watch_id}}
    return {**(timed or {}), **own}


def audit_view(watch: Watch) -> dict[str, Any]:
    """What the audit log keeps; of very many URLs their number."""
    document = dict(watch.document)
    urls = document.get("urls")
    if urls is not None and len(urls) > 20:
        document["urls"] = f"{len(urls):,} URLs"
    return document


async def find_watch(tx: Transaction, tenant_id: str, watch_id: str, *, lock: bool = False) -> Watch:
    """The tenant's watch; another tenant's is reported as unknown, as one that does not exist."""
    watch = await SqlWatches(tx).get(tenant_id, watch_id, read_stored, lock=lock)
    if watch is None:
        raise NotFound("watch", watch_id)
    return watch


async def _refuse_taken(tx: Transaction, tenant_id: str, name: str) -> None:
    if await SqlWatches(tx).id_named(tenant_id, name) is not None:
        raise Conflict(f"a watch named {name} already exists")
