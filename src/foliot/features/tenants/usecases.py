"""What tenants may use: said by whoever runs the house, seen by everybody for themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foliot.commands.limits import Limiter
from foliot.commands.retry_on_conflict import again
from foliot.commands.tenant import Tenant
from foliot.commands.tenants_sql import SqlTenants
from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.core.limits import Limits, read_own
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import Page
from foliot.features.audit_log.usecases import Change, differences, record

CheckAllow = Callable[[Sequence[str]], None]
"""`Invalid` when a list of targets cannot be read."""


@dataclass(frozen=True, slots=True)
class Use:
    """A tenant's limits, and how much of them is used now."""

    limits: Limits
    schedules: int
    running: int
    stored_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenants:
    """Look and set. A tenant needs no row: without one it has what the settings say."""

    store: Database
    clock: Clock
    limiter: Limiter
    check_allow: CheckAllow

    async def list(self, caller: Caller, page: Page) -> Sequence[Tenant]:
        """Those of whom something is said, in the order of their ids."""
        demand(caller, Verb.READ, Thing.TENANT)
        async with self.store.read() as tx:
            return await SqlTenants(tx).find(page)

    async def get(self, caller: Caller, tenant_id: str) -> Tenant:
        demand(caller, Verb.READ, Thing.TENANT)
        async with self.store.read() as tx:
            return await SqlTenants(tx).get(tenant_id) or Tenant(tenant_id=tenant_id)

    @again
    async def put(self, caller: Caller, tenant_id: str, raw: object) -> Tenant:
        """The whole document anew; holds in every process within seconds."""
        demand(caller, Verb.WRITE, Thing.TENANT)
        limits, allow = self._read(raw)
        async with self.store.begin() as tx:
            now = self.clock.now()
            was = await SqlTenants(tx).get(tenant_id, lock=True) or Tenant(tenant_id=tenant_id)
            tenant = Tenant(
                tenant_id=tenant_id, limits=limits, egress_allow=allow, updated_by=caller.user_id, updated_at=now
            )
            await SqlTenants(tx).put(tenant)
            before, after = differences(_document(was), _document(tenant))
            await record(tx, caller, now, Change("replace", Thing.TENANT, tenant_id, before, after))
        return tenant

    async def use(self, caller: Caller) -> Use:
        """The caller's own."""
        demand(caller, Verb.READ, Thing.SCHEDULE)
        limits = await self.limiter.of(caller.tenant_id)
        async with self.store.read(caller.tenant_id) as tx:
            return Use(
                limits,
                await SqlTenants(tx).count_schedules(caller.tenant_id),
                await SqlTenants(tx).count_running(caller.tenant_id),
                await SqlTenants(tx).stored_bytes(caller.tenant_id),
            )

    def effective(self, tenant: Tenant) -> Limits:
        """What holds for the tenant, the settings included."""
        return self.limiter.default.but(tenant.limits)

    def _read(self, raw: object) -> tuple[dict[str, int | None], tuple[str, ...]]:
        fields = Fields.of("", raw)
        limits = read_own("limits", fields.value("limits"))
        allow = fields.value("egress_allow")
        fields.finish()
        if allow is None:
            return limits, ()
        if not isinstance(allow, list) or not all(isinstance(entry, str) for entry in allow):
            raise Invalid("egress_allow", "must be a list of networks, hosts, *.host or host:port", got=allow)
        self.check_allow(allow)
        return limits, tuple(allow)


def _document(tenant: Tenant) -> dict[str, Any]:
    return {"limits": dict(tenant.limits), "egress_allow": list(tenant.egress_allow or ())}
