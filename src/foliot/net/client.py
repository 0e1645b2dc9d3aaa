"""The HTTP client: sends a request to an address that was checked, and reads a bounded answer."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from types import TracebackType
from typing import Protocol, Self

import aiohttp
import structlog

from foliot.core.egress import OutgoingRequest, OutgoingResponse
from foliot.net.addresses import Address
from foliot.net.allow import DEFAULT_PORTS, EgressRules
from foliot.net.connector import PinnedConnector, PinnedRequest
from foliot.net.decompress import ACCEPTED
from foliot.net.failures import Unreachable, late, uniform
from foliot.net.guard import EgressGuard
from foliot.net.pinned_address import PIN, Pin, WrongPeer
from foliot.net.resolver import Lookups
from foliot.net.response import BoundedResponse, read_answer
from foliot.net.slots import FairSlots
from foliot.net.tenant_allow import TenantTargets
from foliot.net.url import UrlTarget

log = structlog.get_logger("foliot.net")

PER_HOST = 64
CONNECT = timedelta(seconds=10)
_ADDRESSES_TRIED = 4
_HEADER_BYTES = 8 * 1024
_HEADERS = 128
_BUFFER = 64 * 1024
"""Buffered bytes per answer; also how much is parsed before other tasks get the loop."""
_LOOKUP = timedelta(seconds=10)
_QUIET = timedelta(milliseconds=250)
"""Minimum time before a target is reported unreachable: an unknown name, one that resolves to an internal address and
a closed port nearby would otherwise differ by milliseconds.
"""


@lru_cache(maxsize=64)
def _patience(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=seconds)


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
    _lookups: Lookups | None = field(default=None, init=False, repr=False)
    _session: aiohttp.ClientSession | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        rules = EgressRules.read(loopback=self.loopback, allow=self.allow, ports=self.ports)
        self._guard = EgressGuard(rules, self.limits)
        self._turns = FairSlots(self.per_host)

    async def start(self) -> None:
        """Open the connection pool; `send` needs it."""
        self._lookups = Lookups()
        self._session = aiohttp.ClientSession(
            connector=PinnedConnector(self.tls),
            request_class=PinnedRequest,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=_BUFFER,
            trust_env=False,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            max_headers=_HEADERS,
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
        if self._lookups is not None:
            self._lookups.close()
        self._session = self._lookups = None

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
        except (TimeoutError, Unreachable):
            if not self.loopback:
                await asyncio.sleep(began + min(_QUIET, timeout).total_seconds() - loop.time())
            raise Unreachable from None

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        """Resolve once, check every address, connect to a checked one, read a bounded answer. Follows no redirects."""
        target = self._guard.examine(request)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            answer = await self._within(target, request)
        except Unreachable:
            if not self.loopback:
                quiet = min(_QUIET, request.timeout).total_seconds()
                await asyncio.sleep(began + quiet - loop.time())
            raise
        return OutgoingResponse(
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            truncated=answer.truncated,
            elapsed=timedelta(seconds=loop.time() - began),
        )

    async def _within(self, target: UrlTarget, request: OutgoingRequest) -> BoundedResponse:
        """The whole request has one timeout: the lookup, the wait for a slot, the answer."""
        pin = Pin(port=target.port, tenant_id=request.tenant_id, most=request.most)
        token = PIN.set(pin)
        try:
            async with asyncio.timeout(request.timeout.total_seconds()):
                limits = await self._guard.limits_of(request.tenant_id, target)
                door = f"{target.host}:{target.port}"
                await self._turns.enter(door, request.tenant_id)
                try:
                    async with asyncio.timeout(self.connect.total_seconds()):
                        addresses = await self._guard.addresses(target, request.tenant_id, limits, self._resolve)
                    return await self._try_each(target, addresses, request, pin)
                finally:
                    self._turns.leave(door)
        except TimeoutError:
            raise late(connected=pin.connected) from None
        except aiohttp.ClientError as error:
            raise uniform(error) from None
        except WrongPeer as error:
            log.error(str(error), action="egress_astray", tenant_id=request.tenant_id, host=target.host)  # noqa: TRY400
            raise Unreachable from None
        finally:
            PIN.reset(token)

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
                return await self._exchange(target, address, request, pin, patience)
            except aiohttp.ClientSSLError:
                raise
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
                continue
        return await self._exchange(target, tried[-1], request, pin, patience)

    async def _exchange(
        self, target: UrlTarget, address: Address, request: OutgoingRequest, pin: Pin, patience: float
    ) -> BoundedResponse:
        if self._session is None:
            raise RuntimeError("HttpEgress.start() was not called")
        pin.address, pin.connected = address, False
        async with self._session.request(
            request.method,
            target.pinned(address),
            headers={**request.headers, "Accept-Encoding": ACCEPTED, "Host": target.authority},
            data=request.body,
            allow_redirects=False,
            # Also for plain http: it makes the name part of the pool's key, so that two names never share a connection.
            server_hostname=target.host,
            skip_auto_headers=("Content-Type", "User-Agent"),
            timeout=_patience(patience),
        ) as response:
            return await read_answer(response, keep=request.keep, most=request.most)
