"""A shop of 50 products on loopback whose prices can be changed; each page marks up its price in its own way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from aiohttp import web

PRODUCTS = 50


def _json_ld(price: Decimal) -> str:
    offer = {"@type": "Offer", "price": str(price), "priceCurrency": "EUR"}
    return f'<script type="application/ld+json">{json.dumps({"@type": "Product", "offers": offer})}</script>'


def _microdata(price: Decimal) -> str:
    return f'<b itemprop="price" content="{price}"></b><i itemprop="priceCurrency" content="EUR"></i>'


def _open_graph(price: Decimal) -> str:
    named = "product:price"
    return f'<meta property="{named}:amount" content="{price}"><meta property="{named}:currency" content="EUR">'


def _shown(price: Decimal) -> str:
    return f"<p class='cost'>{price:,.2f} €</p>".replace(",", " ").replace(".", ",")


WAYS = (_json_ld, _microdata, _open_graph, _shown)


@dataclass
class Shop:
    """What it sells, and who came."""

    prices: dict[str, Decimal]
    url: str = ""
    visits: list[str] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    """Products that answer 503."""

    def watched(self, competitor: str = "amazon", **more: Any) -> list[dict[str, Any]]:
        return [
            {
                "competitor": competitor,
                "product": name,
                "url": f"{self.url}/{competitor}/{name}",
                "selectors": [".cost"],
                "top": number < 5,
                **more,
            }
            for number, name in enumerate(self.prices)
        ]

    async def page(self, request: web.Request) -> web.Response:
        name = request.match_info["product"]
        self.visits.append(name)
        if name in self.closed:
            return web.Response(status=503)
        number = list(self.prices).index(name)
        if number % 7 == 6 and "moved" not in request.query:
            return web.Response(status=302, headers={"Location": f"{request.path}?moved=1"})
        body = WAYS[number % len(WAYS)](self.prices[name])
        return web.Response(text=f"<html><body><h1>{name}</h1>{body}</body></html>", content_type="text/html")


@asynccontextmanager
async def open_shop() -> AsyncIterator[Shop]:
    shop = Shop({f"product-{number}": Decimal(1000 + number * 10) / 10 for number in range(PRODUCTS)})
    app = web.Application()
    app.router.add_get("/{competitor}/{product}", shop.page)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    shop.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield shop
    finally:
        await runner.cleanup()
