"""Autocompletion: values of a filter, and names to jump to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from foliot.commands.envelope import QueryContext, query
from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.queue_name import KNOWN_QUEUES
from foliot.core.time.zone_search import search_zones
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.model.run import RunState
from foliot.engine.ports import Actions
from foliot.features.filters.model.results import Completion
from foliot.features.filters.usecases import KINDS
from foliot.features.search.sql import SqlSuggestions


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
    actions: Actions

    @query(Verb.READ, Thing.SCHEDULE)
    async def suggest(self, ctx: QueryContext, field: SuggestField, text: str, limit: int) -> Sequence[Completion]:
        match field:
            case SuggestField.KIND:
                return _holding("kind", [*KINDS, *self.actions.kinds()], text, limit)
            case SuggestField.STATE:
                return _holding("state", [state.value for state in RunState], text, limit)
            case SuggestField.ZONE:
                return [Completion("zone", name, name, hint) for name, hint in search_zones(text, limit)]
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


def _holding(field: str, values: Iterable[str], text: str, limit: int) -> list[Completion]:
    """Values that contain the text; prefixes first."""
    lowered = text.lower()
    chosen = [value for value in dict.fromkeys(values) if lowered in value.lower()]
    chosen.sort(key=lambda value: not value.lower().startswith(lowered))
    return [Completion(field, value, value, "") for value in chosen[:limit]]
