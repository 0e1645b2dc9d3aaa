"""Use cases of tasks: list them, show one, run one now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Interval

from foliot.commands.audit import AuditedChange, entry
from foliot.commands.audit_sql import audit_rows
from foliot.commands.envelope import CommandContext, command, requires
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.declaration import declared, read
from foliot.core.errors import NotFound
from foliot.core.ids import RUN
from foliot.core.json_values import check_plain
from foliot.core.ports import Clock
from foliot.core.queue_name import Priority, Queue
from foliot.core.secrets import kept
from foliot.db.database import Database
from foliot.engine.model.outcome import RetryPolicy
from foliot.engine.model.run import DEFAULT_PRIORITY, MANUAL_QUEUE, Origin
from foliot.engine.model.schedule import MAX_TIMEOUT
from foliot.engine.model.views import RunRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tasks.model.task import TaskCatalogue, TaskView
from foliot.wakeups.feed import RUNS_TOPIC, Feed

KIND = "task"


@declared
class TaskRunRequest:
    """The parameters of the run."""

    parameters: dict[str, Any] | None = None
    queue: Queue = MANUAL_QUEUE
    priority: Priority = DEFAULT_PRIORITY
    timeout_seconds: Annotated[int | None, Interval(ge=1, le=MAX_TIMEOUT)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """List tasks, show one, run one."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    schedules: Schedules
    known: TaskCatalogue
    new_id: Callable[[str], str]

    @requires(Verb.READ, Thing.TASK)
    def list(self, caller: Caller) -> Sequence[TaskView]:
        return self.known.views(caller.tenant_id)

    def faults(self, caller: Caller) -> Sequence[str] | None:
        """Modules that could not be loaded; None for callers without the right to operate the installation."""
        return self.known.faults() if may(caller, Verb.READ, Thing.INSTALLATION) else None

    @requires(Verb.READ, Thing.TASK)
    def get(self, caller: Caller, name: str) -> TaskView:
        view = self.known.view(name, caller.tenant_id)
        if view is None:
            raise NotFound("task", name)
        return view

    @command(Verb.RUN, Thing.TASK)
    async def run(
        self, ctx: CommandContext, name: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> RunView:
        """A run outside any schedule, in the queue `manual` unless another is named."""
        view = self.get(ctx.caller, name)
        request = self._request(ctx.caller, view, raw)
        tx = await ctx.begin(self.limiter)
        self.limiter.run(ctx.caller, ctx.limits)
        became = {"run_id": request.id, "action": dict(request.action or {})}
        await SqlRuns(tx).add(
            [request],
            ctx.now,
            audit_rows([entry(ctx.caller, ctx.now, AuditedChange("run", Thing.TASK, name, became=became))]),
        )
        await self.limiter.stored(tx, ctx.caller, ctx.limits)
        run = request.made(ctx.now)
        ctx.wake(RUNS_TOPIC)
        return run

    def _request(self, caller: Caller, view: TaskView, raw: object) -> RunRequest:
        asked = read(TaskRunRequest, raw)
        config: dict[str, Any] = {"task": view.name}
        if asked.parameters is not None:
            config["parameters"] = asked.parameters
        check_plain("parameters", config)
        action = self.schedules.check_for(caller)(KIND, kept("", config))
        retries = RetryPolicy().max_retries if view.retries is None else view.retries
        return RunRequest(
            id=self.new_id(RUN),
            tenant_id=caller.tenant_id,
            user_id=caller.user_id,
            kind=KIND,
            origin=Origin.MANUAL,
            queue=asked.queue,
            priority=asked.priority,
            max_attempts=retries + 1,
            timeout_seconds=asked.timeout_seconds or view.timeout_seconds,
            action=action,
        )
