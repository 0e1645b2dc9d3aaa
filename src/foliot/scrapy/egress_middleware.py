"""Scrapy middleware that applies Foliot's egress rules to every request of a spider."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.statscollectors import StatsCollector
from scrapy.utils.misc import load_object
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer

from foliot.core.errors import Invalid
from foliot.net.addresses import Address
from foliot.net.allow import DEFAULT_PORTS, AllowEntry, EgressRules, entries_of
from foliot.net.guard import EgressGuard
from foliot.net.resolver import addresses_of
from foliot.net.url import UrlTarget, host_of, read_url
from foliot.scrapy.operator_settings import flag_of, text_of

Allowed = Callable[[str, int, Address], bool]
"""Whether a host, which resolved to this address, may be called at this port."""


@implementer(IHostnameResolver)
class CheckedResolver:
    """Delegates to another resolver, and passes its answer on when every address is allowed; one bad one is enough.

    A refused name looks like an unknown one, so that a crawl's log is no map of a network. The objects that Twisted
    passes here follow its interfaces, which type checkers cannot read.
    """

    def __init__(self, resolver: Any, allowed: Allowed) -> None:
        self.resolver = resolver
        self.allowed = allowed

    def resolveHostName(  # noqa: N802 -- Twisted's word
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        *others: Any,
        **named: Any,
    ) -> Any:
        checked = _CheckedAddresses(resolutionReceiver, hostName, portNumber, self.allowed)
        return self.resolver.resolveHostName(checked, hostName, portNumber, *others, **named)


@implementer(IResolutionReceiver)
class _CheckedAddresses:
    """Buffers the addresses until all have arrived."""

    def __init__(self, receiver: Any, host: str, port: int, allowed: Allowed) -> None:
        self.receiver = receiver
        self.host = host
        self.port = port
        self.allowed = allowed
        self.addresses: list[Any] = []

    def resolutionBegan(self, resolution: Any) -> None:  # noqa: N802
        self.receiver.resolutionBegan(resolution)

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self.addresses.append(address)

    def resolutionComplete(self) -> None:  # noqa: N802
        if all_allowed(self.allowed, self.host, self.port, [str(one.host) for one in self.addresses]):
            for address in self.addresses:
                self.receiver.addressResolved(address)
        self.receiver.resolutionComplete()


def all_allowed(allowed: Allowed, host: str, port: int, addresses: Sequence[str]) -> bool:
    """A value that is no address is not allowed either."""
    try:
        return all(allowed(host, port, ip_address(address)) for address in addresses)
    except ValueError:
        return False


logger = logging.getLogger(__name__)

# These use the reactor's resolver, and connect to its answer.
_PINNED = ("scrapy.core.downloader.handlers.http11", "scrapy.core.downloader.handlers.http2")
_MOST_SAID = 100
_UNREACHABLE = "its target could not be reached"


class EgressRefusedRequest(IgnoreRequest):
    """The request was refused."""


class EgressMiddleware:
    """Belongs last in `DOWNLOADER_MIDDLEWARES`: nothing after it may change where a request goes."""

    def __init__(self, rules: EgressRules, settings: BaseSettings, stats: StatsCollector | None = None) -> None:
        self.rules = rules
        self.guard = EgressGuard(rules)
        self.reacts = settings.getbool("TWISTED_REACTOR_ENABLED", default=True)
        self.pins = self.reacts and _pins(settings)
        self.stats = stats
        self._resolver: CheckedResolver | None = None
        self._said: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> EgressMiddleware:
        settings = crawler.settings
        rules = EgressRules.read(
            loopback=flag_of(settings, "FOLIOT_EGRESS_LOOPBACK"),
            allow=list(entries_of(text_of(settings, "FOLIOT_EGRESS_ALLOW"))),
            ports=text_of(settings, "FOLIOT_EGRESS_PORTS") or DEFAULT_PORTS,
        )
        return cls(rules, settings, crawler.stats)

    async def process_request(self, request: Request, **_: Any) -> None:
        """Checks every request: links, redirects, robots.txt, files."""
        target = self._admitted(request)
        self._check_proxy(request)
        if self.reacts:
            self._watch_names()
        if not self.pins and target.literal is None:
            await self._look_up(request, target)

    def process_response(self, request: Request, response: Response, **_: Any) -> Response:
        """Checks the peer's address too: a handler may have used another one."""
        address = response.ip_address
        if address is not None and not request.meta.get("proxy"):
            target = read_url(request.url)
            if not self._allows(target.host, target.port, address):
                raise self._refusal(request, _UNREACHABLE)
        return response

    def _admitted(self, request: Request) -> UrlTarget:
        try:
            return self.guard.admit(request.url)
        except Invalid as wrong:
            raise self._refusal(request, f"it {wrong.message}") from None

    def _check_proxy(self, request: Request) -> None:
        """Behind a proxy the destination cannot be checked, so only the operator's own proxy may be used."""
        proxy = request.meta.get("proxy")
        if not proxy:
            return
        try:
            target = read_url(proxy if "://" in str(proxy) else f"http://{proxy}")
        except Invalid:
            target = None
        if target is None or not {AllowEntry(target.host), AllowEntry(target.host, target.port)} & self.rules.places:
            raise self._refusal(request, "it would go through a proxy that FOLIOT_EGRESS_ALLOW does not name")

    def _watch_names(self) -> None:
        """Scrapy installs its resolver when the reactor starts, so ours is installed with the first request."""
        from twisted.internet import reactor

        watched: Any = reactor
        if self._resolver is None or watched.nameResolver is not self._resolver:
            self._resolver = CheckedResolver(watched.nameResolver, self._allows)
            watched.installNameResolver(self._resolver)

    async def _look_up(self, request: Request, target: UrlTarget) -> None:
        """For handlers with a resolver of their own: names are checked, but may resolve differently afterwards."""
        try:
            found = await asyncio.get_running_loop().run_in_executor(None, addresses_of, target.host)
        except OSError:
            found = []
        if not found or not all_allowed(self._allows, target.host, target.port, found):
            raise self._refusal(request, _UNREACHABLE)

    def _allows(self, host: str, port: int, address: Address) -> bool:
        try:
            host = host_of(host)
        except Invalid:
            return False
        if self.rules.allows_address(host, port, address):
            return True
        if host not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(host)
            # Standard error goes to Scrapyd's own log; the crawl's log can be read by the tenant.
            print(f"foliot.scrapy: {host} resolves to {address}, which is not allowed", file=sys.stderr)  # noqa: T201
        return False

    def _refusal(self, request: Request, reason: str) -> EgressRefusedRequest:
        """A refused start URL is an error; a refused link is not."""
        level = logging.WARNING if request.meta.get("depth", 0) else logging.ERROR
        logger.log(level, "Refused %s: %s", request, reason)
        if self.stats is not None:
            self.stats.inc_value("foliot/egress/refused")
        return EgressRefusedRequest(f"Refused: {reason}")


def _pins(settings: BaseSettings) -> bool:
    """Whether the HTTP handlers connect to what the reactor's resolver answers."""
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    return all(load_object(handlers[scheme]).__module__ in _PINNED for scheme in ("http", "https"))
