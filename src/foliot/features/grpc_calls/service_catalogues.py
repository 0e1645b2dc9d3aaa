"""A cache of service catalogues, with expiry and one reflection request at a time per service."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from foliot.core.ports import Clock
from foliot.core.threads import WORK
from foliot.features.grpc_calls.reflection import ReflectionClient
from foliot.features.grpc_calls.service_catalogue import ServiceCatalogue

if TYPE_CHECKING:
    from foliot.net.grpc_client import GrpcEgress

KEPT = timedelta(minutes=5)
"""After this a catalogue is fetched again: behind a load balancer a service may change while the connection stays."""
RECENT = timedelta(seconds=1)
"""A catalogue younger than this is not fetched again because of an unknown method or field."""
PATIENCE = timedelta(seconds=10)
"""Timeout of server reflection."""


@dataclass(slots=True)
class _CachedCatalogue:
    catalogue: ServiceCatalogue
    line: int
    asked_at: float


@dataclass(slots=True)
class ServiceCatalogues:
    """One catalogue per service. Concurrent requests for the same one share one fetch."""

    calls: GrpcEgress
    clock: Clock
    _kept: dict[str, _CachedCatalogue] = field(default_factory=dict)
    _asking: dict[str, asyncio.Task[ServiceCatalogue]] = field(default_factory=dict)

    async def of(self, service: str) -> ServiceCatalogue:
        """The cached one, or a new one when that has expired or the connection has changed."""
        entry = self._kept.get(service)
        if entry is not None and self._is_fresh(service, entry):
            return entry.catalogue
        return await self.anew(service)

    async def newer(self, service: str, than: ServiceCatalogue) -> ServiceCatalogue | None:
        """A catalogue fetched now, if it differs from `than`; for a method or field that was not found in that."""
        entry = self._kept.get(service)
        if entry is not None and entry.catalogue is than and self._age(entry) < RECENT.total_seconds():
            return None
        catalogue = await self.anew(service)
        return None if catalogue is than else catalogue

    async def anew(self, service: str) -> ServiceCatalogue:
        """Fetches the catalogue; returns the cached object when nothing has changed."""
        if service not in self._asking:
            asking = asyncio.create_task(self._ask(service))
            self._asking[service] = asking
            asking.add_done_callback(lambda _: self._asked(service, asking))
        # The fetch goes on when one of its waiters is cancelled.
        return await asyncio.shield(self._asking[service])

    def _is_fresh(self, service: str, entry: _CachedCatalogue) -> bool:
        return self._age(entry) < KEPT.total_seconds() and self.calls.line_of(service) == entry.line

    def _age(self, entry: _CachedCatalogue) -> float:
        return self.clock.monotonic() - entry.asked_at

    async def _ask(self, service: str) -> ServiceCatalogue:
        asked_at = self.clock.monotonic()
        asking = ReflectionClient(self.calls, service, PATIENCE)
        described = await asking.describe()
        before = self._kept.get(service)
        if before is not None and before.catalogue.described == described:
            catalogue = before.catalogue
        else:
            catalogue = await WORK.run(ServiceCatalogue.of, described)
        self._kept[service] = _CachedCatalogue(catalogue, asking.line, asked_at)
        return catalogue

    def _asked(self, service: str, asking: asyncio.Task[ServiceCatalogue]) -> None:
        del self._asking[service]
        if not asking.cancelled():
            asking.exception()  # retrieved, so that asyncio does not warn when every waiter has gone
