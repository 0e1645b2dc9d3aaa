"""The history of prices, as it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceObservation:
    """What one visit found: the price of a product at a competitor."""

    tenant_id: str
    competitor: str
    product: str
    run_id: str
    at: datetime
    price: Decimal
    currency: str
    """As the page says it: an ISO code where it names one, else its sign; empty when it says nothing."""
    url: str
    source: str
    """How it was found: json_ld, microdata, open_graph, selector or service."""
