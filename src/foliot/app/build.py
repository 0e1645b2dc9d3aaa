"""The wiring room: makes the real parts and joins them. The only file that knows everyone."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from foliot import logs
from foliot.app import servers, transport
from foliot.app.guard import Guard
from foliot.app.servers import Entrance, entrance_of
from foliot.app.tasks import Tasking, tasking
from foliot.app.upkeep import UPKEEP
from foliot.app.use_cases import use_cases
from foliot.auth.lazy_keyring import LateKeyring, keyring_of
from foliot.commands.limits import Limiter
from foliot.commands.use_cases import UseCases
from foliot.config import process_secrets
from foliot.config.settings import Settings
from foliot.core.ids import new_id
from foliot.core.redact import Redactor
from foliot.db import migrate as migrations
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.db.sealer import Sealer
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.executor import Executor
from foliot.engine.loop import Loop
from foliot.engine.model.node import Role, Wish
from foliot.engine.pace import Pace
from foliot.engine.ports import Action
from foliot.engine.slots import Slots
from foliot.engine.sql.tenant_limits import Caps
from foliot.features.articles.action import Articles
from foliot.features.articles.actor.extension import article_fetching
from foliot.features.articles.wiring import Copying, Reading, copying, reading
from foliot.features.audit_log.actor import audit_chaining
from foliot.features.bulk.actor import Hauler
from foliot.features.bulk.usecases.item_actions import BulkHands
from foliot.features.crawls.wiring import crawling
from foliot.features.demo.wiring import furnisher, site_of
from foliot.features.grpc_calls.action import GrpcCall
from foliot.features.health.usecases.stalls import Knowledge
from foliot.features.pipelines.file_wiring import booking
from foliot.features.pipelines.usecases.reconcile import Reconciler
from foliot.features.pipelines.wiring import Piping, piping
from foliot.features.presets.documents import all_presets
from foliot.features.presets.usecases import Presets
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.secret_cache import Wallet
from foliot.features.tasks.actor import Declarer
from foliot.features.webhooks.action import Webhook
from foliot.net.client import HttpEgress
from foliot.net.grpc_client import GrpcEgress
from foliot.wakeups.feed import Feed, LivingFeed
from foliot.wakeups.memory import MemoryFeed

if TYPE_CHECKING:
    from foliot.features.demo.install import Furnisher
    from foliot.features.discord.connection import DiscordDoor
    from foliot.servers.grpc.server import RpcDoor


@dataclass(frozen=True, slots=True)
class Registry:
    """The actions this process knows, by kind."""

    actions: Mapping[str, Action]

    def get(self, kind: str) -> Action | None:
        return self.actions.get(kind)

    def kinds(self) -> Sequence[str]:
        return sorted(self.actions)


@dataclass(slots=True, kw_only=True)
class App:
    """One process's parts. Two of them can live in one program: nothing is global."""

    settings: Settings
    store: Database
    clock: StoreClock
    egress: HttpEgress
    calls: GrpcEgress
    usecases: UseCases
    asgi: Callable[..., Any] | None
    engine: Engine | None
    loop: Loop
    feed: LivingFeed
    guard: Guard
    entrance: Entrance | None = None
    crawl_egress: HttpEgress | None = None
    """Leads to the Scrapyd nodes, and nowhere else."""
    rpc: RpcDoor | None = None
    discord: DiscordDoor | str | None = None
    """Or why there is none although it was asked for."""
    tasking: Tasking | None = None
    piping: Piping | None = None
    reading: Reading | None = None
    copying: Copying | None = None
    """Brings articles and jobs to MongoDB; only where something fires, for once is enough."""
    declarer: Declarer | None = None
    """Makes the schedules that code declares; only where something fires."""
    hauler: Hauler | None = None
    """Carries out bulk actions; the same."""
    book: Reconciler | None = None
    """Brings the store in step with the file of pipelines; the same."""
    demo: Furnisher | None = None
    """Makes the demo when it starts; at our own address, for its schedules call us."""

    async def start(self) -> None:
        await self.egress.start()
        if self.tasking is not None:
            await self.tasking.start()
        if self.crawl_egress is not None:
            await self.crawl_egress.start()
        await self.feed.start()
        await self._furnish()
        await self.guard.start(self.loop)
        if self.entrance is not None:
            # After the clock was set: a token's time is judged by it.
            await self.entrance.open(self.loop)
        self.loop.start([one for one in (self.declarer, self.book, self.hauler) if one is not None])
        if self.copying is not None:
            self.loop.start([self.copying.copier, self.copying.jobs])
        if self.rpc is not None:
            await self.rpc.start()
        if self.discord is not None and not isinstance(self.discord, str):
            self.loop.start(self.discord.actors())

    async def _furnish(self) -> None:
        """Before anything fires: a past that is being written must not be caught up with."""
        if self.demo is not None:
            await self.demo.furnish()

    async def stop(self, grace: float | None = None) -> None:
        if self.discord is not None and not isinstance(self.discord, str):
            await self.discord.stop()
        if self.rpc is not None:
            await self.rpc.stop()
        await self.loop.stop()
        if self.engine is not None:
            await self.engine.stop(self.settings.shutdown_seconds if grace is None else grace)
        if self.entrance is not None:
            await self.entrance.close()
        if self.tasking is not None:
            await self.tasking.close()
        if self.piping is not None:
            await self.piping.close()
        if self.reading is not None:
            await self.reading.close()
        if self.copying is not None:
            await self.copying.close()
        if self.crawl_egress is not None:
            await self.crawl_egress.close()
        await self.egress.close()
        await self.calls.close()
        await self.feed.close()
        await self.store.close()


def build(  # noqa: PLR0913 -- as many as there are things to choose
    settings: Settings,
    *,
    doors: bool,
    engine: bool,
    role: Role = Role.UP,
    rpc_port: int | None = None,
    discord: bool = False,
    demo: str | None = None,
) -> App:
    """The parts that this process needs; nothing is opened before `start`. `doors`: HTTP; `rpc_port`: gRPC, there."""
    asked = doors or rpc_port is not None
    logs.hide(process_secrets.values_of(settings))
    limits = settings.limits(local=settings.local)
    vault = vault_of(settings)
    caps = Caps(limits.concurrent_runs)
    store = Database(settings.database_url, sealer=Sealer(vault), caches={Caps: caps})
    clock, feed = StoreClock(), transport.feed(settings) if asked or engine or discord else MemoryFeed()
    limiter = Limiter(store=store, clock=clock, default=limits)
    egress = HttpEgress(
        loopback=settings.local,
        allow=settings.egress_allow,
        ports=settings.egress_ports,
        per_host=settings.egress_per_host,
        limits=limiter.egress_allow,
    )
    standing = settings.webhook_secret if settings.local else None
    wallet = Wallet(store=store, clock=clock, vault=vault, require_hosts=settings.secrets_require_hosts)
    wallet.standing = standing.reveal() if standing else None
    crawl, crawl_egress = crawling(settings, egress, clock)
    calls = GrpcEgress(
        book=settings.services,
        ca_file=settings.services_ca,
        per_service=settings.egress_per_host,
        limits=limiter.egress_allow,
    )
    grpc = GrpcCall(calls=calls, clock=clock)
    pipes = piping(settings, store, egress, wallet)
    tasks = tasking(settings, store, clock, egress, grpc, calls, pipes.outside.apart)
    articles = Articles(targets=egress)
    read = reading(settings, egress, clock) if engine else None
    webhook = Webhook(egress=egress, secrets=wallet)
    known: tuple[Action, ...] = (webhook, crawl, articles, grpc, tasks.action, pipes.action)
    actions = Registry({action.kind: action for action in known})
    entrance = entrance_of(settings, store, clock, vault) if asked and not settings.local else None
    guard = Guard(store, clock)
    usecases = use_cases(
        store,
        clock,
        feed,
        actions,
        default_zone=settings.timezone,
        crawls_cached_for=timedelta(seconds=settings.crawl_cache_ttl),
        articles_fresh_for=timedelta(seconds=settings.article_cache_ttl),
        pepper=vault,
        vault=vault,
        require_hosts=settings.secrets_require_hosts,
        limiter=limiter,
        check_allow=egress.check_limits,
        disk=lambda: _disk(settings),
        remarks=lambda: [
            *_remarks(entrance, tasks, declarer, bot),
            *pipes.catalogue.faults(),
            *(book.troubles if book else ()),
        ],
        tasks=tasks.catalogue,
        presets=all_presets(),
        reach=feed.reach,
        crawlers=crawl.seen,
        site=site_of(demo),
        signs_by_setting=standing is not None,
        knowledge=Knowledge(store=store, standstills=guard.standstills, node_id=lambda: guard.node_id, probes=asked),
        keys_live_longer=timedelta(days=settings.max_key_days),
    )
    fires = engine and role is not Role.WORKER
    copies = copying(settings, store, clock) if fires else None
    declarer = Declarer(store=store, tasks=tasks.catalogue, declaring=usecases[Presets].declaring) if fires else None
    book = booking(settings, store, usecases[Presets].declaring, pipes.catalogue) if fires else None
    pepper = None if settings.local else vault

    registered = [*actions.kinds(), *tasks.catalogue.names()]

    def told() -> Mapping[str, Any]:
        return {**(copies.report() if copies else {}), **(book.report() if book else {})}

    who = None if entrance is None else entrance.identity
    asgi = servers.rest_door(settings, usecases, who, pepper) if doors else None
    bot = servers.discord_door(settings, usecases, clock, feed) if discord else None
    guard.engine = _engine(settings, role, store, clock, feed, actions, read, told, registered) if engine else None
    return App(
        settings=settings,
        store=store,
        clock=clock,
        egress=egress,
        calls=calls,
        usecases=usecases,
        asgi=asgi,
        engine=guard.engine,
        guard=guard,
        loop=Loop(clock, feed),
        feed=feed,
        entrance=entrance,
        crawl_egress=crawl_egress,
        tasking=tasks,
        piping=pipes,
        reading=read,
        copying=copies,
        declarer=declarer,
        book=book,
        hauler=_hauler(store, clock, feed, usecases) if fires else None,
        demo=furnisher(settings, store, clock, usecases[Schedules], demo),
        discord=bot,
        rpc=None if rpc_port is None else servers.rpc_door(settings, usecases, who, pepper, rpc_port, asgi),
    )


def _remarks(
    entrance: Entrance | None, tasks: Tasking, declarer: Declarer | None, discord: DiscordDoor | str | None
) -> list[str]:
    """What of this process stands out besides its connections."""
    keys = entrance.jwks.problems() if entrance is not None and entrance.jwks is not None else ()
    bot = discord if discord is None or isinstance(discord, str) else discord.remark()
    return [*keys, *tasks.catalogue.faults(), *(() if declarer is None else declarer.troubles), *([bot] if bot else [])]


def _hauler(store: Database, clock: StoreClock, feed: Feed, usecases: UseCases) -> Hauler:
    holder = f"{socket.gethostname()}:{os.getpid()}:{new_id('h')[-6:]}"
    return Hauler(clock=clock, store=store, feed=feed, hands=usecases[BulkHands], holder=holder)


def vault_of(settings: Settings) -> LateKeyring | None:
    """The master keys; None when there is nothing to make them of."""
    return keyring_of(
        keys=[each.reveal() for each in settings.secret_key],
        jwt_secret=settings.jwt_secret.reveal() if settings.jwt_secret else None,
        home=settings.home,
        local=settings.local,
    )


def _engine(  # noqa: PLR0913, PLR0917 -- as many as there are things to wire
    settings: Settings,
    role: Role,
    store: Database,
    clock: StoreClock,
    feed: Feed,
    actions: Registry,
    read: Reading | None,
    told: Callable[[], Mapping[str, Any]],
    registered: Sequence[str],
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
        broker=transport.broker(settings) if role is Role.SCHEDULER else None,
        intake=transport.intake(settings, f"foliot-{pid}@{host}", ended, registered) if role is Role.WORKER else None,
        extensions=[audit_chaining, *([] if read is None else [article_fetching(read.how)])],
        upkeep=UPKEEP,
        about={"host": host, "pid": pid},
        told=told,
        slots=Slots(most=settings.egress_per_host, failures=settings.breaker_failures, wait=settings.breaker_seconds),
        refusal=store.refusal,
        secrets=Redactor.of(process_secrets.values_of(settings)),
    )
    return made


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
