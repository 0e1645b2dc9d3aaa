"""Finds the price on a product page: structured data first, then visible text."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

from foliot.core.limits import count_tags
from foliot.pages.charset import decoded
from foliot.pages.selectors import Match, select

USUAL = ("#price", ".price .amount", ".product-price", ".price", "[data-price]", "[class*=price]")
"""Selectors where shops usually show their price, when none is given."""

DEEPEST = 40
MOST_DATA = 512 * 1024
"""Maximum characters of structured data; shops write a few thousand."""
MOST_THINGS = 20_000
"""How much of it is examined."""
LONGEST = 200
"""Maximum characters of a text that may be a price; a longer one is prose."""

_PLAIN = re.compile(r"\d{1,15}(\.\d{1,12})?([eE][+-]?\d{1,3})?")
_CODE = re.compile(r"[A-Z]{3}")
_SIGNS = {"€": "EUR", "£": "GBP", "US$": "USD", "zł": "PLN", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY"}


@dataclass(frozen=True, slots=True)
class FoundPrice:
    """A price, and how it was found."""

    price: Decimal
    currency: str
    source: str


def find_price(page: bytes, content_type: str = "", selectors: Sequence[str] = ()) -> FoundPrice | None:
    """The price of the product that this page is about; None when nothing on it can be read as one.

    `TooMuch` when it has more tags than are examined.
    """
    text = decoded(page, content_type)
    count_tags(text)
    tree = _tree(text)
    if tree is None:
        return None
    ways: tuple[Callable[[], FoundPrice | None], ...] = (
        lambda: _json_ld(tree),
        lambda: _microdata(tree),
        lambda: _open_graph(tree),
        lambda: _shown(tree, selectors or USUAL),
    )
    return next((found for way in ways if (found := way()) is not None), None)


def amount(value: object) -> Decimal | None:
    """A machine-readable price: a number, or a text that is one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _sane(str(value))
    if not isinstance(value, str):
        return None
    text = value.strip()
    return _sane(text) if _PLAIN.fullmatch(text) else read_text(text)[0]


def read_text(text: str) -> tuple[Decimal | None, str]:
    """A human-readable price: `1.299,00 €`, `Rs. 1,00,000`; with its currency."""
    text = " ".join(text.split())
    if len(text) > LONGEST:
        return None, ""
    from price_parser import Price

    found = Price.fromstring(text)
    return (None if found.amount is None else _sane(str(found.amount))), currency(found.currency or "")


def currency(text: str) -> str:
    """An ISO code where it is one, else the symbol, truncated."""
    text = text.strip()
    code = _SIGNS.get(text, text)
    return code.upper() if _CODE.fullmatch(code.upper()) else code[:8]


def _sane(text: str) -> Decimal | None:
    try:
        price = Decimal(text)
    except InvalidOperation:
        return None
    if not price.is_finite() or not 0 < price < DEAREST:
        return None
    rounded = round(price, PLACES)
    return rounded if rounded > 0 else None


def _tree(page: str) -> Any:
    # Slow to import, and most processes never parse a page.
    from lxml import etree, html

    try:
        # Without network access and with the parser's limit on depth.
        parser = html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
        return html.document_fromstring(page.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def _json_ld(tree: Any) -> FoundPrice | None:
    for script in tree.xpath("//script[@type='application/ld+json']"):
        text = script.text_content().strip()
        if len(text) > MOST_DATA:
            continue
        try:
            document = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        for offer in _offers(document):
            price = _offered(offer)
            if price is not None:
                return FoundPrice(price, currency(str(_first(offer, "priceCurrency") or "")), "json_ld")
    return None


def _offers(document: object) -> Iterator[Mapping[str, Any]]:
    """Every offer of every product, outermost first; iterative, because the page chooses the depth."""
    waiting: deque[tuple[object, bool, int]] = deque([(document, False, 0)])
    for _ in range(MOST_THINGS):
        if not waiting:
            return
        node, offered, depth = waiting.popleft()
        if depth > DEEPEST:
            continue
        if isinstance(node, list):
            waiting += [(inner, offered, depth + 1) for inner in node[:1000]]
        elif isinstance(node, Mapping):
            if offered or {"Offer", "AggregateOffer"} & _types(node):
                yield node
            waiting += [
                (inner, name == "offers", depth + 1)
                for name, inner in node.items()
                # Related products are not what this page is about.
                if isinstance(inner, Mapping | list)
                and name not in ("isRelatedTo", "isSimilarTo", "isAccessoryOrSparePartFor")
            ]


def _types(node: Mapping[str, Any]) -> set[str]:
    kind = node.get("@type")
    return {str(one).rpartition("/")[2] for one in (kind if isinstance(kind, list) else [kind])}


def _offered(offer: Mapping[str, Any]) -> Decimal | None:
    for name in ("price", "lowPrice"):
        price = amount(offer.get(name))
        if price is not None:
            return price
    return amount(_first(offer, "price"))


def _first(offer: Mapping[str, Any], name: str) -> object:
    """The currency of the offer, or of its price specification."""
    if offer.get(name) is not None:
        return offer[name]
    inner = offer.get("priceSpecification")
    for one in inner if isinstance(inner, list) else [inner]:
        if isinstance(one, Mapping) and one.get(name) is not None:
            found: object = one[name]
            return found
    return None


def _microdata(tree: Any) -> FoundPrice | None:
    for name in ("price", "lowPrice"):
        for element in tree.xpath(f"//*[@itemprop='{name}']"):
            said = element.get("content") or element.get("value")
            price, sign = (amount(said), "") if said else read_text(element.text_content())
            if price is not None:
                scope = element.xpath("ancestor::*[@itemscope][1]")
                around = scope[0] if scope else tree
                named = around.xpath(".//*[@itemprop='priceCurrency']")
                code = (named[0].get("content") or named[0].text_content()) if named else sign
                return FoundPrice(price, currency(code), "microdata")
    return None


def _open_graph(tree: Any) -> FoundPrice | None:
    for kind in ("product:sale_price", "product:price", "og:price"):
        price = amount(_meta(tree, f"{kind}:amount"))
        if price is not None:
            return FoundPrice(price, currency(_meta(tree, f"{kind}:currency") or ""), "open_graph")
    return None


def _meta(tree: Any, name: str) -> str | None:
    found = tree.xpath(f"//meta[@property='{name}' or @name='{name}']/@content")
    return str(found[0]) if found else None


def _shown(tree: Any, selectors: Sequence[str]) -> FoundPrice | None:
    for selector in selectors:
        for match in islice(select(tree, selector), 20):
            price, sign = _price(match)
            if price is not None:
                return FoundPrice(price, sign or _sign(match.element), "selector")
    return None


def _price(match: Match) -> tuple[Decimal | None, str]:
    if match.attribute is not None:
        return amount(match.text), ""
    if match.text is not None:
        return read_text(match.text)
    said = match.element.get("data-price") or match.element.get("content")
    return (amount(said), "") if said else read_text(match.element.text_content())


def _sign(element: Any) -> str:
    return "" if element is None else read_text(element.text_content())[1]


def price_on(body: bytes, content_type: str, selectors: Sequence[str]) -> dict[str, str] | None:
    """`find_price` with a JSON result; for a separate process."""
    found = find_price(body, content_type, selectors)
    return None if found is None else {"price": str(found.price), "currency": found.currency, "source": found.source}


PLACES = 6
"""Decimal places of a price that are kept."""


DEAREST = Decimal(10) ** 12
"""Exclusive upper bound of a price."""
