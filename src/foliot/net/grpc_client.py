"""The gRPC client: calls the services of the operator's address book."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from foliot.core.egress import AddressBook, EgressRefused, ServiceAddress
from foliot.core.errors import Invalid
from foliot.net.addresses import Address
from foliot.net.allow import EgressRules, TenantTargets
from foliot.net.grpc_call import CallFailed, CallStatus, GrpcAnswers, GrpcRequest
from foliot.net.resolver import Lookups
from foliot.net.slots import FairSlots
from foliot.net.url import literal_of

if TYPE_CHECKING:
    from foliot.net.client import Resolver
    from foliot.net.grpc_channels import GrpcConnection, GrpcConnections

PER_SERVICE = 64
_LOOKUPS = 8
_DEAD = frozenset({CallStatus.UNAVAILABLE, CallStatus.DEADLINE_EXCEEDED})
"""After these, the next call uses a new connection: this one may be broken."""
_UNREACHABLE = "The service could not be reached."
_LATE = "The service did not answer in time."
_NOT_LISTED = "The service {} is not on the tenant's list of allowed targets."


@dataclass(kw_only=True, eq=False)
class GrpcEgress:
    """The guarded gRPC client. Only services of the address book can be called, each at its address."""

    book: AddressBook
    ca_file: Path | None = None
    per_service: int = PER_SERVICE
    """Concurrent calls to one service, over all tenants."""
    limits: Callable[[str], Awaitable[Sequence[str]]] | None = None
    """A tenant's own list of targets, by its id; empty when it does not narrow what the operator allows."""
    resolver: Resolver | None = None
    """Replaces the system's resolver."""
    _rules: EgressRules = field(init=False, repr=False)
    _turns: FairSlots = field(init=False, repr=False)
    _lookups: Lookups | None = field(default=None, init=False, repr=False)
    _switchboard: GrpcConnections | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        places = [each.place for each in self.book.entries.values() if each.scheme.speaks_grpc]
        self._rules = EgressRules.read(loopback=False, allow=places, ports=())
        self._turns = FairSlots(self.per_service)

    async def close(self) -> None:
        """Close every connection."""
        switchboard, self._switchboard = self._switchboard, None
        lookups, self._lookups = self._lookups, None
        if switchboard is not None:
            await switchboard.close()
        if lookups is not None:
            lookups.close()

    def line_of(self, service: str) -> int | None:
        """The number of the current connection; None when there is none, or it broke."""
        line = None if self._switchboard is None else self._switchboard.current(service)
        return None if line is None else line.number

    async def admit(self, service: str, tenant_id: str) -> None:
        """`EgressRefused` when the service may not be called, or not by this tenant."""
        await self._limits_for(tenant_id, self._address(service, tenant_id))

    async def call(self, call: GrpcRequest) -> GrpcAnswers:
        """The whole call has one timeout: the wait for a slot, the lookup, the answer."""
        address = self._address(call.service, call.tenant_id)
        if call.tenant_id and not address.allows(call.path):
            raise EgressRefused(f"The service {address.name} has no method {call.path[:300]} that may be called.")
        loop = asyncio.get_running_loop()
        began = loop.time()
        patience = asyncio.timeout(call.timeout.total_seconds())
        try:
            async with patience:
                limits = await self._limits_for(call.tenant_id, address)
                async with self._turns.turn(address.name, call.tenant_id):
                    line = await self._line(address, call.tenant_id)
                    if not all(limits.include(address.host, address.port, each) for each in line.addresses):
                        raise EgressRefused(_NOT_LISTED.format(address.name))
                    left = call.timeout.total_seconds() - (loop.time() - began)
                    messages = await self._converse(line, address, call, left)
        except TimeoutError:
            raise CallFailed(CallStatus.DEADLINE_EXCEEDED, _LATE) from None
        return GrpcAnswers(messages=messages, line=line.number, elapsed=timedelta(seconds=loop.time() - began))

    def _address(self, service: str, tenant_id: str) -> ServiceAddress:
        """A service of other tenants is refused like one that does not exist; Foliot itself may call any."""
        address = (self.book.seen_by(tenant_id) if tenant_id else self.book).address_of(service)
        if address is None or not address.scheme.speaks_grpc:
            raise EgressRefused(
                f"There is no gRPC service {service[:100]} in the address book: the operator names it in "
                "FOLIOT_SERVICES, or in a variable such as SCRAPER_SERVICE_URL."
            )
        return address

    async def _limits_for(self, tenant_id: str, address: ServiceAddress) -> TenantTargets:
        """The tenant's own list; refuses when the service is not on it. A list that cannot be parsed allows nothing."""
        if self.limits is None or not tenant_id:
            return TenantTargets()
        try:
            limits = TenantTargets.read(await self.limits(tenant_id))
        except Invalid:
            raise EgressRefused("The tenant's list of allowed targets cannot be read.") from None
        if limits.exclude(address.host, address.port, literal_of(address.host)):
            raise EgressRefused(_NOT_LISTED.format(address.name))
        return limits

    async def _line(self, address: ServiceAddress, tenant_id: str) -> GrpcConnection:
        if self._switchboard is None:
            # gRPC is slow to import and starts threads: only for processes that call.
            from foliot.net.grpc_channels import GrpcConnections

            self._switchboard = GrpcConnections(self.ca_file)
        switchboard = self._switchboard
        line = switchboard.current(address.name)
        if line is not None:
            return line
        checked = await self._addresses(address, tenant_id)
        # Another task may have opened one while the name was looked up.
        return switchboard.current(address.name) or switchboard.open(address, checked)

    async def _addresses(self, address: ServiceAddress, tenant_id: str) -> list[Address]:
        """Every address of the service, all of them allowed. The addresses appear in the operator's log alone."""
        try:
            texts = [address.host] if literal_of(address.host) else await self._resolve(address.host, tenant_id)
            found = [ip_address(text) for text in texts]
        except (OSError, ValueError):
            found = []
        refused = [str(each) for each in found if not self._rules.allows_address(address.host, address.port, each)]
        if refused or not found:
            said = f"{address.host} has " + (f"forbidden addresses: {', '.join(refused)}" if refused else "no address")
            raise CallFailed(CallStatus.UNAVAILABLE, _UNREACHABLE, said=said)
        return found

    async def _resolve(self, host: str, tenant_id: str) -> Sequence[str]:
        if self.resolver is not None:
            return await self.resolver(host)
        if self._lookups is None:
            self._lookups = Lookups(threads=_LOOKUPS)
        return await self._lookups.addresses(host, tenant_id)

    async def _converse(
        self, line: GrpcConnection, address: ServiceAddress, call: GrpcRequest, left: float
    ) -> list[bytes]:
        from foliot.net.grpc_channels import exchange

        if self._switchboard is None:
            raise CallFailed(CallStatus.UNAVAILABLE, "Foliot is stopping.")
        switchboard = self._switchboard
        async with switchboard.using(line) as channel:
            try:
                answers = await exchange(channel, call, left)
            except CallFailed as failed:
                if failed.status in _DEAD:
                    switchboard.give_up(address.name, line)
                raise
            line.answered = True
            return answers
