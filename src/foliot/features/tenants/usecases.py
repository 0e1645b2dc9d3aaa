"""Use cases of tenants' limits: set by the operator, visible to each tenant for itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import MaxLen

from foliot.commands.audit import AuditedChange, differences
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.limits import Limiter
from foliot.commands.tenants_sql import SqlTenants, Tenant
from foliot.core.access import Thing, Verb
from foliot.core.declaration import Described, Parsed, Wire, declared, read
from foliot.core.errors import Invalid
from foliot.core.limits import TenantLimits, read_own
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import PageRequest
from foliot.features.stored_pages.sql import SqlPages
from foliot.wakeups.feed import Feed

CheckAllow = Callable[[Sequence[str]], None]
"""`Invalid` when an allow-list cannot be read."""


@declared(frozen=True)
class TenantLimitsRequest(TenantLimits):
    """A limit that is left out has the default of the settings; null lifts it."""


def _hosts(path: str, got: object) -> Sequence[str]:
    if not isinstance(got, list) or not all(isinstance(entry, str) for entry in got):
        raise Invalid(path, "must be a list of networks, hosts, *.host or host:port", got=got)
    return got


@declared(example={"limits": {"schedules": 500, "concurrent_runs": 20}, "egress_allow": []})
class TenantRequest:
    """The whole document of a tenant."""

    limits: Annotated[dict[str, int | None], Wire(TenantLimitsRequest | None), Parsed(read_own)] = field(
        default_factory=dict
    )
    egress_allow: Annotated[
        Sequence[str],
        Wire(Annotated[list[str], MaxLen(256)] | None),
        Described({"examples": [["*.example.com", "203.0.113.0/24"]]}),
        Parsed(_hosts),
    ] = ()
    """Hosts that its actions may reach, within the operator's own allow-list; empty: all of that."""


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A tenant's limits and present usage."""

    limits: TenantLimits
    schedules: int
    running: int
    stored_bytes: int
    page_bytes: int
    page_quota: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenants:
    """List, show and set limits. A tenant needs no row: without one it has the defaults of the settings."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    check_allow: CheckAllow
    page_quota: int | None = None
    """Bytes of stored pages that each tenant may have; None where none are stored."""

    @query(Verb.READ, Thing.TENANT)
    async def list(self, ctx: QueryContext, page: PageRequest) -> Sequence[Tenant]:
        """Those with settings of their own, in the order of their ids."""
        async with ctx.read(across_tenants=True) as tx:
            return await SqlTenants(tx).find(page)

    @query(Verb.READ, Thing.TENANT)
    async def get(self, ctx: QueryContext, tenant_id: str) -> Tenant:
        async with ctx.read(across_tenants=True) as tx:
            return await SqlTenants(tx).get(tenant_id) or Tenant(tenant_id=tenant_id)

    @command(Verb.WRITE, Thing.TENANT)
    async def put(self, ctx: CommandContext, tenant_id: str, raw: object) -> Tenant:
        """Replace the whole document; every process applies it within seconds."""
        limits, allow = self._read(raw)
        tx = await ctx.begin(across_tenants=True)
        was = await SqlTenants(tx).get(tenant_id, lock=True) or Tenant(tenant_id=tenant_id)
        tenant = Tenant(
            tenant_id=tenant_id, limits=limits, egress_allow=allow, updated_by=ctx.caller.user_id, updated_at=ctx.now
        )
        await SqlTenants(tx).put(tenant)
        before, after = differences(_document(was), _document(tenant))
        ctx.audit(AuditedChange("replace", Thing.TENANT, tenant_id, before, after))
        return tenant

    @query(Verb.READ, Thing.SCHEDULE)
    async def use(self, ctx: QueryContext) -> LimitUse:
        """The caller's own limits and usage."""
        limits = await self.limiter.of(ctx.tenant_id)
        async with ctx.read() as tx:
            return LimitUse(
                limits,
                await SqlTenants(tx).count_schedules(ctx.tenant_id),
                await SqlTenants(tx).count_running(ctx.tenant_id),
                await SqlTenants(tx).stored_bytes(ctx.tenant_id),
                await SqlPages(tx).total(ctx.tenant_id),
                self.page_quota,
            )

    def effective(self, tenant: Tenant) -> TenantLimits:
        """The tenant's limits with the defaults of the settings filled in."""
        return self.limiter.default.but(tenant.limits)

    def _read(self, raw: object) -> tuple[dict[str, int | None], tuple[str, ...]]:
        asked = read(TenantRequest, raw)
        self.check_allow(asked.egress_allow)
        return asked.limits, tuple(asked.egress_allow)


def _document(tenant: Tenant) -> dict[str, Any]:
    return {"limits": dict(tenant.limits), "egress_allow": list(tenant.egress_allow or ())}
