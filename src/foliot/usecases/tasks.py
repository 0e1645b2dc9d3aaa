"""Everything that may be asked of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foliot.domain.access import Caller, Thing, Verb, demand, may
from foliot.domain.credential import kept
from foliot.domain.errors import NotFound
from foliot.domain.ids import RUN
from foliot.domain.plain import check_plain
from foliot.domain.queue import queue_name
from foliot.domain.reading import Fields
from foliot.domain.retry import RetryPolicy
from foliot.domain.run import DEFAULT_PRIORITY, MANUAL_QUEUE, Origin
from foliot.domain.schedule import MAX_TIMEOUT
from foliot.ports import RUNS_TOPIC, Clock, Feed, RunRequest, RunView, Store
from foliot.ports.tasks import Tasks as Known
from foliot.ports.tasks import TaskView
from foliot.usecases.again import again
from foliot.usecases.limits import Limiter
from foliot.usecases.once import EACH_TIME, Once
from foliot.usecases.schedules import Schedules
from foliot.usecases.trail import Change, entry

KIND = "task"


class NoTasks:
    """Of a process that knows none."""

    def views(self, tenant_id: str) -> Sequence[TaskView]:
        return ()

    def view(self, name: str, tenant_id: str) -> TaskView | None:
        return None

    def faults(self) -> Sequence[str]:
        return ()


NO_TASKS = NoTasks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """List, look, run."""

    store: Store
    clock: Clock
    feed: Feed
    limiter: Limiter
    schedules: Schedules
    known: Known
    new_id: Callable[[str], str]

    def list(self, caller: Caller) -> Sequence[TaskView]:
        demand(caller, Verb.READ, Thing.TASK)
        return self.known.views(caller.tenant_id)

    def faults(self, caller: Caller) -> Sequence[str] | None:
        """Modules that could not be loaded; None for those who do not look after the house."""
        return self.known.faults() if may(caller, Verb.READ, Thing.HOUSE) else None

    def get(self, caller: Caller, name: str) -> TaskView:
        demand(caller, Verb.READ, Thing.TASK)
        view = self.known.view(name, caller.tenant_id)
        if view is None:
            raise NotFound("task", name)
        return view

    @again
    async def run(self, caller: Caller, name: str, raw: object = None, once: Once = EACH_TIME) -> RunView:
        """A run of its own, outside any schedule, in the queue `manual` unless another is named."""
        demand(caller, Verb.RUN, Thing.TASK)
        view = self.get(caller, name)
        request = self._request(caller, view, raw)
        limits = await self.limiter.of(caller.tenant_id)
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            self.limiter.run(caller, limits)
            became = {"run_id": request.id, "action": dict(request.action or {})}
            await tx.runs.add([request], now, [entry(caller, now, Change("run", Thing.TASK, name, became=became))])
            await self.limiter.stored(tx, caller, limits)
            run = request.made(now)
            await once.keep(tx, caller, run)
        self.feed.wake(RUNS_TOPIC)
        return run

    def _request(self, caller: Caller, view: TaskView, raw: object) -> RunRequest:
        fields = Fields.of("", raw)
        parameters = fields.value("parameters")
        queue = fields.value("queue")
        priority = fields.integer("priority", DEFAULT_PRIORITY, low=1, high=10)
        timeout = fields.integer("timeout_seconds", view.timeout_seconds or 0, low=1, high=MAX_TIMEOUT) or None
        fields.finish()
        config: Mapping[str, Any] = {"task": view.name} | ({} if parameters is None else {"parameters": parameters})
        check_plain("parameters", config)
        action = self.schedules.check_for(caller.tenant_id)(KIND, kept("", config))
        retries = RetryPolicy().max_retries if view.retries is None else view.retries
        return RunRequest(
            id=self.new_id(RUN),
            tenant_id=caller.tenant_id,
            user_id=caller.user_id,
            kind=KIND,
            origin=Origin.MANUAL,
            queue=MANUAL_QUEUE if queue is None else queue_name(queue),
            priority=priority,
            max_attempts=retries + 1,
            timeout_seconds=timeout,
            action=action,
        )
