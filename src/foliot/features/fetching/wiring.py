"""Builds the fetcher of a process, and the actor that allots its turns at hosts."""

from __future__ import annotations

from datetime import timedelta

from foliot.config.settings import Settings
from foliot.core.egress import Egress
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.fetching.actor import TurnAllocator
from foliot.features.fetching.fetcher import Fetcher, KeepPage, PageFetcher
from foliot.features.fetching.model import Politeness
from foliot.features.fetching.parts import FetchParts
from foliot.features.fetching.sql.turns import HostUse
from foliot.wakeups.feed import Feed


def build_fetching(  # noqa: PLR0913, PLR0917 -- one argument for each part
    settings: Settings,
    store: Database,
    feed: Feed,
    clock: Clock,
    egress: Egress,
    use: HostUse,
    keeper: KeepPage | None = None,
) -> FetchParts:
    """`use` is how articles use hosts: they claim their turns with their rows."""
    rate = settings.host_rate
    manners = Politeness(
        interval=timedelta(seconds=1 / rate) if rate else timedelta(), together=settings.host_concurrency
    )
    pages = PageFetcher(egress=egress, timeout=timedelta(seconds=settings.scrape_timeout))
    turns = TurnAllocator(clock=clock, store=store, feed=feed, holder=new_id("n"), use=use, manners=manners)
    return FetchParts(pages, Fetcher(pages=pages, clock=clock, turns=turns, keeper=keeper), turns, manners)
