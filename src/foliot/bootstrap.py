"""The wiring room: makes the real parts and joins them. The only file that knows everyone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from foliot.actions.webhook import Webhook
from foliot.domain.ids import new_id
from foliot.domain.node import Role, Wish
from foliot.domain.queue import KNOWN_QUEUES
from foliot.egress import HttpEgress
from foliot.engine.engine import Engine, Pace
from foliot.engine.executor import Executor
from foliot.engine.loop import Actor, Loop
from foliot.engine.timekeeper import Timekeeper
from foliot.feed.memory import MemoryFeed
from foliot.ports import Action, Broker, Feed, Intake, LivingFeed
from foliot.settings import Settings
from foliot.store import migrate as migrations
from foliot.store.caps import Caps
from foliot.store.clock import StoreClock
from foliot.store.database import Database
from foliot.usecases import UseCases
from foliot.usecases.limits import Limiter
from foliot.vault.late import LateKeyring, keyring_of
from foliot.vault.wallet import Wallet
from foliot.workers.embedded import EmbeddedWorkers

if TYPE_CHECKING:
    from foliot.identity.claims import Expectations
    from foliot.identity.identities import Identities
    from foliot.identity.jwks import Jwks
    from foliot.identity.verifying import Keys as TokenKeys


@dataclass(frozen=True, slots=True)
class Registry:
    """The actions this process knows, by kind."""

    actions: Mapping[str, Action]

    def get(self, kind: str) -> Action | None:
        return self.actions.get(kind)

    def kinds(self) -> Sequence[str]:
        return sorted(self.actions)


FIRST_FETCH = 2.0
"""Seconds for which the start waits for the keys of an identity provider; after that, their arrival opens the door."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """Who may come in, and what must run for it. Local mode has none."""

    identity: Identities
    actors: Sequence[Actor]
    jwks: Jwks | None = None
    egress: HttpEgress | None = None
    """Leads to the identity provider, and nothing but its keys is fetched by it."""

    async def open(self, loop: Loop) -> None:
        if self.egress is not None:
            await self.egress.start()
        if self.jwks is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_FETCH):
                    await self.jwks.run_once()
        loop.start(self.actors)

    async def close(self) -> None:
        if self.egress is not None:
            await self.egress.close()


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
    feed: LivingFeed
    entrance: Entrance | None = None

    async def start(self) -> None:
        await self.egress.start()
        await self.feed.start()
        if self.engine is not None:
            await self.engine.start()
        else:
            timekeeper = Timekeeper(clock=self.clock, store=self.store)
            await timekeeper.run_once()
            self.loop.start([timekeeper])
        if self.entrance is not None:
            # After the clock was set: a token's time is judged by it.
            await self.entrance.open(self.loop)

    async def stop(self, grace: float | None = None) -> None:
        await self.loop.stop()
        if self.engine is not None:
            await self.engine.stop(self.settings.shutdown_seconds if grace is None else grace)
        if self.entrance is not None:
            await self.entrance.close()
        await self.egress.close()
        await self.feed.close()
        await self.store.close()


def build(settings: Settings, *, doors: bool, engine: bool, role: Role = Role.UP) -> App:
    """The parts that this process needs; nothing is opened before `start`."""
    limits = settings.limits(local=settings.local)
    store = Database(settings.database_url, caps=Caps(limits.concurrent_runs))
    clock, feed = StoreClock(), _feed(settings) if doors or engine else MemoryFeed()
    limiter = Limiter(store=store, clock=clock, default=limits)
    egress = HttpEgress(
        loopback=settings.local,
        allow=settings.egress_allow,
        ports=settings.egress_ports,
        per_host=settings.egress_per_host,
        limits=limiter.egress_allow,
    )
    vault = vault_of(settings)
    standing = settings.webhook_secret if settings.local else None
    wallet = Wallet(store=store, clock=clock, vault=vault, standing=standing.reveal() if standing else None)
    actions = Registry({"webhook": Webhook(egress=egress, secrets=wallet)})
    entrance = _entrance(settings, store, clock, vault) if doors and not settings.local else None
    usecases = UseCases.of(
        store,
        clock,
        feed,
        actions,
        default_zone=settings.timezone,
        pepper=vault,
        vault=vault,
        limiter=limiter,
        check_allow=egress.check_limits,
        disk=lambda: _disk(settings),
        remarks=entrance.jwks.problems if entrance and entrance.jwks else None,
        reach=feed.reach,
    )
    return App(
        settings=settings,
        store=store,
        clock=clock,
        egress=egress,
        usecases=usecases,
        asgi=_doors(settings, usecases, entrance, None if settings.local else vault) if doors else None,
        engine=_engine(settings, role, store, clock, feed, actions) if engine else None,
        loop=Loop(clock, feed),
        feed=feed,
        entrance=entrance,
    )


def _feed(settings: Settings) -> LivingFeed:
    """What wakes the other processes; on SQLite there are none."""
    if settings.is_sqlite:
        return MemoryFeed()
    from foliot.feed.shared import SharedFeed

    if settings.redis_url is not None:
        from foliot.feed.redis import RedisLine

        return SharedFeed(RedisLine(settings.redis_url.reveal(), settings.redis_prefix or settings.database_name))
    if settings.is_postgresql:
        from foliot.feed.postgres import PostgresLine

        return SharedFeed(PostgresLine(settings.database_url))
    return MemoryFeed()


def vault_of(settings: Settings) -> LateKeyring | None:
    """The master keys; None when there is nothing to make them of."""
    return keyring_of(
        keys=[each.reveal() for each in settings.secret_key],
        jwt_secret=settings.jwt_secret.reveal() if settings.jwt_secret else None,
        home=settings.home,
        local=settings.local,
    )


def expectations(settings: Settings) -> Expectations:
    """What a token must say."""
    from foliot.identity.claims import Expectations

    return Expectations(
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer,
        longest=timedelta(hours=settings.jwt_max_hours),
    )


def provider(settings: Settings, clock: StoreClock) -> tuple[Jwks, HttpEgress]:
    """The keys of the identity provider, and a way out that leads nowhere else."""
    from foliot.egress.target import read_url
    from foliot.identity.jwks import Jwks

    url = settings.jwks_url or ""
    target = read_url(url)
    place = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    egress = HttpEgress(allow=[place], ports=())
    return Jwks(url=url, egress=egress, clock=clock), egress


def _entrance(settings: Settings, store: Database, clock: StoreClock, vault: LateKeyring | None) -> Entrance:
    # Cryptography takes its time to import, and local mode checks no token.
    from foliot.identity.identities import Identities
    from foliot.identity.keys import Keys
    from foliot.identity.last_use import LastUse
    from foliot.identity.tokens import Tokens
    from foliot.identity.verifying import hs256, key_file

    jwks = egress = None
    keys: TokenKeys
    if settings.jwt_secret is not None:
        keys = hs256(settings.jwt_secret.reveal())
    elif settings.jwt_key_file is not None:
        keys = key_file(settings.jwt_key_file)
    else:
        jwks, egress = provider(settings, clock)
        keys = jwks
    last_use = LastUse(store=store)
    return Entrance(
        identity=Identities(
            Tokens(keys=keys, clock=clock, expected=expectations(settings)),
            None if vault is None else Keys(store=store, clock=clock, pepper=vault, last_use=last_use),
        ),
        actors=[last_use] if jwks is None else [last_use, jwks],
        jwks=jwks,
        egress=egress,
    )


def _doors(
    settings: Settings, usecases: UseCases, entrance: Entrance | None, pepper: LateKeyring | None
) -> Callable[..., Any]:
    # The web framework takes longer to import than everything else together; a scheduler and an audit need none.
    from foliot.doors.rest import LOOPBACK, create_app

    scraper = settings.metrics_token
    return create_app(
        usecases,
        identity=None if entrance is None else entrance.identity,
        hosts=LOOPBACK | {settings.host},
        metrics_token=None if scraper is None else scraper.reveal(),
        cursor_pepper=pepper,
    )


def _engine(
    settings: Settings, role: Role, store: Database, clock: StoreClock, feed: Feed, actions: Registry
) -> Engine:
    host, pid = socket.gethostname(), os.getpid()
    queues = settings.queues or None

    def workers(executor: Executor) -> EmbeddedWorkers:
        most = settings.max_runs if role is Role.WORKER else None
        return EmbeddedWorkers(executor, settings.concurrency, most, ended)

    def ended() -> None:
        made.hear(Wish.RESTART)

    made = Engine(
        node_id=f"{host}:{pid}:{new_id('n')[-6:]}",
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
        queues=queues,
        role=role,
        broker=broker(settings) if role is Role.SCHEDULER else None,
        intake=_intake(settings, f"foliot-{pid}@{host}", ended) if role is Role.WORKER else None,
        about={"host": host, "pid": pid},
    )
    return made


def broker(settings: Settings) -> Broker | None:
    """The near side of the broker; None where there is none."""
    if settings.broker_url is None:
        return None
    # Celery takes as long to import as everything else together.
    from foliot.workers.celery.publisher import CeleryBroker

    return CeleryBroker(settings.broker_url.reveal())


def _intake(settings: Settings, name: str, ended: Callable[[], None]) -> Intake | None:
    """The far side."""
    if settings.broker_url is None:
        return None
    from foliot.workers.celery.worker import CeleryIntake

    queues = settings.queues or KNOWN_QUEUES
    url = settings.broker_url.reveal()
    return CeleryIntake(url, name=name, queues=queues, slots=settings.concurrency, ended=ended)


def _disk(settings: Settings) -> Mapping[str, Any]:
    path = settings.sqlite_path
    if path is None or not path.exists():
        return {}
    return {"path": str(path), "bytes": path.stat().st_size, "free": shutil.disk_usage(path.parent).free}


async def migrate(settings: Settings) -> tuple[str | None, str]:
    """Bring the database to the newest revision; says the one before and after."""
    return await migrations.migrate(settings.database_url)


async def walled(settings: Settings) -> bool:
    """Whether the database itself keeps tenants apart, besides every statement of ours."""
    store = Database(settings.database_url)
    try:
        return await store.walled()
    finally:
        await store.close()


async def current_revision(settings: Settings) -> tuple[str | None, str]:
    """The database's revision and the newest one."""
    return await migrations.current(settings.database_url), migrations.NEWEST
