"""The demo's web site: a newspaper, a shop and a partner's API. Pure: a path and a time determine the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import Any

SHOP = "corner-shop"
HTML, JSON = "text/html; charset=utf-8", "application/json"

PRODUCTS: Mapping[str, tuple[str, float]] = {
    "mantel-clock": ("Mantel clock, walnut", 129.0),
    "pocket-watch": ("Pocket watch, silver", 84.5),
    "hourglass": ("Hourglass, thirty minutes", 19.9),
    "metronome": ("Metronome, wind-up", 46.0),
    "sundial": ("Sundial, brass", 61.25),
    "cuckoo-clock": ("Cuckoo clock, lime wood", 239.0),
}
"""The shop's products with their base prices."""

ARTICLES: Mapping[str, Mapping[str, Any]] = json.loads(
    (files(__package__ or "foliot.features.demo.model") / "newspaper.json").read_text(encoding="utf-8")
)
"""The newspaper's articles: titles and paragraphs."""


@dataclass(frozen=True, slots=True)
class DemoPage:
    """An HTTP response."""

    status: int
    media_type: str
    body: bytes
    seconds: float = 0.0
    """How long the response is delayed: long enough for a run to be watched."""


def page(path: str, now: datetime) -> DemoPage:
    """The page at this path, relative to the site's base URL."""
    section, _, name = path.strip("/").partition("/")
    if section == "news" and name in ARTICLES:
        return _article(name)
    if section == "shop" and name in PRODUCTS:
        return _product(name, now)
    fixed = _FIXED.get(path.strip("/"))
    return DemoPage(404, HTML, _frame("Not here", "<p>The demo has no such page.</p>")) if fixed is None else fixed(now)


def price(sku: str, now: datetime) -> float:
    """Varies a little from day to day; the same for every request of a day."""
    day = now.toordinal() + len(sku)
    return round(PRODUCTS[sku][1] * (1 + ((day * 37) % 11 - 5) / 100), 2)


def _article(name: str) -> DemoPage:
    title = ARTICLES[name]["title"]
    text = "".join(f"<p>{escape(one)}</p>" for one in ARTICLES[name]["paragraphs"])
    about = '<meta name="author" content="The Daily Demo"><meta property="article:published_time" content="2026-11-02">'
    return DemoPage(200, HTML, _frame(title, f"<article><h1>{escape(title)}</h1>{text}</article>", about))


def _product(sku: str, now: datetime) -> DemoPage:
    name, amount = PRODUCTS[sku][0], price(sku, now)
    offer = {"@type": "Offer", "price": amount, "priceCurrency": "EUR", "availability": "https://schema.org/InStock"}
    said = {"@context": "https://schema.org", "@type": "Product", "name": name, "sku": sku, "offers": offer}
    script = f'<script type="application/ld+json">{json.dumps(said)}</script>'
    return _html(name, f'<p class="price">€ {amount:.2f}</p><p>In stock at the corner shop.</p>', script)


def _list(where: str, named: Mapping[str, str]) -> str:
    lines = (f'<li><a href="{where}/{name}">{escape(text)}</a></li>' for name, text in named.items())
    return f"<ul>{''.join(lines)}</ul>"


def _html(title: str, content: str, head: str = "") -> DemoPage:
    return DemoPage(200, HTML, _frame(title, f"<h1>{escape(title)}</h1>{content}", head))


def _frame(title: str, content: str, head: str = "") -> bytes:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>{head}</head>'
        f"<body>{content}</body></html>"
    ).encode()


def _json(document: object) -> DemoPage:
    return DemoPage(200, JSON, json.dumps(document).encode())


_FIXED: Mapping[str, Callable[[datetime], DemoPage]] = {
    "": lambda _: _html("The Daily Demo", _list("news", {name: one["title"] for name, one in ARTICLES.items()})),
    "shop": lambda _: _html("The corner shop", _list("shop", {sku: name for sku, (name, _) in PRODUCTS.items()})),
    "shop/prices": lambda _: replace(_json({"taken": True, "products": len(PRODUCTS)}), seconds=2.5),
    "shop/stock": lambda now: _json({"stock": {sku: (len(sku) * 7 + now.hour) % 23 for sku in PRODUCTS}}),
    "partner/orders": lambda _: _json({"accepted": True}),
}
