"""Fetches one product page through egress and extracts its price."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from urllib.parse import urljoin

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest, OutgoingResponse
from foliot.features.pipelines.model import IsolatedCall, Unreadable
from foliot.features.prices.tasks.products import WatchedProduct
from foliot.features.tasks.model.context import TaskContext
from foliot.pages.price import FoundPrice, price_on

LARGEST = 5 * 1024 * 1024
REDIRECTS = 3
_MOVED = frozenset({301, 302, 303, 307, 308})
HEADERS = {
    "User-Agent": f"Foliot/{__version__}",
    "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1",
}


class NoPrice(Exception):
    """The page gave no price; the message says why."""


async def visit(
    egress: Egress, apart: IsolatedCall, product: WatchedProduct, ctx: TaskContext, timeout: timedelta
) -> FoundPrice:
    """The price on the product's page, extracted in a separate process; `NoPrice` otherwise."""
    reply = await _get(egress, product.url, ctx, timeout)
    if reply.truncated:
        raise NoPrice(f"its page has more than {LARGEST // 1024 // 1024} MiB")
    wanted = {"content_type": _header(reply, "content-type"), "selectors": product.selectors}
    try:
        found = await apart(price_on, reply.body, wanted, ctx.tenant_id)
    except Unreadable as why:
        raise NoPrice(f"its page cannot be read: {why}") from None
    if found is None:
        raise NoPrice("no price was found on its page: give `selectors` that show where it is")
    return FoundPrice(Decimal(found["price"]), found["currency"], found["source"])


async def _get(egress: Egress, url: str, ctx: TaskContext, timeout: timedelta) -> OutgoingResponse:
    """Follows redirects; the SSRF guard checks each request like the first."""
    for _ in range(REDIRECTS + 1):
        request = OutgoingRequest(
            method="GET",
            url=url,
            headers=HEADERS,
            timeout=timeout,
            keep=LARGEST,
            most=LARGEST,
            tenant_id=ctx.tenant_id,
        )
        try:
            reply = await egress.send(request)
        except EgressRefused as refused:
            raise NoPrice(f"its address may not be called: {refused}") from None
        except EgressFailed as failed:
            raise NoPrice(failed.message) from None
        if reply.status not in _MOVED:
            if reply.status != 200:
                raise NoPrice(f"the shop answered {reply.status}")
            return reply
        url = urljoin(url, _header(reply, "location"))
    raise NoPrice(f"its address leads on more than {REDIRECTS} times")


def _header(reply: OutgoingResponse, name: str) -> str:
    return next((value for key, value in reply.headers.items() if key.lower() == name), "")
