"""The topics that the dashboard's WebSocket can subscribe to."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from foliot.commands.envelope import UseCases, permission_of
from foliot.core.access import Caller, Thing, Verb, may
from foliot.engine.model.run import OPEN
from foliot.features.bulk import rest as bulks
from foliot.features.bulk.model import OVER, bulk_topic
from foliot.features.bulk.usecases import Bulks
from foliot.features.insights.usecases.attention import Attention
from foliot.features.jobs.usecases import Jobs
from foliot.features.live.usecases import ChangeMarkers
from foliot.features.queues.usecases import Queues
from foliot.features.runs import schema as runs_schema
from foliot.features.runs.usecases.runs import Runs
from foliot.servers.http.sse import WatchedTopic, WatchedValue
from foliot.wakeups.feed import QUEUES_TOPIC, RUNS_TOPIC, SCHEDULES_TOPIC, run_topic

ATTENTIVE = 5.0
"""Seconds between two checks of what needs attention, without a wake-up."""
RUN_ID = re.compile(r"run_[0-9a-f]{32}")
NEEDS = {
    "runs": permission_of(ChangeMarkers.runs),
    "schedules": permission_of(ChangeMarkers.schedules),
    "queues": permission_of(Queues.list),
    "attention": permission_of(Attention.check),
    "bulk": permission_of(Bulks.get),
    "run": permission_of(Runs.get),
    "log": permission_of(Runs.events),
    "job": permission_of(Jobs.get),
}
"""The permission that each topic requires."""
KEYS = {"bulk": re.compile(r"blk_[0-9a-f]{32}"), "run": RUN_ID, "log": RUN_ID, "job": RUN_ID}
"""The form of the id after a topic's colon."""


def topic_of(cases: UseCases, caller: Caller, topic: str) -> WatchedTopic:
    """How to watch this topic; shared by all callers of a tenant who see the same."""
    kind, _, key = topic.partition(":")
    rank = "house" if may(caller, Verb.READ, Thing.INSTALLATION) else "tenant"
    name = caller.tenant_id, rank, topic
    match kind:
        case "runs":
            return WatchedTopic(name, _runs(cases, caller), (RUNS_TOPIC,))
        case "schedules":
            return WatchedTopic(name, _schedules(cases, caller), (SCHEDULES_TOPIC,))
        case "queues":
            return WatchedTopic(name, _queues(cases, caller), (QUEUES_TOPIC, RUNS_TOPIC))
        case "attention":
            return WatchedTopic(name, _attention(cases, caller), (RUNS_TOPIC, SCHEDULES_TOPIC, QUEUES_TOPIC), ATTENTIVE)
        case "bulk":
            return WatchedTopic(name, _bulk(cases, caller, key), (bulk_topic(key),))
        case _:
            return WatchedTopic(name, _run(cases, caller, key), (run_topic(key),))


Look = Callable[[], Awaitable[WatchedValue]]


def _runs(cases: UseCases, caller: Caller) -> Look:
    async def look() -> WatchedValue:
        stir = await cases[ChangeMarkers].runs(caller)
        return WatchedValue(stir, {"by_state": dict(stir.by_state), "newest_id": stir.newest_id})

    return look


def _schedules(cases: UseCases, caller: Caller) -> Look:
    async def look() -> WatchedValue:
        return WatchedValue(await cases[ChangeMarkers].schedules(caller))

    return look


def _queues(cases: UseCases, caller: Caller) -> Look:
    async def look() -> WatchedValue:
        queues = await cases[Queues].list(caller)
        return WatchedValue(
            [(queue.name, queue.depth, queue.in_flight, queue.paused_at, queue.workers) for queue in queues]
        )

    return look


def _attention(cases: UseCases, caller: Caller) -> Look:
    async def look() -> WatchedValue:
        entries = (await cases[Attention].check(caller)).items
        return WatchedValue([(entry.id, entry.severity, entry.count, entry.since, entry.run_id) for entry in entries])

    return look


def _bulk(cases: UseCases, caller: Caller, bulk_id: str) -> Look:
    async def look() -> WatchedValue:
        progress = await cases[Bulks].get(caller, bulk_id)
        view = bulks.view(progress)
        # Its runs go on after it has ended.
        return WatchedValue(view, view, over=progress.bulk.state in OVER and not OPEN & set(progress.outcomes))

    return look


def _run(cases: UseCases, caller: Caller, run_id: str) -> Look:
    async def look() -> WatchedValue:
        run = await cases[Runs].get(caller, run_id)
        # Its log grows without changing this value.
        view = runs_schema.Run.of(run)
        return WatchedValue(view, view, over=run.state.final)

    return look
