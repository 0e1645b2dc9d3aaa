"""One observation in the price history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceObservation:
    """The price of a product at a competitor, as one run found it."""

    tenant_id: str
    competitor: str
    product: str
    run_id: str
    at: datetime
    price: Decimal
    currency: str
    """As on the page: an ISO code where it has one, else the symbol; empty when it names none."""
    url: str
    source: str
    """How it was found: json_ld, microdata, open_graph, selector or service."""
