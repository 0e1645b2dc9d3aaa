"""Use cases of hosts: what each allows, settings by the operator, slower paces by tenants, turns for spiders."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, Any

from annotated_types import Interval, MaxLen

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import KEEPER, Caller, Role, Thing, Verb
from foliot.core.declaration import Parsed, Wire, declared, read
from foliot.core.errors import Forbidden, Invalid, NotFound
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.features.fetching.access import NO_ACCESS, HostAccess, read_headers, read_proxy
from foliot.features.fetching.model import HostSettings, HostUpdate, Render, Robots
from foliot.features.fetching.politeness import Politeness, leeway
from foliot.features.fetching.robots import spider_update
from foliot.features.fetching.sql.host_list import HostRow, SqlHosts
from foliot.features.fetching.sql.hosts import learn
from foliot.features.fetching.sql.turns import HostGrant, HostUse, HostWish, SqlHostTurns
from foliot.features.fetching.url import BadUrl, redirect_url
from foliot.net.url import read_url
from foliot.wakeups.feed import ARTICLES_TOPIC, TURNS_TOPIC, Feed

MOST_RATE = 1000.0
MOST_TOGETHER = 1000
MOST_TURNS = 100
MOST_ANSWERS = 100
SPIDER_LEAD = timedelta(milliseconds=150)
"""How long after the claim a spider's first turn begins, at hosts with an interval: the answer takes time too."""
SPIDER_HOLDS = timedelta(seconds=90)
"""How long turns of a spider count when it does not ask again."""


@declared(example={"rate": 1.0, "concurrency": 2, "robots": "respect"})
class HostRequest:
    """The settings of a host; what is left out has its default. A tenant that is not the operator may give `rate`
    alone, and only a slower one, for itself.
    """

    rate: Annotated[float, Interval(ge=0, le=MOST_RATE)] | None = None
    """Requests per second; 0: no limit."""
    concurrency: Annotated[int, Interval(ge=1, le=MOST_TOGETHER)] | None = None
    """Requests at once."""
    robots: Robots | None = None
    render: Render | None = None
    headers: Annotated[Mapping[str, str] | None, Parsed(read_headers), Wire(dict[str, str] | None)] = None
    """Sent with requests of the operator's own tenant for pages of this host; credentials as `{{ secret.NAME }}`."""
    proxy: Annotated[str | None, Parsed(read_proxy), Wire(str | None)] = None
    """Proxy for the same requests, http or socks5: `{{ secret.NAME }}`, or a URL without a password."""


@declared
class SpiderAnswer:
    """What a host answered to a spider, where it says something about the host."""

    status: Annotated[int, Interval(ge=100, le=599)]
    retry_after: Annotated[str, MaxLen(100)] | None = None
    path: Annotated[str, MaxLen(8192)] = ""
    robots: Annotated[str, MaxLen(500_000)] | None = None
    """The text, where the path is /robots.txt."""


def _answers(path: str, raw: Any) -> Sequence[SpiderAnswer]:
    if not isinstance(raw, list) or len(raw) > MOST_ANSWERS:
        raise Invalid(path, f"must be a list of at most {MOST_ANSWERS} answers")
    return [read(SpiderAnswer, one, f"{path}.{at}") for at, one in enumerate(raw)]


@declared(example={"holder": "run_0190", "wanted": 10, "in_flight": 2, "answers": []})
class TurnsRequest:
    """Turns that a spider asks for, and what it has learnt since it last asked."""

    holder: Annotated[str, MaxLen(100)]
    """The spider, by a name of its own: its run's id."""
    wanted: Annotated[int, Interval(ge=0, le=MOST_TURNS)]
    in_flight: Annotated[int, Interval(ge=0, le=MOST_TOGETHER)] = 0
    answers: Annotated[
        Sequence[SpiderAnswer], Parsed(_answers), Wire(Annotated[list[SpiderAnswer], MaxLen(MOST_ANSWERS)] | None)
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostView:
    """A host with its effective limits. Tenants see their own pauses and requests, the operator those of all."""

    row: HostRow
    settings: HostSettings
    manners: Politeness
    waiting: Mapping[str, int]
    """By tenant."""
    own_rate: float | None
    """The caller's own slower rate."""
    next_at: datetime | None
    paused_until: datetime | None
    reason: str | None

    @property
    def interval(self) -> timedelta:
        return max(self.manners.interval, self.row.interval, self.row.crawl_delay)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderTurns:
    """Turns that a spider may use, as seconds from the answer on."""

    starts: Sequence[float]
    late: float | None
    retry_in: float
    robots_due: bool
    took: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """List hosts, set their limits, and allot turns to spiders."""

    store: Database
    clock: Clock
    feed: Feed
    use: HostUse
    manners: Politeness = field(default_factory=Politeness)

    @query(Verb.READ, Thing.HOST)
    async def list(self, ctx: QueryContext, after: str | None, limit: int, q: str = "") -> Sequence[HostView]:
        """By name; tenants see hosts that they have requests at, or a pause."""
        everything = keeps(ctx.caller)
        async with ctx.read(across_tenants=True) as tx:
            rows = await SqlHosts(tx).list(None if everything else ctx.tenant_id, q, after, limit, self.clock.now())
            return await self._views(tx, rows, ctx.caller)

    @query(Verb.READ, Thing.HOST)
    async def get(self, ctx: QueryContext, host: str) -> HostView:
        """One host; 404 for one that nothing was fetched from."""
        host = host_name(host)
        async with ctx.read(across_tenants=True) as tx:
            tenant = None if keeps(ctx.caller) else ctx.tenant_id
            rows = await SqlHosts(tx).list(tenant, host, None, 1, self.clock.now(), exact=True)
            if not rows:
                raise NotFound("host", host)
            return (await self._views(tx, rows, ctx.caller))[0]

    @command(Verb.WRITE, Thing.HOST)
    async def put(self, ctx: CommandContext, host: str, raw: object, once: IdempotentRequest = EACH_TIME) -> HostView:
        """Replaces the settings; a tenant that is not the operator slows the host down for itself."""
        host, asked = host_name(host), read(HostRequest, raw)
        settings = HostSettings(
            rate=asked.rate,
            concurrency=asked.concurrency,
            robots=asked.robots,
            render=asked.render,
            access=HostAccess(headers=asked.headers or {}, proxy=asked.proxy),
        )
        return await self._change(ctx, "set", host, settings)

    @command(Verb.WRITE, Thing.HOST)
    async def reset(self, ctx: CommandContext, host: str, once: IdempotentRequest = EACH_TIME) -> HostView:
        """Returns to the defaults: the operator for all, a tenant for itself."""
        return await self._change(ctx, "reset", host_name(host), HostSettings())

    async def _change(self, ctx: CommandContext, verb: str, host: str, settings: HostSettings) -> HostView:
        tx = await ctx.begin(across_tenants=True)
        before = (await self._views(tx, [await SqlHosts(tx).locked(host, ctx.now)], ctx.caller))[0]
        if keeps(ctx.caller):
            await SqlHosts(tx).set(host, settings.as_dict() or None)
            old, new = before.settings.as_dict(), settings.as_dict()
        else:
            least = _own_interval(settings, before)
            await SqlHosts(tx).set_least(host, ctx.tenant_id, least, ctx.now)
            old, new = {"rate": before.own_rate}, {"rate": settings.rate}
        ctx.audit(AuditedChange(verb, Thing.HOST, host, old, new))
        ctx.wake(ARTICLES_TOPIC, TURNS_TOPIC)
        return (await self._views(tx, [await SqlHosts(tx).locked(host, ctx.now)], ctx.caller))[0]

    @command(Verb.RUN, Thing.CRAWL)
    async def allot(
        self, ctx: CommandContext, host: str, raw: object, once: IdempotentRequest = EACH_TIME
    ) -> SpiderTurns:
        """Turns in a block for a spider, within the same limits as every other request to the host."""
        host, asked = host_name(host), read(TurnsRequest, raw)
        tx = await ctx.begin(across_tenants=True)
        holder = f"{ctx.tenant_id}:{asked.holder}"
        updates = [(ctx.tenant_id, _update(answer, ctx.now)) for answer in asked.answers]
        await learn(tx.conn, tx.dialect, {host: updates} if updates else {}, ctx.now, self.manners)
        wish = HostWish(
            waiting={ctx.tenant_id: asked.wanted} if asked.wanted else {},
            holding={ctx.tenant_id: asked.in_flight} if asked.in_flight else {},
        )
        until = ctx.now + SPIDER_HOLDS
        manners = replace(self.manners, lead=SPIDER_LEAD)
        now = self.clock.now()
        grants = await SqlHostTurns(tx).allot({host: wish}, holder, now, manners, until, self.use)
        if updates:
            ctx.wake(TURNS_TOPIC)
        return _turns(grants[host], ctx.now, self.clock.now())

    async def _views(self, tx: Transaction, rows: Sequence[HostRow], caller: Caller) -> Sequence[HostView]:
        names = [row.host for row in rows]
        everything = keeps(caller)
        now = self.clock.now()
        waiting = await SqlHosts(tx).waiting(names, now)
        for host, tenants in (await self.use.waiting(tx, names) if names else {}).items():
            for tenant, count in tenants.items():
                waiting[host][tenant] = waiting[host].get(tenant, 0) + count
        pauses = await SqlHosts(tx).pauses(names)
        views: builtins.list[HostView] = []
        for row in rows:
            settings = HostSettings.of(row.settings)
            if not everything:
                settings = replace(settings, access=NO_ACCESS)
            own = pauses.get((row.host, caller.tenant_id))
            mine = own.next_at if own is not None and own.next_at > now else None
            for_all = row.paused_until if row.paused_until is not None and row.paused_until > now else None
            next_at = max((at for at in (row.next_at, mine) if at is not None and at > now), default=None)
            views.append(
                HostView(
                    row=row,
                    settings=settings,
                    manners=settings.manners(self.manners),
                    waiting={
                        tenant: count
                        for tenant, count in waiting[row.host].items()
                        if everything or tenant == caller.tenant_id
                    },
                    own_rate=1 / own.least.total_seconds() if own is not None and own.least else None,
                    next_at=next_at,
                    paused_until=for_all or (mine if own is not None and own.interval else None),
                    reason=row.reason if for_all else own.reason if mine and own is not None else None,
                )
            )
        return views


def keeps(caller: Caller) -> bool:
    """Whether this caller sees and sets what holds for all tenants."""
    return caller.role is Role.SYSTEM or (caller.tenant_id == KEEPER and caller.role is Role.ADMIN)


def host_name(text: str) -> str:
    """`example.com`, or `example.com:8080`; `Invalid` for what cannot be a host."""
    try:
        read_url(f"http://{text}/")
        name = redirect_url(f"http://{text}/").partition("://")[2].partition("/")[0]
    except (BadUrl, Invalid):
        name = ""
    if not name or "/" in text or len(name) > 255:
        raise Invalid("host", "must be a host, such as example.com or example.com:8080", got=text[:100])
    return name


def _own_interval(settings: HostSettings, before: HostView) -> timedelta:
    """The interval of a tenant's own, slower rate."""
    for name in ("concurrency", "robots", "render"):
        if getattr(settings, name) is not None:
            raise Forbidden(f"{name} of a host is set by the operator; a tenant may set a slower rate for itself")
    if settings.access:
        raise Forbidden("headers and proxy of a host are set by the operator, for requests of its own tenant")
    if settings.rate is None:
        return timedelta()
    most = 1 / before.interval.total_seconds() if before.interval else None
    if not settings.rate or (most is not None and settings.rate > most):
        bound = "above 0" if most is None else f"above 0 and at most {most:g}, the rate of the host"
        raise Invalid("rate", f"must be {bound}", got=settings.rate)
    return timedelta(seconds=1 / settings.rate)


def _update(answer: SpiderAnswer, now: datetime) -> HostUpdate:
    return spider_update(answer.status, answer.retry_after or "", answer.path, answer.robots, now)


def _turns(grant: HostGrant, asked_at: datetime, now: datetime) -> SpiderTurns:
    late = None if grant.room is None else leeway(grant.room.interval)
    return SpiderTurns(
        starts=[max((at - now).total_seconds(), 0.0) for _, at in grant.starts],
        late=None if late is None else late.total_seconds(),
        retry_in=max((grant.retry_at - now).total_seconds(), 0.01),
        robots_due=grant.room is not None and grant.room.robots_due,
        took=max((now - asked_at).total_seconds(), 0.0),
    )
