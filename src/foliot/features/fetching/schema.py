"""Answers about hosts."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared
from foliot.features.fetching.usecases import HostView, SpiderTurns


@declared
class HostWaiting:
    """Requests of one tenant that wait for a turn at the host."""

    tenant_id: str
    requests: int


@declared
class HostStatus:
    """A host: its limits, when it may be requested next, and what waits for it."""

    host: str
    rate: float | None
    """Requests per second, as set or by default; null: no limit."""
    concurrency: int
    """Requests at once."""
    crawl_delay: float | None
    """Seconds between requests that its robots.txt asks for."""
    interval: float
    """Seconds between requests now: longer than the rate says after 429, 503 and with a crawl delay."""
    slowed: bool
    """Its answers have made the interval longer."""
    robots: str
    """`respect`, or `ignore` where that was set."""
    render: str | None
    """Whether a browser renders its pages, where that was set."""
    headers: dict[str, str]
    """Headers of the operator's own requests; secrets by name. Other tenants see none."""
    proxy: str | None
    """Proxy of the operator's own requests. Other tenants see none."""
    own_rate: float | None
    """The slower rate that this tenant set for itself."""
    next_at: datetime | None
    """When the next request may start; null: now."""
    paused_until: datetime | None
    reason: str | None
    """The answer that caused the pause."""
    waiting: int
    """Requests that wait for a turn: of this tenant, or for the operator of all."""
    waiting_by: list[HostWaiting]

    @classmethod
    def of(cls, view: HostView) -> HostStatus:
        interval, crawl_delay = view.manners.interval.total_seconds(), view.row.crawl_delay.total_seconds()
        return cls(
            host=view.row.host,
            rate=round(1 / interval, 6) if interval else None,
            concurrency=view.manners.together,
            crawl_delay=crawl_delay or None,
            interval=view.interval.total_seconds(),
            slowed=bool(view.row.interval),
            robots=view.settings.robots or "respect",
            render=view.settings.render,
            headers=dict(view.settings.access.headers),
            proxy=view.settings.access.proxy,
            own_rate=None if view.own_rate is None else round(view.own_rate, 6),
            next_at=view.next_at,
            paused_until=view.paused_until,
            reason=view.reason,
            waiting=sum(view.waiting.values()),
            waiting_by=[HostWaiting(tenant_id=name, requests=count) for name, count in sorted(view.waiting.items())],
        )


@declared
class HostPage:
    """Hosts by name."""

    items: list[HostStatus]
    next_cursor: str | None


@declared
class TurnBlock:
    """Turns of a spider at a host; times are seconds from the answer on, so that clocks need not agree."""

    starts: list[float]
    late: float | None
    """How many seconds after its start a request may still start."""
    retry_in: float
    """When to ask again."""
    robots_due: bool
    """The next request should be for robots.txt."""
    took: float
    """Seconds that this answer took to make: the rest of what the spider waited was spent on the way."""

    @classmethod
    def of(cls, turns: SpiderTurns) -> TurnBlock:
        return cls(
            starts=list(turns.starts),
            late=turns.late,
            retry_in=turns.retry_in,
            robots_due=turns.robots_due,
            took=turns.took,
        )
