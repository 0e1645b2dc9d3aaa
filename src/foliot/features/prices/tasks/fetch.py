"""Fetches one product page politely and extracts its price."""

from __future__ import annotations

from decimal import Decimal

from foliot.features.fetching.model import FetchFailure, FetchRequest
from foliot.features.pipelines.model import IsolatedCall, PoliteFetcher, Unreadable
from foliot.pages.price import FoundPrice, price_on

LARGEST = 5 * 1024 * 1024


class NoPrice(Exception):
    """The page gave no price; the message says why."""


async def visit(fetcher: PoliteFetcher, apart: IsolatedCall, request: FetchRequest, selectors: object) -> FoundPrice:
    """The price on the product's page, extracted in a separate process; `NoPrice` otherwise."""
    page = await fetcher.fetch(request)
    if isinstance(page, FetchFailure):
        raise NoPrice(page.words)
    if page.status != 200:
        raise NoPrice(f"the shop answered {page.status}")
    if page.truncated:
        raise NoPrice(f"its page has more than {LARGEST // 1024 // 1024} MiB")
    wanted = {"content_type": page.content_type, "selectors": selectors}
    try:
        found = await apart(price_on, page.content, wanted, request.tenant_id)
    except Unreadable as why:
        raise NoPrice(f"its page cannot be read: {why}") from None
    if found is None:
        raise NoPrice("no price was found on its page: give `selectors` that show where it is")
    return FoundPrice(Decimal(found["price"]), found["currency"], found["source"])
