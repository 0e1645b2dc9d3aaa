"""The Prometheus endpoint, from counts in the store and the nodes' reports. One registry per answer, none global."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Role, Thing, Verb, scope
from foliot.core.errors import Unavailable
from foliot.features.health.usecases import HealthChecks
from foliot.servers.http.permission import bearer_of, identify, permits
from foliot.servers.http.request import Cases

FRESH = 5.0
"""Seconds for which an answer is cached: counting a large table for every scrape would be a load of its own."""

SCRAPER = Caller(" metrics", "metrics", Role.SYSTEM, scopes=frozenset({scope(Verb.READ, Thing.INSTALLATION)}))
"""The caller with `FOLIOT_METRICS_TOKEN`, accepted at this route alone. No token can name its tenant, so its rate
limit is its own."""

PLAIN = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter(tags=["Health"])


async def identify_scraper(request: Request) -> Caller:
    """The caller of this route: by the metrics token, or by the usual credentials."""
    token: str | None = request.app.state.metrics_token
    shown = bearer_of(request)
    if token is not None and shown is not None and hmac.compare_digest(shown.encode(), token.encode()):
        return SCRAPER
    return await identify(request)


@router.get(
    "/metrics",
    dependencies=[permits(HealthChecks.numbers, HealthChecks.silent, by=identify_scraper)],
    response_class=Response,
    summary="Prometheus metrics",
)
async def metrics(request: Request, cases: Cases, caller: Annotated[Caller, Depends(identify_scraper)]) -> Response:
    scrape: MetricsScrape = request.app.state.scrape
    return Response(await scrape.text(cases, caller), media_type=PLAIN)


@dataclass(slots=True)
class MetricsScrape:
    """The last answer, while it is fresh."""

    made: tuple[float, bytes] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def text(self, cases: UseCases, caller: Caller) -> bytes:
        async with self.lock:
            # Importing the Prometheus client is slow, and many installations are never scraped.
            from foliot.features.health.prometheus import expose, expose_standstills

            now = cases[HealthChecks].clock.monotonic()
            if self.made is None or not 0 <= now - self.made[0] < FRESH:
                try:
                    self.made = now, expose(await cases[HealthChecks].numbers(caller), cases[Limiter].refused)
                except Unavailable:
                    if not (known := await cases[HealthChecks].silent(caller)):
                        raise
                    return expose_standstills(known)
            return self.made[1]
