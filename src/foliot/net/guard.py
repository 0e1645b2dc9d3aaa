"""The SSRF guard: decides whether a request may be sent, and to which addresses."""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address

import structlog

from foliot.core.egress import EgressRefused, OutgoingRequest
from foliot.core.errors import Invalid
from foliot.net.addresses import Address
from foliot.net.allow import EgressRules, TenantTargets
from foliot.net.failures import Unreachable
from foliot.net.pinned_address import ProxyRoute
from foliot.net.upstream import UpstreamFailed, UpstreamProxy
from foliot.net.url import UrlTarget, read_url

log = structlog.get_logger("foliot.net")

Resolve = Callable[[str, str], Awaitable[Sequence[str]]]
"""Every address of a name, for a tenant, as text; `OSError` when it has none."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_MOST_ADMITTED = 2048
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


@lru_cache(maxsize=1024)
def _is_token(name: str) -> bool:
    return _TOKEN.fullmatch(name) is not None


@lru_cache(maxsize=1024)
def _is_ours(name: str) -> bool:
    return name.lower() in _OURS or name.lower().startswith("proxy-")


def is_callers(name: str) -> bool:
    """Whether a caller may set this header: it is one, and the client does not set it itself."""
    return _is_token(name) and not _is_ours(name)


@dataclass(frozen=True, slots=True)
class EgressGuard:
    """The operator's rules, and how to look up a tenant's."""

    rules: EgressRules
    limits: Callable[[str], Awaitable[Sequence[str]]] | None = None
    _admitted: dict[str, tuple[frozenset[Address], UrlTarget]] = field(default_factory=dict, repr=False, compare=False)
    """Targets of URLs that were allowed, with the addresses of this machine that they were judged by."""

    def admit(self, url: str) -> UrlTarget:
        """`Invalid` when the text alone shows that the URL is not allowed."""
        target = read_url(url)
        if not self.rules.allows_port(target.host, target.port):
            raise Invalid("url", f"must use an allowed port, not {target.port}", got=target.port)
        if not self.rules.allows_name(target.host, target.port):
            raise Invalid("url", "must not point to this machine", got=target.host)
        if target.literal is not None and not self.rules.allows_address(target.host, target.port, target.literal):
            raise Invalid("url", "must point to a public address", got=target.host)
        return target

    def examine(self, request: OutgoingRequest) -> UrlTarget:
        """The same for a whole request before it is sent."""
        target = self._target(request.url)
        if request.method not in _METHODS:
            raise EgressRefused("The request's method is not allowed.")
        headers = request.headers
        if not all(map(_is_token, headers)) or _UNSAFE_VALUE.search("".join(headers.values())):
            raise EgressRefused("A header of the request contains characters that are not allowed.")
        if any(map(_is_ours, headers)):
            name = next(filter(_is_ours, headers))
            raise EgressRefused(f"The header {name} cannot be set by the caller.")
        return target

    def _target(self, url: str) -> UrlTarget:
        """The text alone decides, and the rules, which never change, and the addresses of this machine, which may."""
        here = self.rules.here()
        known = self._admitted.get(url)
        if known is not None and known[0] is here:
            return known[1]
        try:
            target = self.admit(url)
        except Invalid as refusal:
            raise EgressRefused(f"The URL {refusal.message}.") from None
        if len(self._admitted) >= _MOST_ADMITTED:
            self._admitted.clear()
        self._admitted[url] = here, target
        return target

    async def limits_of(self, tenant_id: str, target: UrlTarget) -> TenantTargets:
        """The tenant's own list; refuses when the target is not on it. A list that cannot be parsed allows nothing."""
        if self.limits is None:
            return TenantTargets()
        try:
            limits = TenantTargets.read(await self.limits(tenant_id))
        except Invalid:
            raise EgressRefused("The tenant's list of allowed targets cannot be read.") from None
        if limits.exclude(target.host, target.port, target.literal):
            raise EgressRefused("The target is not on the tenant's list of allowed targets.")
        return limits

    async def addresses(
        self, target: UrlTarget, tenant_id: str, limits: TenantTargets, resolve: Resolve
    ) -> list[Address]:
        """Every address of the target; all must be allowed: one bad address among good ones makes the name unsafe.

        The addresses appear in the operator's log alone.
        """
        if target.literal is not None:
            return [target.literal]
        try:
            addresses = [ip_address(text) for text in await resolve(target.host, tenant_id)]
        except (OSError, ValueError) as error:
            raise _unknown(target.host, error) from None
        for address in addresses:
            if not (
                self.rules.allows_address(target.host, target.port, address)
                and limits.include(target.host, target.port, address)
            ):
                log.warning(
                    "a name resolves to an address that is not allowed",
                    action="egress_refused",
                    tenant_id=tenant_id,
                    host=target.host,
                    address=str(address),
                )
                detail = f"{target.host} resolves to {address}, which may not be called; see FOLIOT_EGRESS_ALLOW"
                raise Unreachable("address_refused", detail)
        if not addresses:
            raise _unknown(target.host)
        return addresses

    async def route(self, url: str, tenant_id: str, resolve: Resolve) -> ProxyRoute:
        """An upstream proxy, checked like a target; the tenant's own list is about targets and not about proxies."""
        try:
            proxy = UpstreamProxy.read(url)
            self.admit(str(proxy.target.url))
        except Invalid as refusal:
            raise EgressRefused(f"The upstream proxy {refusal.message}.") from None
        try:
            addresses = await self.addresses(proxy.target, tenant_id, TenantTargets(), resolve)
        except Unreachable as failure:
            raise UpstreamFailed(failure.detail) from None
        return ProxyRoute(proxy, addresses[0])


def _unknown(host: str, error: Exception | None = None) -> Unreachable:
    if isinstance(error, socket.gaierror) and error.errno in {socket.EAI_AGAIN, socket.EAI_FAIL}:
        return Unreachable("dns_failed", f"DNS: the name server does not answer for {host}")
    return Unreachable("dns_failed", f"DNS: no such host {host}")
