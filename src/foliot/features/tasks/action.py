"""The action `task`: resolves the function, validates its parameters, runs it on the loop, in a thread or a process."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from foliot.cluster.page_reader import AttemptInfo, CallResult, Pool, ProcessDied
from foliot.core.access import KEEPER
from foliot.core.document import Fields, rfc3339
from foliot.core.errors import Invalid, InvalidMany
from foliot.core.json_values import check_depth
from foliot.engine.model.outcome import RetryAt, RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.features.tasks.model.catalogue import TaskCatalogue
from foliot.features.tasks.model.task import Task
from foliot.features.tasks.run.runner import TaskRun

SOFT = 1500 / 1620
"""The share of the timeout after which a task is asked to stop: 25 of 30 minutes."""
SOONEST = timedelta(milliseconds=1)
"""The shortest delay for "retry at once": zero would leave the delay to the retry policy."""


class TaskAction:
    """Runs a registered Python function."""

    kind = "task"
    timeout = timedelta(minutes=30)

    def __init__(self, *, tasks: TaskCatalogue, pool: Pool) -> None:
        self._tasks = tasks
        self._pool = pool

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in its stored form, or `Invalid` naming the field; as the operator's own tenant sees it."""
        return self.check_for(KEEPER, config)

    def check_for(self, tenant_id: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """The same for a tenant; a task of another tenant is reported like one that does not exist."""
        fields = Fields.of("", config)
        fields.asked |= {"task", "parameters"}
        fields.finish()
        task = self._find(fields.value("task"), tenant_id)
        given = Fields.of("parameters", fields.value("parameters")).raw
        check_depth("parameters", given)
        try:
            task.signature.read(given)
        except InvalidMany as wrong:
            raise InvalidMany(
                Invalid(f"parameters.{one.field}", one.message, got=one.got) for one in wrong.errors
            ) from None
        return {"task": task.name, "parameters": dict(given)}

    def defaults(self, tenant_id: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Queue, retries and timeout that its decorator declares."""
        name = config.get("task")
        task = self._tasks.get(name, tenant_id) if isinstance(name, str) else None
        return {} if task is None else task.defaults()

    def target(self, config: Mapping[str, Any]) -> AttemptTarget:
        """The task's name, whatever service the function waits for."""
        return AttemptTarget(f"task:{config.get('task')}")

    def _find(self, name: object, tenant_id: str) -> Task:
        if name is None:
            raise Invalid("task", "is required")
        if not isinstance(name, str):
            raise Invalid("task", "must be the name of a task", got=name)
        task = self._tasks.get(name, tenant_id)
        if task is None:
            names = self._tasks.names(tenant_id)
            close = difflib.get_close_matches(name[:100], names, n=1)
            hint = f"did you mean {close[0]!r}? Known are" if close else "known are"
            raise Invalid("task", f"is not a task of this server; {hint} {', '.join(names)}", got=name[:100])
        return task

    async def perform(self, ctx: ActionContext) -> Outcome:
        """Run the function once, to its end."""
        name = str(ctx.config.get("task"))
        task = self._tasks.get(name, ctx.tenant_id)
        if task is None:
            problem = AttemptError("unknown_task", f"this worker has no task {name!r}: see FOLIOT_TASKS and its log")
            # Another worker may have it: this one was started without the module, or with a broken one. A task that is
            # loaded here but not allowed for the tenant is refused on every worker.
            return Failed(problem, permanent=self._tasks.has(name))
        attempt = AttemptInfo(
            run_id=ctx.run_id,
            tenant_id=ctx.tenant_id,
            schedule_id=ctx.schedule_id,
            attempt=ctx.attempt,
            max_attempts=ctx.max_attempts,
            scheduled_for=rfc3339(ctx.scheduled_for),
        )
        given, patience = ctx.config.get("parameters") or {}, ctx.timeout * SOFT
        running = TaskRun(task=task, given=given, attempt=attempt, ctx=ctx, patience=patience)
        try:
            if task.cpu:
                result = await running.in_process(self._pool)
            else:
                result = await (running.on_loop() if task.is_async else running.in_thread())
        except TimeoutError:
            problem = AttemptError("timeout", f"did not finish within {patience.total_seconds():g} s")
            return _paced(Failed(problem), task, ctx)
        except ProcessDied as died:
            ctx.log(str(died), level="error")
            return _paced(Failed(AttemptError("process_died", str(died))), task, ctx)
        outcome = _outcome(result, ctx)
        return _paced(outcome, task, ctx) if isinstance(outcome, Failed) else outcome


def _paced(failed: Failed, task: Task, ctx: ActionContext) -> Failed:
    """With the retry delay that the task declares, unless its schedule has a retry policy."""
    if task.retry_delay is None or ctx.schedule_id is not None or failed.retry_after is not None:
        return failed
    policy = RetryPolicy.from_dict(task.defaults()["retry_policy"])
    then = policy.decide(ctx.run_id, ctx.attempt, ctx.max_attempts, failed, ctx.now)
    if not isinstance(then, RetryAt):
        return failed
    return replace(failed, retry_after=max(then.moment - ctx.now, SOONEST))


def _outcome(result: CallResult, ctx: ActionContext) -> Outcome:
    if result.error is None:
        return Succeeded(result=result.result, partial=result.partial)
    if result.trace:
        ctx.log(result.trace.rstrip(), level="error")
    after = None if result.retry_after is None else max(timedelta(seconds=result.retry_after), SOONEST)
    return Failed(AttemptError("task_failed", result.error), permanent=result.permanent, retry_after=after)
