"""The action `task`: resolves the function, validates its parameters, runs it on the loop, in a thread or a process.

Runs a task's function: async ones on the loop, synchronous ones in a thread, CPU-bound ones in a process.
"""

from __future__ import annotations

import asyncio
import contextvars
import difflib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from foliot.cluster.page_reader import AttemptInfo, CallResult, Pool, PoolCall, ProcessDied
from foliot.core.access import KEEPER
from foliot.core.document import Fields, rfc3339
from foliot.core.errors import Invalid, InvalidMany
from foliot.core.json_values import check_depth
from foliot.core.parent_template import check_parent_templates, is_template
from foliot.engine.model.outcome import RetryAt, RetryPolicy
from foliot.engine.model.run import AttemptError, Failed, Outcome, Succeeded
from foliot.engine.ports import ActionContext, AttemptTarget
from foliot.features.tasks.model.context import TaskContext
from foliot.features.tasks.model.task import Task, TaskCatalogue
from foliot.features.tasks.run.call import call, call_async

GRACE = 2.0
"""Seconds to wait for a thread that was asked to stop; a thread cannot be killed."""

WAITING = 100
"""Log lines of a thread that may be queued for the loop; a thread that logs more blocks until they are written."""

LOOK = 1.0
"""Seconds after which a blocked thread checks whether the attempt still takes lines."""

STUBBORN = "It does not stop, and its thread is abandoned: a loop should check ctx.cancelled."


@dataclass(slots=True)
class RunProgress:
    """Passes log lines and progress of a function to its run, from any thread. Created on the loop."""

    ctx: ActionContext
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    home: int = field(default_factory=threading.get_ident)
    most: int = WAITING
    _space: threading.Condition = field(init=False, default_factory=threading.Condition)
    _waiting: list[Callable[[], None]] = field(init=False, default_factory=list)
    _closed: bool = field(init=False, default=False)
    _passing: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    def log(self, message: str, level: str) -> None:
        self._say(lambda: self.ctx.log(message, level=level))

    def progress(self, data: Mapping[str, Any]) -> None:
        self._say(lambda: self.ctx.progress(**data))

    async def room(self) -> None:
        """Back-pressure for a function in another process: its pipe is not read faster than its lines are written."""
        if not self._closed:
            await self.ctx.room()

    def _say(self, say: Callable[[], None]) -> None:
        if threading.get_ident() == self.home:
            say()
            return
        with self._space:
            while len(self._waiting) >= self.most and not self._over:
                # The function waits as long as its lines do: it is the one that floods.
                self._space.wait(LOOK)
            if self._over:
                return
            self._waiting.append(say)
            if len(self._waiting) == 1:
                # One batch after the other, so that the lines keep their order.
                self.loop.call_soon_threadsafe(self._begin)

    @property
    def _over(self) -> bool:
        """Whether the attempt no longer takes lines."""
        return self._closed or self.loop.is_closed()

    def _begin(self) -> None:
        passing = asyncio.ensure_future(self._pass_on())
        self._passing.add(passing)
        passing.add_done_callback(self._passing.discard)

    async def _pass_on(self) -> None:
        await self.room()
        self.flush()

    def flush(self) -> None:
        """Pass on the queued lines now."""
        with self._space:
            waiting, self._waiting = self._waiting, []
            self._space.notify_all()
        for say in waiting:
            say()

    def close(self) -> None:
        """Pass on the queued lines; later ones are dropped, and blocked threads are released."""
        self.flush()
        with self._space:
            self._closed = True
            self._space.notify_all()
        for passing in list(self._passing):
            passing.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """One attempt of a task, ready to run."""

    task: Task
    given: Mapping[str, Any]
    attempt: AttemptInfo
    ctx: ActionContext
    patience: timedelta

    async def on_loop(self) -> CallResult:
        """Awaits an async function on the process's event loop; a timeout cancels it."""
        tell = RunProgress(self.ctx)
        context = TaskContext.of(self.task.name, self.attempt, tell)
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await call_async(self.task, self.given, context)
        finally:
            context.stop.set()
            tell.close()

    async def in_thread(self) -> CallResult:
        """Runs a synchronous function in a daemon thread of its own: one that hangs blocks no pool and no exit."""
        tell = RunProgress(self.ctx)
        context = TaskContext.of(self.task.name, self.attempt, tell)
        ended: asyncio.Future[CallResult] = tell.loop.create_future()

        def work() -> None:
            result = call(self.task, self.given, context)
            if not tell.loop.is_closed():
                tell.loop.call_soon_threadsafe(_settle, ended, result)

        copied = contextvars.copy_context()
        threading.Thread(target=copied.run, args=(work,), name=f"foliot-task-{self.task.name}", daemon=True).start()
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                return await asyncio.shield(ended)
        except (TimeoutError, asyncio.CancelledError):
            context.stop.set()
            await asyncio.wait([ended], timeout=GRACE)
            if not ended.done():
                tell.flush()
                self.ctx.log(STUBBORN, level="warning")
            raise
        finally:
            tell.close()

    async def in_process(self, pool: Pool) -> CallResult:
        """Runs a CPU-bound function in a child process, which can be killed."""
        request = PoolCall(
            module=self.task.module,
            function=self.task.function.__qualname__,
            task=self.task.name,
            parameters=self.given,
            attempt=self.attempt,
        )
        tell = RunProgress(self.ctx)
        try:
            return await pool.call(request, tell, self.patience, tell.room)
        finally:
            tell.close()


def _settle(ended: asyncio.Future[CallResult], result: CallResult) -> None:
    if not ended.done():
        ended.set_result(result)


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
        check_parent_templates("parameters", given)
        try:
            task.signature.read(given)
        except InvalidMany as wrong:
            # What a parent's run leaves has its type when the run begins: the task reads it then.
            errors = [one for one in wrong.errors if not is_template(given.get(one.field))]
            if errors:
                raise InvalidMany(
                    Invalid(f"parameters.{one.field}", one.message, got=one.got) for one in errors
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
