"""Foliot inside a Python program: the same engine, started and stopped by the program around it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import structlog

from foliot import logs
from foliot.app import build
from foliot.app.build import App
from foliot.config.parse import SettingsError
from foliot.config.settings import Settings
from foliot.core.access import CODE
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict, Invalid
from foliot.db.file_lock import make_private, only_one
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.presets.usecases import Presets
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.declared import DeclarationOutcome
from foliot.features.schedules.usecases.embedded import EmbeddedSchedules
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.tasks.model.task import MARK, Task, document_of

PAGE = 200
Function = Callable[..., Any]
When = str | timedelta | datetime | Mapping[str, Any]

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger("foliot.embed")


class Scheduler:
    """Schedules functions marked with `@task`, and pipelines, inside this program.

    Settings that are not given as arguments come from the same environment variables as those of `foliot up`.

    async with Scheduler(db_url="sqlite:///jobs.db", timezone="Europe/Stockholm") as scheduler:
        await scheduler.add(report, "0 9 * * 1-5")
    """

    def __init__(
        self,
        db_url: str | None = None,
        timezone: str | None = None,
        *,
        tasks: Iterable[Function] = (),
        **settings: Any,
    ) -> None:
        """`tasks`: functions that schedules in the database may name before `add` is called with them again."""
        try:
            self.settings = Settings.load(os.environ, database_url=db_url, timezone=timezone, **settings)
        except SettingsError as wrong:
            raise SettingsError([_renamed(each) for each in wrong.complaints]) from None
        if self.settings.is_sqlite and self.settings.sqlite_path is None:
            raise Invalid("db_url", "must name a file: a database in memory is lost at exit", got=db_url)
        self._known = [_task_of(function) for function in tasks]
        self._app: App | None = None
        self._parts = contextlib.AsyncExitStack()

    # --- start and stop ---

    async def start(self) -> None:
        """Migrate the database to the newest revision and start the engine."""
        if self._app is not None:
            raise Conflict("this scheduler is already running")
        logs.join()
        async with contextlib.AsyncExitStack() as parts:
            path = self.settings.sqlite_path
            self.settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private(path)
            parts.enter_context(only_one(path))
            await build.migrate(self.settings)
            app = build.build(self.settings, http=False, engine=True)
            for task in self._known:
                _register(app, task)
            parts.push_async_callback(app.stop)
            await app.start()
            self._app, self._parts = app, parts.pop_all()

    async def stop(self) -> None:
        """Let running attempts finish, or hand them back after `FOLIOT_SHUTDOWN_SECONDS`. Can be called twice."""
        self._app = None
        await self._parts.aclose()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def run(self, begin: Callable[[], Coroutine[Any, Any, object]] | None = None) -> None:
        """Start, await `begin()`, and run until SIGINT or SIGTERM. For programs without an event loop."""
        asyncio.run(self._run(begin))

    def in_thread(self) -> BlockingScheduler:
        """Runs in a thread, for programs without an event loop: `with Scheduler(…).in_thread() as scheduler:`."""
        return BlockingScheduler(self)

    async def _run(self, begin: Callable[[], Coroutine[Any, Any, object]] | None) -> None:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, asked.set)
        async with self:
            if begin is not None:
                await begin()
            await asked.wait()

    # --- schedules and runs ---

    async def add(
        self,
        /,
        what: Function | str,
        when: When,
        *,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Schedule:
        """Schedule a task (its function) or a pipeline (its name); returns the schedule as stored.

        `when` is a cron expression, `every 15m`, a `timedelta`, a `datetime` with a zone, or the fields of a schedule's
        document; `fields` are more of those. Under one `name` there is one schedule, however often it is added: it
        follows the program, unless it was edited through the API or the dashboard.
        """
        app = self._started()
        action, own = self._action(app, what, parameters)
        chosen = name or own
        raw = {**_document(when), **fields, "name": chosen, "action": action}
        made = await self._programs(app).add(CODE, chosen, raw)
        if made.fate is DeclarationOutcome.KEPT:
            log.warning(
                "this schedule was edited elsewhere: it is left as it is", action="program_kept", schedule=chosen
            )
        return made.schedule

    async def remove(self, which: str | Schedule) -> None:
        """By its id or the name it was added under; its waiting runs are cancelled. `NotFound` if there is none."""
        app = self._started()
        await app.usecases[Schedules].delete(CODE, await self._id(app, which))

    async def list(self) -> Sequence[Schedule]:
        """Every schedule, newest first."""
        app, found = self._started(), list[Schedule]()
        while page := await app.usecases[Schedules].list(CODE, PageRequest(PAGE, found[-1].id if found else None)):
            found += page
        return found

    async def run_now(self, which: str | Schedule) -> RunView:
        """A run of this schedule outside its instants."""
        app = self._started()
        return await app.usecases[Schedules].run_now(CODE, await self._id(app, which))

    async def get_run(self, run_id: str) -> RunView:
        """A run as it stands, with its attempts and its result."""
        return await self._started().usecases[Runs].get(CODE, run_id)

    def _started(self) -> App:
        if self._app is None:
            raise Conflict("this scheduler has not been started: use `async with`, or call start() first")
        return self._app

    @staticmethod
    def _programs(app: App) -> EmbeddedSchedules:
        return EmbeddedSchedules(store=app.store, declaring=app.usecases[Presets].declaring)

    async def _id(self, app: App, which: str | Schedule) -> str:
        return which.id if isinstance(which, Schedule) else await self._programs(app).id_of(CODE, which)

    @staticmethod
    def _action(app: App, what: Function | str, parameters: Mapping[str, Any] | None) -> tuple[dict[str, Any], str]:
        """The action, and the default name of its schedule."""
        if isinstance(what, str):
            if parameters is not None:
                raise Invalid("parameters", "are those of a task: a pipeline takes none", got=dict(parameters))
            return {"kind": "pipeline", "pipeline": what}, what
        task = _task_of(what)
        _register(app, task)
        return {"kind": "task", "task": task.name, "parameters": dict(parameters or {})}, task.name


def _task_of(function: Function) -> Task:
    task = getattr(function, MARK, None)
    if not isinstance(task, Task):
        called = getattr(function, "__name__", repr(function))
        raise Invalid("task", "must be a function marked with @task (from foliot import task)", got=called)
    if task.cpu and task.module == "__main__":
        raise Invalid("task", "with cpu=True must be defined in a module that its process can import", got=task.name)
    return task


def _register(app: App, task: Task) -> None:
    try:
        app.tasks.catalogue.add(task)
    except (TypeError, ValueError) as wrong:
        raise Invalid("task", str(wrong), got=task.name) from None


def _document(when: When) -> dict[str, Any]:
    match when:
        case timedelta():
            return {"type": "interval", "interval_seconds": when.total_seconds()}
        case datetime():
            if when.tzinfo is None:
                raise Invalid("when", "must have a time zone, as in datetime(2027, 1, 1, 9, tzinfo=UTC)", got=str(when))
            return {"type": "oneoff", "run_at": rfc3339(when)}
        case _:
            return document_of(when, None)


def _renamed(complaint: Invalid) -> Invalid:
    """The same error under the name of our argument instead of the flag's."""
    if not complaint.field.startswith("--"):
        return complaint
    name = complaint.field.removeprefix("--").replace("-", "_")
    return Invalid({"database_url": "db_url"}.get(name, name), complaint.message, got=complaint.got)


def _blocking(
    method: Callable[Concatenate[Scheduler, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingScheduler, P], T]:
    """The blocking form of a method."""

    @wraps(method)
    def waited(self: BlockingScheduler, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._wait(method(self._scheduler, *args, **kwargs))

    return waited


class BlockingScheduler:
    """A scheduler whose engine has its own thread and event loop; its methods block."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._loop: asyncio.AbstractEventLoop | None = None

    add = _blocking(Scheduler.add)
    remove = _blocking(Scheduler.remove)
    list = _blocking(Scheduler.list)
    run_now = _blocking(Scheduler.run_now)
    get_run = _blocking(Scheduler.get_run)

    def start(self) -> None:
        """Like `Scheduler.start`; returns when it has started, or raises why it has not."""
        if self._loop is not None:
            raise Conflict("this scheduler is already running")
        self._loop = asyncio.new_event_loop()
        # Daemonic: a program that forgets to stop still ends, and leases hand its runs on.
        self._thread = threading.Thread(target=self._loop.run_forever, name="foliot-scheduler", daemon=True)
        self._thread.start()
        try:
            self._wait(self._scheduler.start())
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        """Like `Scheduler.stop`; a second call does nothing."""
        if self._loop is not None:
            try:
                self._wait(self._scheduler.stop())
            finally:
                self._end()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _wait(self, asked: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            asked.close()
            raise Conflict("this scheduler has not been started: use `with`, or call start() first")
        waited: Future[T] = asyncio.run_coroutine_threadsafe(asked, self._loop)
        return waited.result()

    def _end(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()
