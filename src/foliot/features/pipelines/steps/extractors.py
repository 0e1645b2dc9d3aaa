"""ArticleExtractor and PriceExtractor: extract articles and prices from pages without selectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from pydantic import Field

from foliot.features.pipelines.chain.context import StepContext
from foliot.features.pipelines.chain.transform import Transform
from foliot.features.pipelines.model.definition import Item
from foliot.features.pipelines.model.ports import Unreadable
from foliot.features.pipelines.steps.item_fields import Name, Workers, ahead
from foliot.features.pipelines.steps.parsers import Css, text_of, without

_WHY = {"no_text": "nothing on the page reads like an article", "sign_in": "the page asks for a sign-in"}
_HTML = "text/html; charset=utf-8"


class PageReader(Transform):
    """Base of both extractors: takes the page from a field, and adds the extracted fields."""

    field: Name = "body"
    """Where the page is."""
    keep: bool = False
    """Whether the page stays in the item."""
    concurrency: Workers = 2

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        async def work(item: Item) -> Item | None:
            page = text_of(item, self.field, ctx)
            if page is None:
                return None
            try:
                found = await self.read(page.encode("utf-8", "replace"), item, ctx)
            except Unreadable as wrong:
                ctx.fail(item, f"the page cannot be read: {wrong}", permanent=True)
                return None
            return None if found is None else {**(item if self.keep else without(item, self.field)), **found}

        async with aclosing(ahead(items, work, self.concurrency)) as pages:
            async for made in pages:
                if made is not None:
                    yield made

    @abstractmethod
    async def read(self, page: bytes, item: Item, ctx: StepContext) -> dict[str, Any] | None:
        """The extracted fields; None for a failed item, which is counted."""


class ArticleExtractor(PageReader):
    """Reads the article on a page: `title`, `content`, `author`, `published_at`, `language`, `canonical_url` and
    `image`.
    """

    async def read(self, page: bytes, item: Item, ctx: StepContext) -> dict[str, Any] | None:
        found = await ctx.extract(page, _HTML, str(item.get("url") or ""))
        if "missing" in found:
            ctx.fail(item, _WHY.get(found["missing"], str(found["missing"])), permanent=True)
            return None
        return found


class PriceExtractor(PageReader):
    """Finds the price on a product's page: `price` (a text of digits), `currency` and `price_source`.

    Structured data comes first (JSON-LD, microdata, Open Graph), then the selectors. Where the field is
    a short text and no page, such as `1.299,00 €`, that is read.
    """

    selectors: list[Css] = Field(default_factory=list, max_length=100)

    async def read(self, page: bytes, item: Item, ctx: StepContext) -> dict[str, Any] | None:
        if b"<" in page:
            found = await ctx.apart(ctx.outside.price, page, content_type=_HTML, selectors=self.selectors)
        else:
            amount, currency = ctx.outside.price_text(page.decode())
            found = None if amount is None else {"price": str(amount), "currency": currency, "source": "text"}
        if found is None:
            ctx.fail(item, "no price was found: give `selectors` that show where it is", permanent=True)
            return None
        return {
            "price": _digits(str(found["price"])),
            "currency": found["currency"] or None,
            "price_source": found["source"],
        }


def _digits(price: str) -> str:
    """Without trailing zeros, but with at least two decimal places."""
    whole, _, places = price.partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"
