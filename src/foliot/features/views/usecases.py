"""Use cases of saved views: create, list, change and delete them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Role, Thing, Verb
from foliot.core.declaration import read
from foliot.core.errors import Conflict, Forbidden, Invalid, NotFound, TooMany
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.run_sort import read_run_sort
from foliot.engine.model.schedule_sort import read_sort
from foliot.features.filters.usecases import Search
from foliot.features.views.model import (
    MOST_SHARED,
    MOST_VIEWS,
    VIEW,
    NewSavedView,
    SavedViewChange,
    StoredView,
    ViewedList,
)
from foliot.features.views.sql import SqlViews
from foliot.wakeups.feed import Feed

_ADMINS = frozenset({Role.ADMIN, Role.SYSTEM})


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViews:
    """Each user has views of their own; shared ones are seen by the whole tenant, and changed by their owner."""

    store: Database
    clock: Clock
    feed: Feed
    searching: Search
    new_id: Callable[[str], str]

    @command(Verb.WRITE, Thing.VIEW)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> StoredView:
        asked, now = read(NewSavedView, raw), self.clock.now()
        view = StoredView(
            id=self.new_id(VIEW),
            tenant_id=ctx.tenant_id,
            user_id=ctx.caller.user_id,
            list=asked.list,
            name=asked.name.strip() or asked.name,
            q=asked.q,
            sort=asked.sort,
            shared=asked.shared,
            created_at=now,
            updated_at=now,
        )
        self._check(view)
        tx = await ctx.begin()
        await _refuse_more(tx, view)
        await SqlViews(tx).add(view)
        ctx.audit(AuditedChange("create", Thing.VIEW, view.id, became=view.as_dict()))
        return view

    @query(Verb.READ, Thing.VIEW)
    async def list(self, ctx: QueryContext, of: ViewedList | None = None) -> Sequence[StoredView]:
        """The caller's own, then those that others share."""
        async with ctx.read() as tx:
            return await SqlViews(tx).seen_by(ctx.tenant_id, ctx.caller.user_id, of)

    @command(Verb.WRITE, Thing.VIEW)
    async def change(self, ctx: CommandContext, view_id: str, raw: object) -> StoredView:
        """Fields that are absent stay."""
        asked = read(SavedViewChange, raw)
        given = {name: value for name in ("name", "q", "shared") if (value := getattr(asked, name)) is not None}
        if isinstance(raw, dict) and "sort" in raw:
            given["sort"] = asked.sort
        tx = await ctx.begin()
        known = await _owned(tx, ctx.caller, view_id)
        view = replace(known, updated_at=ctx.now, **given)
        self._check(view)
        await _refuse_more(tx, view)
        await SqlViews(tx).change(view)
        ctx.audit(AuditedChange("change", Thing.VIEW, view_id, known.as_dict(), view.as_dict()))
        return view

    @command(Verb.WRITE, Thing.VIEW)
    async def delete(self, ctx: CommandContext, view_id: str) -> None:
        tx = await ctx.begin()
        known = await _owned(tx, ctx.caller, view_id)
        await SqlViews(tx).delete(view_id)
        ctx.audit(AuditedChange("delete", Thing.VIEW, view_id, known.as_dict()))

    def _check(self, view: StoredView) -> None:
        """A view that could not be opened is refused."""
        if not view.name.strip():
            raise Invalid("name", "must not be empty", got=view.name)
        if view.list is ViewedList.RUNS:
            self.searching.read_runs(view.q)
            if view.sort is not None:
                read_run_sort(view.sort)
        else:
            self.searching.read_schedules(view.q)
            if view.sort is not None:
                read_sort(view.sort)


async def _owned(tx: Transaction, caller: Caller, view_id: str) -> StoredView:
    """A view that the caller may change: an own one, or as admin a shared one. Others' own ones are unknown."""
    view = await SqlViews(tx).get(caller.tenant_id, view_id, lock=True)
    if view is None or (view.user_id != caller.user_id and not view.shared):
        raise NotFound("view", view_id)
    if view.user_id != caller.user_id and caller.role not in _ADMINS:
        raise Forbidden(f"view {view_id} belongs to {view.user_id}; only its owner and admins may change it")
    return view


async def _refuse_more(tx: Transaction, view: StoredView) -> None:
    seen: builtins.list[StoredView] = await SqlViews(tx).seen_by(view.tenant_id, view.user_id, view.list)
    same = [one for one in seen if one.id != view.id and one.user_id == view.user_id]
    if any(one.name.lower() == view.name.lower() for one in same):
        raise Conflict(f"a view of {view.list.value} named {view.name!r} already exists")
    own, shared = await SqlViews(tx).counts(view)
    if own >= MOST_VIEWS:
        raise TooMany(f"a user has at most {MOST_VIEWS} views of {view.list.value}: delete one first")
    if view.shared and shared >= MOST_SHARED:
        raise TooMany(f"a tenant shares at most {MOST_SHARED} views of {view.list.value}")
