"""The composition root: builds the parts of one process from its settings, starts and stops them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from foliot import logs
from foliot.app import servers, transport
from foliot.app.guard import ProcessWatchdog
from foliot.app.registry import Registry, disk_of
from foliot.app.upkeep import UPKEEP
from foliot.app.use_cases import use_cases
from foliot.auth.keyring import LazyKeyring, keyring_of
from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
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
from foliot.engine.loop import Actor, EnginePace, Loop
from foliot.engine.model.node import NodeRequest, NodeRole
from foliot.engine.ports import Action
from foliot.engine.slots import Slots
from foliot.engine.sql.due_schedules import CatchupRates
from foliot.engine.sql.endings import EndingHooks
from foliot.engine.sql.schedule_rows import VersionHooks
from foliot.engine.sql.tenant_limits import ConcurrencyLimits
from foliot.features.alerts.declared_rules import declare_rules
from foliot.features.alerts.endings import judge_endings
from foliot.features.alerts.wiring import AlertParts, alert_actors, build_alerts
from foliot.features.api_keys.wiring import Authentication, build_authentication
from foliot.features.articles.action import ArticlesAction
from foliot.features.articles.actor.extension import article_fetching
from foliot.features.articles.sql.picks import USE as HOST_USE
from foliot.features.articles.wiring import ArticleParts, MongoCopy, build_articles, build_mongo_copy
from foliot.features.audit_log.actor import audit_chaining
from foliot.features.bulk.wiring import build_bulk_runner
from foliot.features.calendars.actor import CalendarRefresher
from foliot.features.calendars.sql import record_uses
from foliot.features.calendars.usecases import NamedCalendars
from foliot.features.celery_tasks.wiring import build_celery
from foliot.features.commands.action import CommandAction
from foliot.features.crawls.wiring import build_crawls
from foliot.features.demo.wiring import build_installer, site_of
from foliot.features.discord import wiring as discord_wiring
from foliot.features.expectations.usecases import DataJudge
from foliot.features.fetching.wiring import build_fetching
from foliot.features.grpc_calls.action import GrpcCall
from foliot.features.health.usecases import KnownStandstills
from foliot.features.host_sessions.store import HostSessionStore
from foliot.features.monitors.usecases import Monitors
from foliot.features.monitors.wiring import monitor_actors
from foliot.features.pipelines.wiring import PipelineParts, StoredDefinitions, build_pipelines, build_reconciler
from foliot.features.presets.model import all_presets
from foliot.features.presets.usecases import Presets
from foliot.features.queues.actor import QueueSampler
from foliot.features.reextractions.reader import StoredPageReader
from foliot.features.reextractions.wiring import build_page_extractions
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.secrets.secret_cache import SecretCache
from foliot.features.stored_pages.keeper import PagePruner
from foliot.features.stored_pages.wiring import build_keeper
from foliot.features.tasks.actor import Declarer
from foliot.features.tasks.wiring import TaskParts, build_tasks
from foliot.features.watches.wiring import build_watches
from foliot.features.webhooks.action import WebhookAction
from foliot.net.client import HttpEgress
from foliot.net.grpc_client import GrpcEgress
from foliot.wakeups.feed import Feed, LivingFeed, MemoryFeed

if TYPE_CHECKING:
    from foliot.features.demo.install import DemoInstaller
    from foliot.features.discord.connection import DiscordConnection
    from foliot.servers.grpc.server import GrpcServer


@dataclass(slots=True, kw_only=True)
class App:
    """The parts of one process. Two can exist in one program: there is no global state."""

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
    guard: ProcessWatchdog
    tasks: TaskParts
    pipelines: PipelineParts
    crawl_egress: HttpEgress
    """The HTTP client for the configured Scrapyd nodes; it connects to no other host."""
    authentication: Authentication | None = None
    grpc: GrpcServer | None = None
    discord: DiscordConnection | None = None
    discord_missing: str | None = None
    """Why the Discord bot is not running although it is configured."""
    alerts: AlertParts | None = None
    articles: ArticleParts | None = None
    mongo: MongoCopy | None = None
    """Copies articles and jobs to MongoDB; only in processes that fire schedules, because one copier is enough."""
    demo: DemoInstaller | None = None
    """Creates the demo's schedules when the process starts; they call this process."""
    actors: Sequence[Actor] = ()
    """Extra parts of processes that fire schedules: declared schedules, the pipelines file, bulk actions."""
    _grace: float | None = None
    """Seconds that running attempts get to finish when the process stops; None: as configured."""
    _closers: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)

    def __post_init__(self) -> None:
        """Register what is closed, in reverse order; an error while closing one part does not skip the others."""
        close = self._closers.push_async_callback
        close(self.store.close)
        close(self.feed.close)
        close(self.calls.close)
        close(self.egress.close)
        close(self.crawl_egress.close)
        for part in (self.mongo, self.articles, self.alerts, self.pipelines, self.tasks, self.authentication):
            if part is not None:
                close(part.close)
        if self.engine is not None:
            close(self._stop_engine, self.engine)
        close(self.loop.stop)
        for server in (self.grpc, self.discord):
            if server is not None:
                close(server.stop)

    async def start(self) -> None:
        """Start every part; after an error, `stop` closes those that were started."""
        await self.egress.start()
        await self.tasks.start()
        await self.crawl_egress.start()
        await self.feed.start()
        if self.alerts is not None:
            await self.alerts.start()
        if self.demo is not None:
            # Before anything fires: the ticker must not catch up on the past that the demo is writing.
            await self.demo.install()
        await self.guard.start(self.loop)
        if self.authentication is not None:
            # After the clock is synchronised: the expiry of tokens is checked against it.
            await self.authentication.start(self.loop)
        self.loop.start(self.actors)
        if self.mongo is not None:
            self.loop.start([self.mongo.copier, self.mongo.jobs])
        if self.grpc is not None:
            await self.grpc.start()
        if self.discord is not None:
            self.loop.start(self.discord.actors())

    async def stop(self, grace: float | None = None) -> None:
        """Stop and close every part, also after a start that failed half-way; a second call does nothing."""
        self._grace = grace
        await self._closers.aclose()

    async def _stop_engine(self, engine: Engine) -> None:
        await engine.stop(self.settings.shutdown_seconds if self._grace is None else self._grace)


def build(  # noqa: PLR0913, PLR0915 -- as many as there are things to choose and to build
    settings: Settings,
    *,
    http: bool,
    engine: bool,
    role: NodeRole = NodeRole.UP,
    rpc_port: int | None = None,
    discord: bool = False,
    demo: str | None = None,
) -> App:
    """Build the parts that this process needs; `start` opens connections, not this."""
    serves = http or rpc_port is not None
    logs.hide(process_secrets.values_of(settings))
    limits = settings.limits(local=settings.local)
    vault = vault_of(settings)
    caps = ConcurrencyLimits(limits.concurrent_runs)
    hooks = {EndingHooks: EndingHooks(judge_endings), VersionHooks: VersionHooks(declare_rules, record_uses)}
    caches = {ConcurrencyLimits: caps, CatchupRates: CatchupRates(limits.catchup_rate), **hooks}
    store = Database(settings.database_url, sealer=Sealer(vault), caches=caches)
    clock, feed = StoreClock(), transport.feed(settings) if serves or engine or discord else MemoryFeed()
    limiter = Limiter(store=store, clock=clock, default=limits)
    egress = HttpEgress(
        loopback=settings.local,
        allow=settings.egress_allow,
        ports=settings.egress_ports,
        per_host=settings.egress_per_host,
        limits=limiter.egress_allow,
    )
    standing = settings.webhook_secret if settings.local else None
    wallet = SecretCache(store=store, clock=clock, vault=vault, require_hosts=settings.secrets_require_hosts)
    wallet.standing = standing.reveal() if standing else None
    judge = DataJudge(store=store, clock=clock)
    calls = GrpcEgress(
        book=settings.services,
        ca_file=settings.services_ca,
        per_service=settings.egress_per_host,
        limits=limiter.egress_allow,
    )
    grpc = GrpcCall(calls=calls, clock=clock)
    keeper = build_keeper(settings, store, clock)
    sessions = HostSessionStore(store=store, clock=clock, vault=vault)
    fetching = build_fetching(settings, store, feed, clock, egress, HOST_USE, keeper, secrets=wallet, sessions=sessions)
    crawl, crawl_egress = build_crawls(settings, egress, clock, judge, fetching.delay_of)
    pipelines = build_pipelines(settings, store, egress, wallet, fetching.fetcher, judge)
    tasks = build_tasks(settings, store, clock, fetching.fetcher, grpc, calls, pipelines.outside.apart, feed)
    articles = build_articles(settings, fetching, clock) if engine else None
    alerts = build_alerts(settings, egress)
    watching = build_watches(store, clock, feed, fetching.fetcher, pipelines.outside.apart, egress, judge)
    rereader = StoredPageReader(
        clock=clock,
        outside=pipelines.outside,
        definitions=StoredDefinitions(store),
        catalogue=pipelines.catalogue,
    )
    fetch = ArticlesAction(targets=egress)
    webhook = WebhookAction(egress=egress, secrets=wallet, polite=fetching.fetcher)
    known: tuple[Action, ...] = (webhook, crawl, fetch, grpc, tasks.action, pipelines.action, watching.action)
    apart = (
        CommandAction(tenants=settings.commands, secrets=wallet),
        build_celery(settings, wallet, limiter.egress_allow),
    )
    actions = Registry({action.kind: action for action in (*known, *apart)})
    authentication = build_authentication(settings, store, clock, vault) if serves and not settings.local else None
    missing = discord_wiring.NOT_INSTALLED if discord and not discord_wiring.is_installed() else None
    guard = ProcessWatchdog(store, clock)
    knowledge = KnownStandstills(
        store=store, standstills=guard.standstills, node_id=lambda: guard.node_id, probes=serves
    )
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
        disk=lambda: disk_of(settings),
        remarks=lambda: [
            *(authentication.problems() if authentication else ()),
            *tasks.catalogue.faults(),
            *(declarer.troubles if declarer else ()),
            *filter(None, [missing, bot.remark() if bot else None]),
            *pipelines.catalogue.faults(),
            *(file.troubles if file else ()),
        ],
        tasks=tasks.catalogue,
        presets=all_presets(),
        reach=feed.reach,
        crawlers=crawl.seen,
        site=site_of(demo),
        signs_by_setting=standing is not None,
        knowledge=knowledge,
        keys_live_longer=timedelta(days=settings.max_key_days),
        channels=alerts.sender,
        manners=fetching.manners,
        keeper=keeper,
        visitor=watching.visitor,
        rereader=rereader,
    )
    fires = engine and role is not NodeRole.WORKER
    mongo = build_mongo_copy(settings, store, clock) if fires else None
    declarer = Declarer(store=store, tasks=tasks.catalogue, declaring=usecases[Presets].declaring) if fires else None
    file = build_reconciler(settings, store, usecases[Presets].declaring, pipelines.catalogue) if fires else None
    pruner = PagePruner(keeper=keeper) if fires else None
    runner = build_bulk_runner(store, clock, feed, usecases) if fires else None
    works = engine and role is not NodeRole.SCHEDULER
    rereading = build_page_extractions(store, clock, feed, keeper, rereader) if works else None
    if fires:
        alerts.actors = alert_actors(settings, alerts, store, clock, vault=vault, cases=usecases)
    calendars = CalendarRefresher(clock=clock, store=store, cases=usecases[NamedCalendars]) if fires else None
    watchers = monitor_actors(settings, store, clock, feed, egress, knowledge) if fires else []
    sampler = QueueSampler(clock=clock, store=store) if fires else None
    pepper = None if settings.local else vault
    registered = [*actions.kinds(), *tasks.catalogue.names()]

    def report() -> Mapping[str, Any]:
        parts = [part for part in (mongo, file, fetching.renderer) if part]
        return {name: value for part in parts for name, value in part.report().items()}

    identity = None if authentication is None else authentication.identity
    asgi = servers.http_app(settings, usecases, identity, pepper) if http else None
    bot = discord_wiring.build_connection(settings, usecases, clock, feed) if discord and missing is None else None
    if engine:
        guard.engine = _engine(settings, role, store, clock, feed, actions, articles, report, registered)
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
        authentication=authentication,
        crawl_egress=crawl_egress,
        tasks=tasks,
        pipelines=pipelines,
        articles=articles,
        mongo=mongo,
        alerts=alerts,
        actors=[
            fetching.turns,
            *(actor for actor in (declarer, file, runner, rereading, pruner, sampler, calendars) if actor is not None),
            *alerts.actors,
            *watchers,
        ],
        demo=build_installer(settings, store, clock, usecases[Schedules], usecases[Monitors], demo),
        discord=bot,
        discord_missing=missing,
        grpc=None if rpc_port is None else servers.grpc_server(settings, usecases, identity, pepper, rpc_port, asgi),
    )


def vault_of(settings: Settings) -> LazyKeyring | None:
    """The keyring of master keys; None when no key or secret is configured."""
    return keyring_of(
        keys=[each.reveal() for each in settings.secret_key],
        jwt_secret=settings.jwt_secret.reveal() if settings.jwt_secret else None,
        home=settings.home,
        local=settings.local,
    )


def _engine(  # noqa: PLR0913, PLR0917 -- as many as there are things to wire
    settings: Settings,
    role: NodeRole,
    store: Database,
    clock: StoreClock,
    feed: Feed,
    actions: Registry,
    articles: ArticleParts | None,
    report: Callable[[], Mapping[str, Any]],
    registered: Sequence[str],
) -> Engine:
    host, pid, works = socket.gethostname(), os.getpid(), role is NodeRole.WORKER

    def workers(executor: Executor) -> EmbeddedWorkers:
        most = settings.max_runs if works else None
        return EmbeddedWorkers(executor, settings.concurrency, most, ended)

    def ended() -> None:
        engine.hear(NodeRequest.RESTART)

    engine = Engine(
        node_id=f"{host}:{pid}:{new_id('n')[-6:]}",
        clock=clock,
        store=store,
        feed=feed,
        actions=actions,
        pace=EnginePace(
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
        role=role,
        broker=transport.broker(settings) if role is NodeRole.SCHEDULER else None,
        intake=transport.intake(settings, f"foliot-{pid}@{host}", ended, registered) if works else None,
        extensions=[audit_chaining, *([] if articles is None else [article_fetching(articles.how)])],
        upkeep=UPKEEP,
        about={"host": host, "pid": pid},
        told=report,
        slots=Slots(most=settings.egress_per_host, failures=settings.breaker_failures, wait=settings.breaker_seconds),
        refusal=store.refusal,
        secrets=Redactor.of(process_secrets.values_of(settings)),
    )
    return engine


async def migrate(settings: Settings) -> tuple[str | None, str]:
    """Migrate the database to the newest revision; returns the revisions before and after."""
    return await migrations.migrate(settings.database_url)
