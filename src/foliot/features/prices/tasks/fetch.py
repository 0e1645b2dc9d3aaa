"""Fetches one product page politely and extracts its price."""

from __future__ import annotations

from decimal import Decimal

from foliot.features.fetching.fetcher import Fetcher
from foliot.features.fetching.model import FetchFailure, FetchRequest, Page
from foliot.features.pipelines.model import IsolatedCall, Unreadable
from foliot.pages.price import FoundPrice, price_on

LARGEST = 5 * 1024 * 1024


class NoPrice(Exception):
    """The page gave no price; the message says why."""


async def visit(fetcher: Fetcher, apart: IsolatedCall, request: FetchRequest, selectors: object) -> FoundPrice:
    """The price on the product's page, extracted in a separate process; `NoPrice` otherwise."""
    page = await fetcher.fetch(request)
    if isinstance(page, FetchFailure):
        raise NoPrice(page.words)
    if page.status != 200:
        raise NoPrice(f"the shop answered {page.status}")
    if page.truncated:
        raise NoPrice(f"its page has more than {LARGEST // 1024 // 1024} MiB")
    found = await _read(page, apart, selectors, request.tenant_id)
    if found is None and page.may_render:
        better = await fetcher.rendered(request)
        if isinstance(better, Page) and better.status == 200 and not better.truncated:
            found = await _read(better, apart, selectors, request.tenant_id)
        await fetcher.learn(request, helped=found is not None)
    if found is None:
        raise NoPrice("no price was found on its page: give `selectors` that find it")
    return found


async def _read(page: Page, apart: IsolatedCall, selectors: object, tenant_id: str) -> FoundPrice | None:
    wanted = {"content_type": page.content_type, "selectors": selectors}
    try:
        found = await apart(price_on, page.content, wanted, tenant_id)
    except Unreadable as why:
        raise NoPrice(f"its page cannot be read: {why}") from None
    return None if found is None else FoundPrice(Decimal(found["price"]), found["currency"], found["source"])
