"""Two tenants with one of everything, and every route of the app with a real call to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.routing import APIRoute
from sqlalchemy import Table, select

from foliot.app.http import create_app
from foliot.auth.identity import CredentialCheck
from foliot.auth.tokens import Expectations, Tokens
from foliot.auth.verification_keys import SingleKey, VerificationKey
from foliot.core.access import Caller, Role, Thing, Verb, may, scope
from foliot.core.ids import new_id
from foliot.db.database import Database
from foliot.engine.model.run import EventLine, EventType, RunState
from foliot.engine.model.views import ClaimedRun, PageRequest
from foliot.engine.ports import ActionContext
from foliot.engine.sql.endings import EndingHooks
from foliot.engine.sql.retention import SqlRetention
from foliot.engine.sql.run_items import write_items
from foliot.engine.sql.runs import SqlRuns
from foliot.features.alerts.endings import judge_endings
from foliot.features.alerts.usecases.alerts import Alerts
from foliot.features.alerts.usecases.channels import Channels
from foliot.features.alerts.usecases.rules import AlertRules
from foliot.features.api_keys.key_cache import KeyCache, LastUse
from foliot.features.api_keys.sql import api_keys
from foliot.features.api_keys.usecases import ApiKeys as KeysCases
from foliot.features.articles.usecases import Articles
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.bulk.usecases import Bulks, BulkView
from foliot.features.calendars.usecases import NamedCalendars
from foliot.features.crawls.usecases import Crawls
from foliot.features.fetching.model import FetchOptions, FetchRequest, Page
from foliot.features.fetching.usecases import Hosts
from foliot.features.host_sessions.usecases import HostSessions
from foliot.features.monitors.model import PingKind, Signal
from foliot.features.monitors.usecases import Monitors, Pings
from foliot.features.pipelines.model import PipelineDefinition, StepSpec, StoredPipeline, revision_of
from foliot.features.pipelines.sql.pipelines import SqlPipelines
from foliot.features.plans.usecases.plans import Plans
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.schedules.usecases.skip_next import Skips
from foliot.features.secrets.usecases import Secrets
from foliot.features.stored_pages.bodies import LocalBodies
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.tenants.usecases import Tenants
from foliot.features.views.usecases import SavedViews
from foliot.features.watches.usecases.history import PageHistory
from foliot.features.watches.usecases.watches import Watches
from foliot.servers.http.permission import public
from tests.asgi import Answer, Client
from tests.tokens import SECRET, by_secret, claims, token
from tests.world import EVERY_MINUTE, KEYRING, URL, World

OURS, THEIRS = "acme", "other"
_ID = re.compile(r"\b(?:sch|run|key|aud|blk|art|chn|rul|alr|dlv|mon|png)_[0-9a-f]{32}\b")
_SMALL = ((Verb.READ, Thing.SCHEDULE), (Verb.READ, Thing.RUN), (Verb.READ, Thing.DEAD_LETTER))
_CRAWL = {"spider": "matrix", "start_urls": ["https://example.com/"]}
_CALENDAR = {"name": "matrix", "dates": ["2027-01-01"]}
_CHANNEL = {"name": "Made by the matrix", "kind": "webhook", "config": {"url": "https://example.com/matrix"}}
_MONITOR = {"name": "Made by the matrix", "type": "interval", "interval_seconds": 60}
_WATCH = {"urls": ["https://shop.example/watched"], "schedule": {"type": "interval", "interval_seconds": 3600}}
_RULE = {"name": "Made by the matrix", "on": ["failed"]}
_DRAFT = {**EVERY_MINUTE, "name": "Made by the matrix"}
_PLAN = {"file": "matrix", "documents": {"schedules": []}}
_DIGEST = sha256(orjson.dumps([["matrix", False, False, {}], [], []])).hexdigest()
"""Of the plan that changes nothing."""


@dataclass(frozen=True, slots=True)
class Things:
    """One of everything that a path or a body can name."""

    schedule_id: str
    run_id: str
    ended_id: str
    letter_id: str
    key_id: str
    name: str
    tenant_id: str
    node_id: str
    queue: str
    job_id: str
    ended_job_id: str
    bulk_id: str
    article_job_id: str
    article_id: str
    calendar_id: str
    channel_id: str
    rule_id: str
    alert_id: str
    delivery_id: str
    monitor_id: str
    ping_id: str
    degraded_id: str
    view_id: str
    kept_id: str
    watch_id: str
    page_id: str
    version_id: str
    change_id: str
    filed_id: str
    fingerprint: str = "0" * 12
    entry_id: str = f"aud_{'f' * 32}"
    task: str = "greet"
    """Which its code gives to our tenant, and not to the other."""
    # Everybody has the same of these.
    preset: str = "price-monitoring"
    host: str = "www.elsewhere.example"
    pipeline: str = "no-pipeline"

    @classmethod
    def unknown(cls) -> Things:
        """Names that belong to nobody."""
        first, second, third, job, ended, articles = (new_id("run") for _ in range(6))
        named = ("nowhere", "nobody", "no-node", "no-queue")
        rest = (
            new_id("blk"),
            articles,
            new_id("art"),
            new_id("cal"),
            new_id("chn"),
            new_id("rul"),
            new_id("alr"),
            new_id("dlv"),
        )
        last = (new_id("mon"), new_id("png"), new_id("run"), new_id("viw"), new_id("pag"))
        watched = (new_id("wat"), new_id("wpg"), new_id("wve"), new_id("chg"), new_id("sch"))
        return cls(
            new_id("sch"),
            first,
            second,
            third,
            new_id("key"),
            *named,
            job,
            ended,
            *rest,
            *last,
            *watched,
            task="no_task",
        )


@dataclass(frozen=True, slots=True)
class Route:
    """A method of a path, and what it asks of its caller; None is nothing, and must be said by `PUBLIC`."""

    method: str
    path: str
    permission: tuple[Verb, Thing] | None
    public: bool

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def url(self, things: Things) -> str:
        """The path with real names in it. A new parameter needs a field of `Things`."""
        chosen = {"run_id": {"/api/runs/{run_id}/retry": things.ended_id}.get(self.path, things.run_id)}
        if "/quarantine" in self.path:
            chosen["run_id"] = things.degraded_id
        if self.path.endswith("/take-over"):
            chosen["schedule_id"] = things.filed_id
        if self.path.startswith("/api/pages"):
            chosen["page_id"] = things.kept_id
        # The log of a job that goes on would go on too.
        chosen["job_id"] = things.job_id if self.method == "DELETE" else things.ended_job_id
        if "{article_id}" in self.path:
            chosen["job_id"] = things.article_job_id
        # What a route cannot do without, although its path does not name it.
        asked = {
            "/api/schedules/health": f"?ids={things.schedule_id}",
            "/api/resolve": f"?kind=schedule&ref={things.schedule_id}",
        }.get(self.path, "")
        return re.sub(r"{(\w+)}", lambda found: chosen.get(found[1]) or getattr(things, found[1]), self.path) + asked

    def body(self, things: Things) -> Any:
        """A body that the route accepts. The owner's call fails for a new route whose body is missing here."""
        return {
            "POST /api/schedules": _DRAFT,
            "POST /api/schedules/batch": {"schedules": [_DRAFT]},
            "POST /api/schedules/test": _DRAFT,
            "POST /api/schedules/preview": {"type": "cron", "cron_expr": "0 * * * *"},
            "PUT /api/schedules/{schedule_id}": _DRAFT,
            "PATCH /api/schedules/{schedule_id}": {"name": "Renamed"},
            "POST /api/schedules/{schedule_id}/backfill": {
                "from": "2020-01-01T00:00:00Z",
                "to": "2020-01-02T00:00:00Z",
            },
            "POST /crawl": _CRAWL,
            "POST /jobs/submit": {"articles": [{"url": "https://example.com/matrix"}]},
            "POST /api/endpoints/test": {"url": URL, "schedule_id": things.schedule_id},
            "POST /api/dead-letters/replay": {"ids": [things.letter_id]},
            "POST /api/bulk": {"action": "retry", "ids": [things.ended_id]},
            "POST /api/keys": {"name": "matrix", "role": "viewer"},
            "POST /api/invites": {"name": "matrix guest", "role": "viewer"},
            "PUT /api/secrets/{name}": {"value": "a value of the matrix"},
            "PUT /api/hosts/{host}": {"rate": 0.5},
            "PUT /api/hosts/{host}/sessions/{name}": {"login": {"url": "https://www.elsewhere.example/login"}},
            "POST /api/hosts/{host}/turns": {"holder": "matrix", "wanted": 1},
            "PUT /api/tenants/{tenant_id}": {"limits": {"schedules": 1000}},
            "POST /api/tasks/{task}/run": {"parameters": {"name": "matrix"}},
            "POST /api/calendars": {**_CALENDAR, "name": new_id("calendar")},
            "POST /api/calendars/preview": _CALENDAR,
            "PUT /api/calendars/{calendar_id}": _CALENDAR,
            "POST /api/channels": {**_CHANNEL, "name": new_id("channel")},
            "PATCH /api/channels/{channel_id}": {"name": "Renamed"},
            "POST /api/alert-rules": {**_RULE, "name": new_id("rule")},
            "POST /api/alert-rules/preview": _RULE,
            "PATCH /api/alert-rules/{rule_id}": {"severity": "critical"},
            "POST /api/alerts/{alert_id}/snooze": {"for": "1h"},
            "POST /api/monitors": {**_MONITOR, "name": new_id("monitor")},
            "PATCH /api/monitors/{monitor_id}": {"grace_seconds": 60},
            "POST /api/watches": {**_WATCH, "name": new_id("watch")},
            "POST /api/watches/preview": _WATCH,
            "PATCH /api/watches/{watch_id}": {"when": "changed()"},
            "POST /api/watches/{watch_id}/try-condition": {"when": "changed()"},
            "POST /api/pages/reextract": {"select": {"title": "h1"}},
            "POST /mcp": {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "why", "arguments": {"target": things.schedule_id}},
            },
            "POST /api/plan": _PLAN,
            "POST /api/plan/apply": {**_PLAN, "digest": _DIGEST},
            "POST /api/views": {"list": "runs", "name": new_id("view")[:40], "q": "state:failed"},
            "PATCH /api/views/{view_id}": {"q": "state:success"},
        }.get(str(self))

    @property
    def everybodys(self) -> bool:
        """Whether it names something that everybody has, and so tells nothing by knowing it."""
        return "{preset}" in self.path or "{host}" in self.path

    def tenants_own(self) -> bool:
        """Whether a tenant's own people may ask, or only those who stand above tenants."""
        return self.permission is not None and may(caller(OURS, Role.ADMIN), *self.permission)

    def owner(self) -> Role:
        return Role.ADMIN if self.tenants_own() else Role.SYSTEM


def routes(app: FastAPI) -> Iterator[Route]:
    """Every route there is, read off the app itself."""
    for route in app.routes:
        if not isinstance(route, APIRoute):
            continue
        calls: list[Any] = [dependency.call for dependency in route.dependant.dependencies]
        stated = [call.permission for call in calls if hasattr(call, "permission")]
        for method in sorted((route.methods or set()) - {"HEAD"}):
            yield Route(method, route.path_format, stated[0] if stated else None, public in calls)


def caller(tenant_id: str, role: Role, scopes: frozenset[str] | None = None) -> Caller:
    return Caller(tenant_id, f"{role.value}@{tenant_id}", role, scopes=scopes)


@dataclass(frozen=True, slots=True)
class Furniture:
    """What stands in a database with two tenants in it."""

    ours: Things
    theirs: Things
    at: datetime
    named: frozenset[str]
    """Every id of our things."""


async def furnish(store: Database) -> Furniture:
    world = World.on(store)
    ours, theirs = await _furnish(world, OURS), await _furnish(world, THEIRS)
    # When no time passes any more: what is to be skipped must lie ahead.
    await world.cases[Skips].skip_next(caller(OURS, Role.ADMIN), ours.schedule_id)
    await world.cases[Skips].skip_next(caller(THEIRS, Role.ADMIN), theirs.schedule_id)
    async with store.begin() as tx:
        # Processes are the house's; this one reports now, so that something can be asked of it.
        await SqlRetention(tx).report(ours.node_id, "worker", world.clock.now(), world.clock.now(), {"slots": 1})
    rows = await rows_of(store, OURS)
    named = frozenset(found for table in rows.values() for found in _ID.findall(repr(table)))
    return Furniture(ours, theirs, world.clock.now(), named)


@dataclass(slots=True)
class House:
    """A furnished world, behind real tokens."""

    world: World
    app: FastAPI
    ours: Things
    named: frozenset[str]
    narrow: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Keys for a few things, by their scopes."""

    @classmethod
    def on(cls, store: Database, furniture: Furniture) -> House:
        world = World.on(store)
        world.clock.set(furniture.at)
        # The real way in, with a key that only tests know.
        tokens = Tokens(
            keys=SingleKey(VerificationKey("HS256", SECRET.encode())),
            clock=world.clock,
            expected=Expectations(audience="foliot"),
        )
        keys = KeyCache(store=world.store, clock=world.clock, pepper=KEYRING, last_use=LastUse(store=world.store))
        app = create_app(world.cases, identity=CredentialCheck(tokens, keys))
        return cls(world, app, furniture.ours, furniture.named)

    async def ask(self, route: Route, things: Things, bearer: str | None) -> Answer:
        headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
        if route.path == "/mcp":
            headers |= {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        return await Client(self.app, quiet=True).send(route.method, route.url(things), route.body(things), **headers)

    def token(self, tenant_id: str, role: Role, *, life: timedelta = timedelta(hours=1)) -> str:
        now = self.world.clock.now()
        until = int((now + life).timestamp())
        begun = min(int(now.timestamp()), until - 1)
        who = caller(tenant_id, role)
        said = claims(now, sub=who.user_id, tenant_id=tenant_id, role=role.value, iat=begun, exp=until)
        return token({"alg": "HS256", "typ": "JWT"}, said, by_secret())

    async def too_small(self, route: Route) -> str:
        """Somebody of our own tenant who may almost do this: the next smaller role, or a key for other things."""
        assert route.permission is not None
        for role in (Role.ADMIN, Role.OPERATOR, Role.VIEWER):
            if not may(caller(OURS, role), *route.permission):
                return self.token(OURS, role)
        rest = tuple(sorted(scope(*one) for one in _SMALL if one != route.permission))
        if rest not in self.narrow:
            asked = {"name": "narrow", "role": "viewer", "scopes": list(rest)}
            self.narrow[rest] = (await self.world.cases[KeysCases].create(caller(OURS, Role.ADMIN), asked)).text
        return self.narrow[rest]

    async def rows(self, tenant_id: str) -> dict[str, list[Any]]:
        return await rows_of(self.world.store, tenant_id)


async def rows_of(store: Database, tenant_id: str) -> dict[str, list[Any]]:
    """Everything that is stored for a tenant."""
    found = {}
    async with store.read() as tx:
        for table in api_keys.metadata.sorted_tables:
            if "tenant_id" in table.c:
                found[table.name] = [tuple(row) for row in await tx.conn.execute(_all(table, tenant_id))]
    return found


def _all(table: Table, tenant_id: str) -> Any:
    return select(table).where(table.c.tenant_id == tenant_id).order_by(*table.primary_key.columns)


async def _furnish(world: World, tenant_id: str) -> Things:
    """A schedule with a waiting run, an ended one and a dead letter; a key, a secret, and limits of its own."""
    admin, cases = caller(tenant_id, Role.ADMIN), world.cases
    schedule = await cases[Schedules].create(admin, {**EVERY_MINUTE, "name": f"Of {tenant_id}"})
    for _ in range(4):
        world.clock.advance(60)
        await world.tick()
    waiting, ended, letter, degraded = (run.id for run in await cases[Runs].list(admin, PageRequest(4)))
    world.store.caches[EndingHooks] = EndingHooks(judge_endings)
    rule = await cases[AlertRules].create(admin, {"name": f"rule of {tenant_id}", "on": ["failed"]})
    calendar = await cases[NamedCalendars].create(admin, _CALENDAR)
    channel = {**_CHANNEL, "name": f"channel of {tenant_id}"}
    channel_id = (await cases[Channels].create(admin, channel)).channel.id
    await world.end(ended, RunState.SUCCESS)
    await world.end(degraded, RunState.DEGRADED, {"code": "expectation_broken", "message": "too few items"})
    await world.end(letter, RunState.DEAD_LETTER, {"code": "http_500", "message": f"no, says {tenant_id}"})
    key = await cases[KeysCases].create(admin, {"name": f"key of {tenant_id}", "role": "viewer"})
    name = f"secret_of_{tenant_id}"
    await cases[Secrets].put(admin, name, {"value": f"the value of {tenant_id}"})
    login = {"login": {"url": "https://www.elsewhere.example/login"}}
    await cases[HostSessions].put(admin, "www.elsewhere.example", name, login)
    await cases[Tenants].put(caller(tenant_id, Role.SYSTEM), tenant_id, {"limits": {"schedules": 77}})
    house = f"node-of-{tenant_id}", f"queue-of-{tenant_id}"
    jobs = [await _crawl(world, admin, depth) for depth in range(2)]
    await world.finish(jobs[1])
    article_job_id, article_id = await _article(world, admin)
    monitor_id, ping_id = await _monitor(world, admin)
    await _host(world, admin)
    return Things(
        schedule.id,
        waiting,
        ended,
        letter,
        key.key.id,
        name,
        tenant_id,
        *house,
        jobs[0].fence.run_id,
        jobs[1].fence.run_id,
        bulk_id=await _bulk(world, admin, ended),
        fingerprint=(await cases[Runs].get(admin, letter)).fingerprint or "",
        entry_id=await _edit(world, admin, schedule.id),
        article_job_id=article_job_id,
        article_id=article_id,
        calendar_id=calendar.id,
        channel_id=channel_id,
        rule_id=rule.id,
        alert_id=(await cases[Alerts].list(admin, (), PageRequest(1)))[0].alert.id,
        delivery_id=(await cases[Channels].test(admin, channel_id)).id,
        monitor_id=monitor_id,
        ping_id=ping_id,
        degraded_id=degraded,
        view_id=await _view(world, admin),
        kept_id=await _page(world, admin),
        **await _watch(world, admin),
        filed_id=await _filed(world, admin),
        pipeline=await _pipeline(world, tenant_id),
    )


async def _monitor(world: World, admin: Caller) -> tuple[str, str]:
    """A monitor that was pinged once."""
    made = await world.cases[Monitors].create(admin, {**_MONITOR, "name": f"monitor of {admin.tenant_id}"})
    await world.cases[Pings].receive(made.key or "", Signal(PingKind.SUCCESS, "GET"))
    (ping,) = await world.cases[Monitors].pings(admin, made.monitor.id, PageRequest(1))
    return made.monitor.id, ping.id


async def _watch(world: World, admin: Caller) -> dict[str, str]:
    """A watch with a page that has changed once."""
    made = await world.cases[Watches].create(admin, {**_WATCH, "name": f"watch of {admin.tenant_id}"})
    (page,) = await world.cases[PageHistory].pages(admin, made.watch.id, PageRequest(1))
    config = {"watch": made.watch.id}
    for word in ("before", f"after, of {admin.tenant_id}"):
        world.site.write("/watched", f"<p>{word}</p>")
        run_id = new_id("run")
        ctx = ActionContext(
            run_id=run_id,
            tenant_id=admin.tenant_id,
            schedule_id=made.watch.schedule_id,
            kind="watch",
            attempt=1,
            max_attempts=1,
            scheduled_for=None,
            config=config,
            timeout=timedelta(minutes=1),
            now=world.clock.now(),
            log=lambda message, level="info", at=None: None,
        )
        assert world.watching is not None
        await world.watching.perform(ctx)
        world.clock.advance(60)
    history = world.cases[PageHistory]
    (version, _) = await history.versions(admin, made.watch.id, page.id, PageRequest(5))
    (listed,) = await history.changes(admin, history.read_changes(""), 5)
    found = {"watch_id": made.watch.id, "page_id": page.id}
    return {**found, "version_id": version.id, "change_id": listed.change.id}


async def _filed(world: World, admin: Caller) -> str:
    """A schedule that a file has defined."""
    raw = {"file": "filed", "documents": {"schedules": [{**EVERY_MINUTE, "name": "filed", "status": "paused"}]}}
    plan = await world.cases[Plans].plan(admin, raw)
    await world.cases[Plans].apply(admin, {**raw, "digest": plan.digest})
    (found,) = await world.cases[Schedules].list(admin, PageRequest(1), q="filed")
    return found.id


async def _page(world: World, admin: Caller) -> str:
    """A page that was kept."""
    keeper = PageKeeper(store=world.store, clock=world.clock, bodies=LocalBodies(Path("unused")), quota=1_000_000)
    page = Page(url=f"https://{admin.tenant_id}.test/", status=200, headers={}, body=b"<p>kept</p>")
    options = FetchOptions(keep=timedelta(days=3650))
    made = await keeper.keep(page, FetchRequest(url=page.url, tenant_id=admin.tenant_id, options=options))
    assert made is not None
    return made


async def _host(world: World, admin: Caller) -> None:
    """A host that each tenant slows down for itself."""
    await world.cases[Hosts].put(admin, "www.elsewhere.example", {"rate": 1})


async def _view(world: World, admin: Caller) -> str:
    """A view that the tenant shares."""
    wanted = {"list": "runs", "name": f"view of {admin.tenant_id}"[:40], "shared": True}
    return (await world.cases[SavedViews].create(admin, wanted)).id


async def _article(world: World, admin: Caller) -> tuple[str, str]:
    """A job of one article, and that article."""
    made = await world.cases[Articles].submit(admin, {"articles": [{"url": f"https://{admin.tenant_id}.example/"}]})
    (item,) = await world.cases[Articles].items(admin, made.run.id, after=0, limit=1)
    return made.run.id, item.article_id


async def _pipeline(world: World, tenant_id: str) -> str:
    """A pipeline that a file has defined, and that can be run."""
    # Its name does not hold the tenant's: answers are compared without either.
    name = f"pipeline-{tenant_id[::-1]}"
    steps = (StepSpec(cls="JsonParser", name="JsonParser", kwargs={}),)
    definition = PipelineDefinition(name=name, steps=steps, draft=None, revision=revision_of(steps, None))
    shown = [{**step.to_dict(), "line": 1} for step in steps]
    async with world.store.begin() as tx:
        await SqlPipelines(tx).put(
            StoredPipeline(
                tenant_id=tenant_id,
                name=name,
                file="pipelines.yml",
                place=0,
                definition=definition,
                fault=None,
                steps=shown,
                yaml=f"{name}: {{}}",
                schedule_id=None,
                updated_at=world.clock.now(),
            )
        )
    return name


async def _edit(world: World, admin: Caller, schedule_id: str) -> str:
    """An edit that can be taken back."""
    await world.cases[Schedules].patch(admin, schedule_id, {"description": "edited"})
    return (await world.cases[AuditLog].list(admin, PageRequest(1), verb="patch"))[0].id


async def _bulk(world: World, admin: Caller, run_id: str) -> str:
    """A bulk action that nobody has begun with."""
    made = await world.cases[Bulks].create(admin, {"action": "retry", "ids": [run_id]})
    assert isinstance(made, BulkView)
    return made.bulk.id


async def _crawl(world: World, admin: Caller, depth: int) -> ClaimedRun:
    """A running crawl that has said something and brought something home."""
    made = await world.cases[Crawls].request(admin, {**_CRAWL, "depth": depth})
    (claimed,) = await world.claim(made.job_id)
    async with world.store.begin() as tx:
        line = EventLine(world.clock.now(), EventType.LOG, message=f"said by {made.job_id}")
        await SqlRuns(tx).append([(claimed.fence, [line])])
        await write_items(tx.conn, world.store.dialect, [(admin.tenant_id, made.job_id, [{"of": made.job_id}])])
    return claimed
