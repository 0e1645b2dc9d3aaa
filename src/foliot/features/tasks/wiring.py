"""Wires tasks: the clients of the built-in ones, the process pool, and the actor that creates declared schedules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import orjson
import structlog

from foliot.cluster import machine
from foliot.cluster.machine import PLACE, ChildLimits, environment
from foliot.cluster.page_reader import AttemptInfo
from foliot.cluster.process_pool import ProcessPool
from foliot.config.settings import Settings
from foliot.core.access import OPERATORS_OWN
from foliot.core.egress import AddressBook, EgressFailed, EgressRefused, OutgoingRequest, ServiceAddress
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.run import Failed, Outcome, Succeeded
from foliot.engine.ports import Action, ActionContext
from foliot.features.fetching.fetcher import Fetcher
from foliot.features.health.probes import (
    AnswerProbe,
    DatabaseProbe,
    GrpcProbe,
    HttpProbe,
    JsonService,
    Probe,
    ServiceFailed,
)
from foliot.features.pipelines.model import IsolatedCall
from foliot.features.prices.tasks import TaskDependencies, built_in
from foliot.features.tasks.action import TaskAction
from foliot.features.tasks.model.task import MARK, Task, TaskCatalogue
from foliot.net.client import HttpEgress
from foliot.plugins import Found, Loader, members
from foliot.wakeups.feed import Feed

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress


def load(modules: Sequence[str], built_in: Iterable[Task] = ()) -> TaskCatalogue:
    """Every task; modules that cannot be loaded are recorded as faults of the catalogue."""
    catalogue = TaskCatalogue()
    for task in built_in:
        catalogue.add(task)
    loader = Loader(catalogue=catalogue, find=_named_tasks, add=lambda task, _: catalogue.add(task), place=_place)
    loader.load(modules)
    return catalogue


def tasks_in(made: Any) -> Iterator[Task]:
    """The decorated functions of a module, in its order; or the one function that was given."""
    return (task for _, task in _named_tasks(made))


def _named_tasks(made: Any) -> Iterator[Found[Task]]:
    seen: set[int] = set()
    for name, member in members(made):
        task = getattr(member, MARK, None) if callable(member) else None
        if isinstance(task, Task) and id(task) not in seen:
            seen.add(id(task))
            yield name, task


def _place(task: Task) -> str:
    code = getattr(task.function, "__code__", None)
    return f"{f'line {code.co_firstlineno}' if code is not None else task.module}: task {task.name}"


SCRAPER = "scraper-service"
TASK_FILES = 4096
TASK_PROCESSES = 4096
LARGEST_ANSWER = 4 * 1024 * 1024

log = structlog.get_logger("foliot.tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskParts:
    """The tasks of one process and what runs them."""

    catalogue: TaskCatalogue
    action: TaskAction
    pool: ProcessPool
    services: HttpEgress
    """An HTTP client that reaches the services of the address book only."""

    async def start(self) -> None:
        await self.services.start()

    async def close(self) -> None:
        await self.pool.close()
        await self.services.close()


def build_tasks(  # noqa: PLR0913, PLR0917 -- one argument for each part to wire
    settings: Settings,
    store: Database,
    clock: Clock,
    fetcher: Fetcher,
    grpc: Action,
    calls: GrpcEgress,
    apart: IsolatedCall,
    feed: Feed | None = None,
) -> TaskParts:
    """Load every task; a module that cannot be loaded is logged and leaves the others intact."""
    book = settings.services
    places = [one.place for one in book.entries.values() if not one.scheme.speaks_grpc]
    services = HttpEgress(allow=places, ports=())
    pool = ProcessPool(
        size=settings.process_count,
        most=settings.process_calls,
        bounds=task_bounds(),
        environment=environment((*PLACE, *settings.task_env)),
    )
    needs = TaskDependencies(
        store=store,
        clock=clock,
        fetcher=fetcher,
        apart=apart,
        feed=feed,
        retention_days=settings.retention_days,
        probes=_probes(settings, store, services, calls),
        scraper=_scraper(book, clock, services, grpc),
        scraper_tenants=found.tenants if (found := book.address_of(SCRAPER)) is not None else OPERATORS_OWN,
    )
    catalogue = load(settings.tasks, built_in(needs))
    for fault in catalogue.faults():
        log.error(fault, action="tasks_not_loaded")
    action = TaskAction(tasks=catalogue, pool=pool)
    return TaskParts(catalogue=catalogue, action=action, pool=pool, services=services)


def task_bounds() -> ChildLimits:
    """Resource limits of an operator's function: generous, but short of starving the process beside it."""
    memory = max(machine.memory() - machine.OURS, machine.memory() // 2)
    return ChildLimits(memory=memory, files=TASK_FILES, processes=TASK_PROCESSES, cores=os.cpu_count() or 1)


def _probes(settings: Settings, store: Database, services: HttpEgress, calls: GrpcEgress) -> Sequence[Probe]:
    found: list[Probe] = [DatabaseProbe(store)]
    if settings.redis_url is not None:
        found.append(AnswerProbe("redis", "redis", lambda: _redis(settings)))
    if settings.broker_url is not None:
        found.append(AnswerProbe("broker", "broker", lambda: _broker(settings)))
    return found + [
        GrpcProbe(one, calls) if one.scheme.speaks_grpc else HttpProbe(one, services)
        for one in settings.services.entries.values()
    ]


async def _redis(settings: Settings) -> None:
    from foliot.wakeups.redis import answers

    if settings.redis_url is not None:
        try:
            await answers(settings.redis_url.reveal())
        except Exception as trouble:
            raise OSError from trouble


async def _broker(settings: Settings) -> None:
    from foliot.cluster.celery.publisher import CeleryBroker

    if settings.broker_url is not None:
        broker = CeleryBroker(settings.broker_url.reveal())
        try:
            await broker.check()
        finally:
            await broker.close()


def _scraper(book: AddressBook, clock: Clock, services: HttpEgress, grpc: Action) -> JsonService | None:
    address = book.address_of(SCRAPER)
    if address is None:
        return None
    if address.scheme.speaks_grpc:
        return GrpcService(grpc, SCRAPER, clock)
    return HttpService(services, address)


@dataclass(frozen=True, slots=True)
class GrpcService:
    """A gRPC service with server reflection; called as the action `grpc` calls it."""

    action: Action
    name: str
    clock: Clock

    async def call(self, method: str, parameters: Mapping[str, Any], attempt: AttemptInfo, patience: timedelta) -> Any:
        outcome = await self.action.perform(self._context(method, parameters, attempt, patience))
        return _result(outcome)

    def _context(
        self, method: str, parameters: Mapping[str, Any], attempt: AttemptInfo, patience: timedelta
    ) -> ActionContext:
        return ActionContext(
            run_id=attempt.run_id,
            tenant_id=attempt.tenant_id,
            schedule_id=attempt.schedule_id,
            kind=self.action.kind,
            attempt=attempt.attempt,
            max_attempts=attempt.max_attempts,
            scheduled_for=None,
            config={"target_service": self.name, "target_method": method, "parameters": dict(parameters)},
            timeout=patience,
            now=self.clock.now(),
            log=_unsaid,
        )


def _unsaid(message: str, **_: Any) -> None:
    """Logs nothing: the calling task reports the failure itself."""


def _result(outcome: Outcome) -> Any:
    match outcome:
        case Succeeded(result=result):
            return result
        case Failed(problem=problem, permanent=permanent):
            raise ServiceFailed(problem.message, permanent=permanent)
        case _:
            raise ServiceFailed("the call was stopped")


@dataclass(frozen=True, slots=True)
class HttpService:
    """A service that takes JSON by POST at `/<method>` under its base URL."""

    egress: HttpEgress
    address: ServiceAddress

    async def call(self, method: str, parameters: Mapping[str, Any], attempt: AttemptInfo, patience: timedelta) -> Any:
        request = OutgoingRequest(
            method="POST",
            url=f"{self.address.url.rstrip('/')}/{method}",
            headers={
                "Content-Type": "application/json",
                "Idempotency-Key": attempt.run_id,
                "X-Foliot-Attempt": str(attempt.attempt),
            },
            body=orjson.dumps(parameters),
            timeout=patience,
            keep=LARGEST_ANSWER,
            most=LARGEST_ANSWER,
        )
        try:
            reply = await self.egress.send(request)
        except EgressRefused:
            raise ServiceFailed(f"{self.address.name} may not be called", permanent=True) from None
        except EgressFailed as failed:
            raise ServiceFailed(f"{self.address.name}: {failed.message}") from None
        if not 200 <= reply.status < 300:
            lasting = 400 <= reply.status < 500 and reply.status not in (408, 425, 429)
            raise ServiceFailed(f"{self.address.name} answered {reply.status}", permanent=lasting)
        if reply.truncated:
            raise ServiceFailed(f"{self.address.name} answered with more than 4 MiB", permanent=True)
        try:
            return orjson.loads(reply.body) if reply.body else None
        except ValueError:
            raise ServiceFailed(f"{self.address.name} did not answer with JSON", permanent=True) from None
