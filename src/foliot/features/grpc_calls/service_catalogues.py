"""Keeps what services said of themselves, until there is reason to ask again."""

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
"""After this a service is asked again: one behind a balancer may change while the connection stays."""
RECENT = timedelta(seconds=1)
"""Before this it is not asked again only because somebody is mistaken about it."""
PATIENCE = timedelta(seconds=10)
"""How long a service may take to describe itself."""


@dataclass(slots=True)
class _CachedCatalogue:
    catalogue: ServiceCatalogue
    line: int
    asked_at: float


@dataclass(slots=True)
class ServiceCatalogues:
    """One catalogue per service. Whoever asks while another asks already gets the same answer."""

    calls: GrpcEgress
    clock: Clock
    _kept: dict[str, _CachedCatalogue] = field(default_factory=dict)
    _asking: dict[str, asyncio.Task[ServiceCatalogue]] = field(default_factory=dict)

    async def of(self, service: str) -> ServiceCatalogue:
        """The one that is kept, or a new one when it is old or the connection was another."""
        entry = self._kept.get(service)
        if entry is not None and self._is_fresh(service, entry):
            return entry.catalogue
        return await self.anew(service)

    async def newer(self, service: str, than: ServiceCatalogue) -> ServiceCatalogue | None:
        """For whoever does not find what he looks for: what the service says now, if that is something else."""
        entry = self._kept.get(service)
        if entry is not None and entry.catalogue is than and self._age(entry) < RECENT.total_seconds():
            return None
        found = await self.anew(service)
        return None if found is than else found

    async def anew(self, service: str) -> ServiceCatalogue:
        """Asks the service; the same catalogue as before when nothing has changed."""
        if service not in self._asking:
            asking = asyncio.create_task(self._ask(service))
            self._asking[service] = asking
            asking.add_done_callback(lambda _: self._asked(service, asking))
        # It goes on when one of those who wait gives up.
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
            asking.exception()  # seen, even if nobody waits for it any more
