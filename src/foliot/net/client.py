"""The HTTP client: sends a request to an address that was checked, and reads a bounded answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Protocol, Self

import aiohttp
import structlog
from aiohttp.http_exceptions import HttpProcessingError

from foliot.core.egress import EgressFailed, OutgoingRequest, OutgoingResponse
from foliot.net.addresses import Address
from foliot.net.allow import DEFAULT_PORTS, EgressRules, TenantTargets
from foliot.net.connection_pool import PinnedConnections
from foliot.net.deadlines import Deadlines, TaskDeadline
from foliot.net.failures import NotConnected, TlsFailed, Unreachable, hidden, late, uniform
from foliot.net.guard import EgressGuard
from foliot.net.pinned_address import Pin, WrongPeer
from foliot.net.resolver import Lookups
from foliot.net.response import BoundedResponse
from foliot.net.slots import FairSlots
from foliot.net.url import UrlTarget

log = structlog.get_logger("foliot.net")

PER_HOST = 64
CONNECT = timedelta(seconds=10)
_INSPECT = 2.0
"""Seconds for a second look at a certificate that was not accepted."""
_ADDRESSES_TRIED = 4
_LOOKUP = timedelta(seconds=10)
_QUIET = timedelta(milliseconds=250)
"""Minimum time before a target is reported unreachable: an unknown name, one that resolves to an internal address and
a closed port nearby would otherwise differ by milliseconds.
"""


class Resolver(Protocol):
    """Every address of a name, as text; `OSError` when it has none."""

    async def __call__(self, host: str) -> Sequence[str]: ...


@dataclass(kw_only=True, eq=False)
class HttpEgress:
    """The guarded HTTP client. In local mode (`loopback`) this machine and every port may be called too."""

    loopback: bool = False
    allow: str | Sequence[str] = ()
    ports: str | Collection[int] = DEFAULT_PORTS
    per_host: int = PER_HOST
    """Concurrent requests to one host and port, over all tenants."""
    connect: timedelta = CONNECT
    """Timeout of the name lookup, and then of the connection to any of its addresses; not of the answer."""
    limits: Callable[[str], Awaitable[Sequence[str]]] | None = None
    """A tenant's own list of targets, by its id; empty when it does not narrow what the operator allows."""
    resolver: Resolver | None = None
    """Replaces the system's resolver."""
    tls: ssl.SSLContext | None = None
    _guard: EgressGuard = field(init=False, repr=False)
    _turns: FairSlots = field(init=False, repr=False)
    _deadlines: Deadlines = field(default_factory=Deadlines, init=False, repr=False)
    _lookups: Lookups | None = field(default=None, init=False, repr=False)
    _connections: PinnedConnections | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        rules = EgressRules.read(loopback=self.loopback, allow=self.allow, ports=self.ports)
        self._guard = EgressGuard(rules, self.limits)
        self._turns = FairSlots(self.per_host)

    async def start(self) -> None:
        """Open the connection pool; `send` needs it."""
        self._lookups = Lookups()
        self._connections = PinnedConnections(self.tls)

    async def close(self) -> None:
        """Close every connection."""
        if self._connections is not None:
            self._connections.close()
        if self._lookups is not None:
            self._lookups.close()
        self._connections = self._lookups = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def check(self, url: str) -> None:
        """`Invalid` when no request to this URL could ever be allowed; looks up no names."""
        self._guard.admit(url)

    @staticmethod
    def check_limits(entries: Sequence[str]) -> None:
        """`Invalid` when a tenant's list of targets cannot be read."""
        TenantTargets.read(entries)

    async def admit(self, url: str, tenant_id: str = "", timeout: timedelta = _LOOKUP) -> None:
        """The checks that `send` does before it connects: the tenant's list, and every address that the name has now.

        For requests that another program sends. Raises as `send` does, after the same time.
        """
        target = self._guard.examine(OutgoingRequest(method="GET", url=url, tenant_id=tenant_id))
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                limits = await self._guard.limits_of(tenant_id, target)
                await self._guard.addresses(target, tenant_id, limits, self._resolve)
        except (TimeoutError, Unreachable) as failure:
            if not self.loopback:
                await asyncio.sleep(began + min(_QUIET, timeout).total_seconds() - loop.time())
            elif isinstance(failure, Unreachable):
                raise
            raise Unreachable from None

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        """Resolve once, check every address, connect to a checked one, read a bounded answer. Follows no redirects."""
        target = self._guard.examine(request)
        loop = asyncio.get_running_loop()
        pin = Pin(port=target.port, began=loop.time(), open=self.loopback)
        try:
            answer = await self._within(target, request, pin)
        except EgressFailed as failure:
            raise await self._told(failure, target, request, pin) from None
        now = loop.time()
        return OutgoingResponse(
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            truncated=answer.truncated,
            elapsed=timedelta(seconds=now - pin.began),
            timing=pin.timing(now),
            set_cookies=answer.set_cookies,
        )

    async def _told(self, failure: EgressFailed, target: UrlTarget, request: OutgoingRequest, pin: Pin) -> EgressFailed:
        """The failure as its tenant may see it. What must be hidden is logged, and takes as long as an unknown name."""
        loop = asyncio.get_running_loop()
        if pin.open and isinstance(failure, TlsFailed) and pin.address is not None:
            rest = pin.began + request.timeout.total_seconds() - loop.time()
            # Here: it needs a library that is slow to import, and few certificates are refused.
            from foliot.net.certificate import explain

            failure.detail = await explain(failure.error, target.host, pin.address, target.port, min(rest, _INSPECT))
        told = failure if pin.open else hidden(failure)
        if told is failure:
            failure.timing = pin.timing(loop.time())
            return failure
        log.info(
            "a request failed; the details are hidden from its tenant",
            action="egress_failed",
            tenant_id=request.tenant_id,
            host=target.host,
            port=target.port,
            cause=failure.cause,
            detail=failure.detail,
        )
        if isinstance(failure, Unreachable):
            await asyncio.sleep(pin.began + min(_QUIET, request.timeout).total_seconds() - loop.time())
        told.timing = {"total_ms": pin.timing(loop.time())["total_ms"]}
        return told

    async def _within(self, target: UrlTarget, request: OutgoingRequest, pin: Pin) -> BoundedResponse:
        """The whole request has one timeout: the lookup, the wait for a slot, the answer."""
        loop = asyncio.get_running_loop()
        try:
            async with TaskDeadline(self._deadlines, request.timeout.total_seconds()):
                limits = await self._guard.limits_of(request.tenant_id, target)
                door = f"{target.host}:{target.port}"
                await self._turns.enter(door, request.tenant_id)
                try:
                    pin.admitted = loop.time()
                    addresses = await self._addresses(target, request.tenant_id, limits)
                    if target.literal is None:
                        pin.resolved = loop.time()
                    if request.proxy is not None:
                        pin.route = await self._guard.route(request.proxy, request.tenant_id, self._resolve)
                    rules = self._guard.rules
                    pin.open = all(rules.tells(target.host, target.port, address) for address in addresses)
                    return await self._try_each(target, addresses, request, pin)
                finally:
                    self._turns.leave(door)
        except TimeoutError:
            waited = request.timeout if pin.connected or not pin.admitted else min(self.connect, request.timeout)
            raise late(pin, target.host, waited.total_seconds()) from None
        except NotConnected as refusal:
            raise refusal.failure from None
        except (aiohttp.ClientError, HttpProcessingError) as error:
            raise uniform(error) from None
        except WrongPeer as error:
            log.error(str(error), action="egress_astray", tenant_id=request.tenant_id, host=target.host)  # noqa: TRY400
            raise Unreachable from None

    async def _addresses(self, target: UrlTarget, tenant_id: str, limits: TenantTargets) -> Sequence[Address]:
        if target.literal is not None:
            return [target.literal]
        async with asyncio.timeout(self.connect.total_seconds()):
            return await self._guard.addresses(target, tenant_id, limits, self._resolve)

    async def _resolve(self, host: str, tenant_id: str) -> Sequence[str]:
        if self._lookups is None:
            raise RuntimeError("HttpEgress.start() was not called")
        if self.resolver is not None:
            return await self.resolver(host)
        return await self._lookups.addresses(host, tenant_id)

    async def _try_each(
        self, target: UrlTarget, addresses: Sequence[Address], request: OutgoingRequest, pin: Pin
    ) -> BoundedResponse:
        """The first address that accepts a connection gets the request; after that there is no second try."""
        tried = addresses[:_ADDRESSES_TRIED]
        patience = min(self.connect, request.timeout).total_seconds()
        for address in tried[:-1]:
            # Half of the remaining time: together they stay within the timeout.
            patience /= 2
            try:
                return await self._pool.exchange(target, address, request, pin, patience)
            except NotConnected:
                continue
        return await self._pool.exchange(target, tried[-1], request, pin, patience)

    @property
    def _pool(self) -> PinnedConnections:
        if self._connections is None:
            raise RuntimeError("HttpEgress.start() was not called")
        return self._connections
