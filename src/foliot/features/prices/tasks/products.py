"""Parameters of the price tasks: the watched products."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field

from foliot.pages.selectors import compiled
from foliot.servers.http.schema import DocumentedModel

MOST_PRODUCTS = 5000


def _selector(text: str) -> str:
    compiled(text)
    return text


def _url(text: str) -> str:
    rule = "must be an http or https URL without user and password"
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        raise ValueError(rule) from None
    if not host or parts.scheme not in ("http", "https") or parts.username is not None:
        raise ValueError(rule)
    return text


Competitor = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.-]+$")]
Selector = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_selector)]


class WatchedProduct(DocumentedModel):
    """One product at one competitor."""

    model_config = ConfigDict(extra="forbid")

    competitor: Competitor
    product: Annotated[str, Field(min_length=1, max_length=200)]
    """Name of the product, the same at every competitor."""
    url: Annotated[str, Field(max_length=2048), AfterValidator(_url)]
    top: bool = False
    """Whether it is one of the top products, to which `top_products_only` restricts a run."""
    selectors: Annotated[list[Selector], Field(max_length=10)] = Field([])
    """Where the page shows its price, for pages without structured data."""


Products = Annotated[list[WatchedProduct], Field(max_length=MOST_PRODUCTS)]


def chosen(products: list[WatchedProduct], competitors: list[str], *, top_only: bool) -> list[WatchedProduct]:
    """The products of these competitors (of all, when none is named), in the order given."""
    return [
        product
        for product in products
        if (not competitors or product.competitor in competitors) and (product.top or not top_only)
    ]


def as_json(products: list[WatchedProduct]) -> list[dict[str, Any]]:
    return [product.model_dump(mode="json", exclude_defaults=True) for product in products]
