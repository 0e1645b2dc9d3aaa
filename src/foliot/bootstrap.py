"""The wiring room: makes the real parts and joins them. The only file that knows everyone."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.actions.webhook import Webhook
from foliot.domain.ids import new_id
from foliot.egress import HttpEgress
from foliot.engine.engine import Engine, Pace
from foliot.engine.executor import Executor
from foliot.engine.loop import Loop
from foliot.engine.timekeeper import Timekeeper
from foliot.feed.memory import MemoryFeed
from foliot.ports import Action
from foliot.settings import Settings
from foliot.store import migrate as migrations
from foliot.store.clock import StoreClock
from foliot.store.database import Database
from foliot.usecases import UseCases
from foliot.workers.embedded import EmbeddedWorkers


@dataclass(frozen=True, slots=True)
class Registry:
    """The actions this process knows, by kind."""

    actions: Mapping[str, Action]

    def get(self, kind: str) -> Action | None:
        return self.actions.get(kind)

    def kinds(self) -> Sequence[str]:
        return sorted(self.actions)


@dataclass(frozen=True, slots=True)
class LocalSecrets:
    """Local mode has one tenant and one signing secret, from the settings."""

    secret: str | None

    async def signing(self, tenant_id: str) -> Sequence[str]:
        return [self.secret] if self.secret else []


@dataclass(slots=True, kw_only=True)
class App:
    """One process's parts. Two of them can live in one program: nothing is global."""

    settings: Settings
    store: Database
    clock: StoreClock
    egress: HttpEgress
    usecases: UseCases
    asgi: Callable[..., Any] | None
    engine: Engine | None
    loop: Loop

    async def start(self) -> None:
        await self.egress.start()
        if self.engine is not None:
            await self.engine.start()
        else:
            timekeeper = Timekeeper(clock=self.clock, store=self.store)
            await timekeeper.run_once()
            self.loop.start([timekeeper])

    async def stop(self, grace: float | None = None) -> None:
        await self.loop.stop()
        if self.engine is not None:
            await self.engine.stop(self.settings.shutdown_seconds if grace is None else grace)
        await self.egress.close()
        await self.store.close()


def build(settings: Settings, *, doors: bool, engine: bool) -> App:
    """The parts that this process needs; nothing is opened before `start`."""
    store, clock, feed = Database(settings.database_url), StoreClock(), MemoryFeed()
    egress = HttpEgress(loopback=True, allow=settings.egress_allow, ports=settings.egress_ports)
    secret = settings.webhook_secret
    actions = Registry({"webhook": Webhook(egress=egress, secrets=LocalSecrets(secret.reveal() if secret else None))})
    usecases = UseCases.of(store, clock, feed, actions, default_zone=settings.timezone, disk=lambda: _disk(settings))
    return App(
        settings=settings,
        store=store,
        clock=clock,
        egress=egress,
        usecases=usecases,
        asgi=_doors(settings, usecases) if doors else None,
        engine=_engine(settings, store, clock, feed, actions) if engine else None,
        loop=Loop(clock, feed),
    )


def _doors(settings: Settings, usecases: UseCases) -> Callable[..., Any]:
    # The web framework takes longer to import than everything else together; a scheduler and an audit need none.
    from foliot.doors.rest import LOOPBACK, create_app

    return create_app(usecases, hosts=LOOPBACK | {settings.host})


def _engine(settings: Settings, store: Database, clock: StoreClock, feed: MemoryFeed, actions: Registry) -> Engine:
    def workers(executor: Executor) -> EmbeddedWorkers:
        return EmbeddedWorkers(executor, settings.concurrency)

    return Engine(
        node_id=f"{socket.gethostname()}:{os.getpid()}:{new_id('n')[-6:]}",
        clock=clock,
        store=store,
        feed=feed,
        actions=actions,
        pace=Pace(
            tick=settings.tick_interval,
            batch=settings.batch_size,
            lease=settings.lease_seconds,
            heartbeat=settings.heartbeat_seconds,
            sweep=settings.sweep_seconds,
            scale=settings.time_scale,
            retention=timedelta(days=settings.retention_days),
        ),
        workers_of=workers,
        queues=settings.queues or None,
    )


def _disk(settings: Settings) -> Mapping[str, Any]:
    path = settings.sqlite_path
    if path is None or not path.exists():
        return {}
    return {"path": str(path), "bytes": path.stat().st_size, "free": shutil.disk_usage(path.parent).free}


async def migrate(settings: Settings) -> tuple[str | None, str]:
    """Bring the database to the newest revision; says the one before and after."""
    return await migrations.migrate(settings.database_url)


async def current_revision(settings: Settings) -> tuple[str | None, str]:
    """The database's revision and the newest one."""
    return await migrations.current(settings.database_url), migrations.NEWEST
