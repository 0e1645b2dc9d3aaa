"""Sends one request to an address that was checked, and reads a bounded answer."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Collection, Sequence
from datetime import timedelta
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import aiohttp

from foliot.domain.errors import Invalid
from foliot.egress.addresses import Address
from foliot.egress.allow import DEFAULT_PORTS, Rules
from foliot.egress.answer import Answer, read_answer
from foliot.egress.inflate import ACCEPTED
from foliot.egress.pin import PIN, Pin, PinnedConnector, Resolver, SystemResolver
from foliot.egress.target import Target, read_url
from foliot.ports import EgressFailed, EgressRefused, Outgoing, Reply

_CONNECT_SECONDS = 10.0
_ADDRESSES_TRIED = 4
_HEADER_BYTES = 16 * 1024
_HEADERS = 128
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"}
)
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

UNREACHABLE = "The target could not be reached."
TIMEOUT = "The target did not answer in time."
TLS = "No secure connection to the target could be made."
BAD = "The target's answer was not valid HTTP."


class HttpEgress:
    """The guarded HTTP client. In local mode (`loopback`) this machine and every port may be called too."""

    def __init__(
        self,
        *,
        loopback: bool = False,
        allow: str | Sequence[str] = (),
        ports: str | Collection[int] = DEFAULT_PORTS,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._rules = Rules.read(loopback=loopback, allow=allow, ports=ports)
        self._given = resolver
        self._tls = tls
        self._system: SystemResolver | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Open the pool of connections; `send` needs it."""
        self._system = SystemResolver() if self._given is None else None
        self._session = aiohttp.ClientSession(
            connector=PinnedConnector(self._tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            max_headers=_HEADERS,
        )

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
        if self._system is not None:
            self._system.close()
        self._session = self._system = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def check(self, url: str) -> None:
        """`Invalid` when no request to this URL could ever be allowed; looks up no names."""
        self._admit(url)

    async def send(self, request: Outgoing) -> Reply:
        """Resolve once, check every address, connect to a checked one, read a bounded answer. Follows no redirect."""
        try:
            target = self._admit(request.url)
        except Invalid as refusal:
            raise EgressRefused(f"The URL {refusal.message}.") from None
        _check_parts(request)
        began = asyncio.get_running_loop().time()
        pin = Pin(port=target.port)
        token = PIN.set(pin)
        try:
            async with asyncio.timeout(request.timeout.total_seconds()):
                answer = await self._try_each(target, await self._resolve(target), request, pin)
        except TimeoutError:
            # A filtered port must look like a closed one, or we would be a port scanner: only who accepted can be late.
            raise (EgressFailed("target_timeout", TIMEOUT) if pin.connected else _unreachable()) from None
        except aiohttp.ClientError as error:
            raise _uniform(error) from None
        finally:
            PIN.reset(token)
        elapsed = timedelta(seconds=asyncio.get_running_loop().time() - began)
        return Reply(
            status=answer.status, headers=answer.headers, body=answer.body, truncated=answer.truncated, elapsed=elapsed
        )

    def _admit(self, url: str) -> Target:
        target = read_url(url)
        if not self._rules.allows_port(target.host, target.port):
            raise Invalid("url", f"must use an allowed port, not {target.port}", got=target.port)
        if not self._rules.allows_name(target.host, target.port):
            raise Invalid("url", "must not lead to this machine", got=target.host)
        if target.literal is not None and not self._rules.allows_address(target.host, target.port, target.literal):
            raise Invalid("url", "must lead to a public address", got=target.host)
        return target

    async def _resolve(self, target: Target) -> list[Address]:
        """Every address of the target, all of them allowed: one bad answer among good ones spoils the name."""
        if target.literal is not None:
            return [target.literal]
        resolver = self._given or self._system
        if resolver is None:
            raise RuntimeError("HttpEgress.start() was not called")
        try:
            addresses = [ip_address(text) for text in await resolver(target.host)]
        except (OSError, UnicodeError):
            raise _unreachable() from None
        except ValueError:
            raise EgressRefused("The target's name leads to something that is not an address.") from None
        if not addresses:
            raise _unreachable()
        if not all(self._rules.allows_address(target.host, target.port, address) for address in addresses):
            raise EgressRefused("The target's name leads to an address that is not public.")
        return addresses

    async def _try_each(self, target: Target, addresses: Sequence[Address], request: Outgoing, pin: Pin) -> Answer:
        """The first address that accepts a connection gets the request; after that there is no second try."""
        tried = addresses[:_ADDRESSES_TRIED]
        patience = min(_CONNECT_SECONDS, request.timeout.total_seconds() / len(tried))
        for address in tried[:-1]:
            try:
                return await self._exchange(target, address, request, pin, patience)
            except aiohttp.ClientSSLError:
                raise
            except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
                continue
        return await self._exchange(target, tried[-1], request, pin, patience)

    async def _exchange(self, target: Target, address: Address, request: Outgoing, pin: Pin, patience: float) -> Answer:
        if self._session is None:
            raise RuntimeError("HttpEgress.start() was not called")
        pin.address, pin.connected = address, False
        async with self._session.request(
            request.method,
            target.pinned(address),
            headers={"Accept-Encoding": ACCEPTED, **request.headers, "Host": target.authority},
            data=request.body,
            allow_redirects=False,
            # Also for plain http: it makes the name part of the pool's key, so that no two names share a connection.
            server_hostname=target.host,
            skip_auto_headers=("Content-Type", "User-Agent"),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=patience),
        ) as response:
            return await read_answer(response, keep=request.keep, most=request.most)


def _check_parts(request: Outgoing) -> None:
    if request.method not in _METHODS:
        raise EgressRefused("The request's method is not allowed.")
    for name, value in request.headers.items():
        if not _TOKEN.fullmatch(name) or _UNSAFE_VALUE.search(value):
            raise EgressRefused("A header of the request holds characters that are not allowed.")
        if name.lower() in _OURS or name.lower().startswith("proxy-"):
            raise EgressRefused(f"The header {name} is not the caller's to set.")


def _unreachable() -> EgressFailed:
    return EgressFailed("target_unreachable", UNREACHABLE)


def _uniform(error: aiohttp.ClientError) -> EgressFailed:
    """One of a few classes, without the operating system's words, which would describe the network to strangers."""
    match error:
        case aiohttp.ClientSSLError():
            return EgressFailed("tls_failed", TLS)
        case aiohttp.ClientConnectionError():
            return _unreachable()
        case _:
            return EgressFailed("bad_response", BAD)
