"""Builds the fetcher of a process, and the actor that allots its turns at hosts."""

from __future__ import annotations

from datetime import timedelta

from foliot.config.settings import Settings
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.fetching.access import StepSecrets
from foliot.features.fetching.actor import TurnAllocator
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.model import KeepPage
from foliot.features.fetching.page_session import PageSessions
from foliot.features.fetching.parts import FetchParts
from foliot.features.fetching.politeness import Politeness
from foliot.features.fetching.render.build import build_renderer
from foliot.features.fetching.render.memory import RenderMemory
from foliot.features.fetching.sign_in import SignIns
from foliot.features.fetching.sql.turns import HostUse
from foliot.net.client import HttpEgress
from foliot.wakeups.feed import Feed


def build_fetching(  # noqa: PLR0913, PLR0917 -- one argument for each part
    settings: Settings,
    store: Database,
    feed: Feed,
    clock: Clock,
    egress: HttpEgress,
    use: HostUse,
    keeper: KeepPage | None = None,
    *,
    secrets: StepSecrets | None = None,
    sessions: PageSessions | None = None,
) -> FetchParts:
    """`use` is how articles use hosts: they claim their turns with their rows."""
    rate = settings.host_rate
    manners = Politeness(
        interval=timedelta(seconds=1 / rate) if rate else timedelta(), together=settings.host_concurrency
    )
    renderer, memory = build_renderer(settings, egress, secrets, keeper), None
    if renderer is not None:
        memory = RenderMemory(store=store, clock=clock, keep=timedelta(seconds=settings.browser_remember))
    pages = PageFetcher(
        egress=egress,
        timeout=timedelta(seconds=settings.scrape_timeout),
        renderer=renderer,
        memory=memory,
        secrets=secrets,
        sign_ins=None if sessions is None else SignIns(sessions=sessions, renderer=renderer),
    )
    turns = TurnAllocator(clock=clock, store=store, feed=feed, holder=new_id("n"), use=use, manners=manners)
    fetcher = Fetcher(pages=pages, clock=clock, turns=turns, keeper=keeper)
    return FetchParts(pages, fetcher, turns, manners, renderer)
