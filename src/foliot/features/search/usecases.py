"""Autocompletion of filter values and names, and resolution of names and id prefixes to ids."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Caller, Thing, Verb, may, require
from foliot.core.ports import Clock
from foliot.core.queue_name import KNOWN_QUEUES
from foliot.core.time.zone import search_zones
from foliot.db.database import Database, Transaction
from foliot.engine.model.run import RunState
from foliot.engine.ports import Actions
from foliot.features.filters.model import Completion
from foliot.features.filters.usecases import KINDS
from foliot.features.search.sql import SqlReferences, SqlSuggestions


class SuggestField(StrEnum):
    """The kind of value that is completed."""

    SCHEDULE = "schedule"
    TAG = "tag"
    QUEUE = "queue"
    KIND = "kind"
    STATE = "state"
    ZONE = "zone"
    WORKER = "worker"
    PIPELINE = "pipeline"
    ANY = "any"
    """Everything with a page of its own: schedules, runs by a prefix of their id, pipelines, queues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggester:
    """Completes prefixes; every answer is short and reads few rows."""

    store: Database
    clock: Clock
    actions: Actions

    @query(Verb.READ, Thing.SCHEDULE)
    async def suggest(self, ctx: QueryContext, field: SuggestField, text: str, limit: int) -> Sequence[Completion]:
        match field:
            case SuggestField.KIND:
                return _holding("kind", [*KINDS, *self.actions.kinds()], text, limit)
            case SuggestField.STATE:
                return _holding("state", [state.value for state in RunState], text, limit)
            case SuggestField.ZONE:
                return [
                    Completion("zone", name, name, hint) for name, hint in search_zones(text, limit, self.clock.now())
                ]
            case _:
                async with ctx.read() as tx:
                    return await self._stored(tx, ctx.caller, field, text, limit)

    async def _stored(
        self, tx: Transaction, caller: Caller, field: SuggestField, text: str, limit: int
    ) -> Sequence[Completion]:
        tenant_id = caller.tenant_id
        match field:
            case SuggestField.SCHEDULE:
                found = await SqlSuggestions(tx).find(tenant_id, "schedule", text, limit)
                # In a filter the name is more readable than the id.
                return [Completion("schedule", one.label, one.label, one.value) for one in found]
            case SuggestField.QUEUE:
                return _holding("queue", await self._queues(tx, caller), text, limit)
            case SuggestField.WORKER:
                return _holding("worker", await SqlSuggestions(tx).recent(tenant_id, "worker"), text, limit)
            case SuggestField.ANY:
                return await self._any(tx, caller, text, limit)
            case _:
                return await SqlSuggestions(tx).find(tenant_id, field.value, text, limit)

    async def _any(self, tx: Transaction, caller: Caller, text: str, limit: int) -> list[Completion]:
        found: list[Completion] = []
        if text.lower().startswith("run_") and may(caller, Verb.READ, Thing.RUN):
            found += await SqlSuggestions(tx).find(caller.tenant_id, "run", text.lower(), limit)
        found += await SqlSuggestions(tx).find(caller.tenant_id, "schedule", text, limit)
        found += await SqlSuggestions(tx).find(caller.tenant_id, "pipeline", text, limit)
        found += _holding("queue", await self._queues(tx, caller), text, limit)
        return found[:limit]

    async def _queues(self, tx: Transaction, caller: Caller) -> list[str]:
        """The built-in queues, and those of this tenant's newest runs."""
        return [*KNOWN_QUEUES, *await SqlSuggestions(tx).recent(caller.tenant_id, "queue")]


class ReferenceKind(StrEnum):
    """The kind of thing that a name or a prefix of an id refers to."""

    SCHEDULE = "schedule"
    RUN = "run"
    """By a prefix of its id, or by its schedule: then the newest run."""
    JOB = "job"
    """A crawl or article job: a run, or the schedule of a planned one."""
    DEAD_LETTER = "dead_letter"
    BULK = "bulk"
    KEY = "key"
    VIEW = "view"
    MONITOR = "monitor"
    WATCH = "watch"
    CALENDAR = "calendar"
    CHANNEL = "channel"
    ALERT_RULE = "alert_rule"
    ALERT = "alert"
    """By a prefix of its id, or the name of what it is about: then those that are not resolved."""


_THINGS = {
    ReferenceKind.RUN: Thing.RUN,
    ReferenceKind.JOB: Thing.RUN,
    ReferenceKind.DEAD_LETTER: Thing.DEAD_LETTER,
    ReferenceKind.BULK: Thing.BULK,
    ReferenceKind.KEY: Thing.KEY,
    ReferenceKind.SCHEDULE: Thing.SCHEDULE,
    ReferenceKind.VIEW: Thing.VIEW,
    ReferenceKind.MONITOR: Thing.MONITOR,
    ReferenceKind.WATCH: Thing.WATCH,
    ReferenceKind.CALENDAR: Thing.CALENDAR,
    ReferenceKind.CHANNEL: Thing.CHANNEL,
    ReferenceKind.ALERT_RULE: Thing.ALERT_RULE,
    ReferenceKind.ALERT: Thing.ALERT,
}
JOBS = ("crawl", "articles")
MOST_MATCHES = 10
MOST_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a reference matches: exactly one thing, several, or none with names that are alike."""

    matches: Sequence[Completion]
    more: bool = False
    suggestions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceResolver:
    """Resolves what a person types, a name or the beginning of an id, without listing everything there is."""

    store: Database

    @query(Verb.READ, Thing.SCHEDULE)
    async def resolve(self, ctx: QueryContext, kind: ReferenceKind, text: str) -> Resolution:
        require(ctx.caller, Verb.READ, _THINGS[kind])
        async with ctx.read() as tx:
            found = await self._found(SqlReferences(tx), ctx.caller, kind, text)
            # The id itself is no prefix of another one.
            exact = [one for one in found if one.value == text] or found
            if exact:
                return Resolution(exact[:MOST_MATCHES], more=len(exact) > MOST_MATCHES)
            if kind not in {ReferenceKind.SCHEDULE, ReferenceKind.RUN, ReferenceKind.JOB}:
                return Resolution(())
            names = {name.lower(): name for name in await SqlReferences(tx).names_alike(ctx.tenant_id, text)}
        near = difflib.get_close_matches(text.lower(), names, n=MOST_SUGGESTIONS)
        near += [name for name in sorted(names) if name.startswith(text.lower())]
        return Resolution((), suggestions=[names[one] for one in dict.fromkeys(near)][:MOST_SUGGESTIONS])

    async def _found(  # noqa: PLR0911 -- one arm for each kind
        self, references: SqlReferences, caller: Caller, kind: ReferenceKind, text: str
    ) -> list[Completion]:
        tenant_id, limit = caller.tenant_id, MOST_MATCHES + 1
        match kind:
            case ReferenceKind.SCHEDULE:
                return await references.schedules(tenant_id, text, limit)
            case ReferenceKind.RUN:
                found = await references.runs(tenant_id, text, limit)
                return found or await self._newest(references, tenant_id, text, limit)
            case ReferenceKind.JOB:
                found = await references.runs(tenant_id, text, limit, kinds=JOBS)
                return found or await references.schedules(tenant_id, text, limit, kinds=JOBS)
            case ReferenceKind.DEAD_LETTER:
                return await references.runs(tenant_id, text, limit, state=RunState.DEAD_LETTER)
            case ReferenceKind.BULK:
                return await references.bulks(tenant_id, text, limit)
            case ReferenceKind.KEY:
                return await references.keys(tenant_id, text, limit)
            case ReferenceKind.VIEW:
                return await references.views(tenant_id, caller.user_id, text, limit)
            case ReferenceKind.ALERT:
                return await references.alerts(tenant_id, text, limit)
            case (
                ReferenceKind.MONITOR
                | ReferenceKind.WATCH
                | ReferenceKind.CALENDAR
                | ReferenceKind.CHANNEL
                | ReferenceKind.ALERT_RULE
            ):
                return await references.named(kind.value, tenant_id, text, limit)

    async def _newest(self, references: SqlReferences, tenant_id: str, text: str, limit: int) -> list[Completion]:
        """The newest run of the schedule of this name; of several schedules, the schedules themselves."""
        found = await references.schedules(tenant_id, text, limit)
        if len(found) != 1:
            return found
        newest = await references.newest_run(tenant_id, found[0].value)
        return [] if newest is None else [replace(newest, label=found[0].label)]


def _holding(field: str, values: Iterable[str], text: str, limit: int) -> list[Completion]:
    """Values that contain the text; prefixes first."""
    lowered = text.lower()
    chosen = [value for value in dict.fromkeys(values) if lowered in value.lower()]
    chosen.sort(key=lambda value: not value.lower().startswith(lowered))
    return [Completion(field, value, value, "") for value in chosen[:limit]]
