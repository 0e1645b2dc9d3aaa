"""Builds what visits watched pages from the parts of the process."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.expectations.usecases import DataJudge
from foliot.features.fetching.fetcher import Fetcher
from foliot.features.pipelines.model import IsolatedCall
from foliot.features.watches.action import WatchAction
from foliot.features.watches.model.request import PageGuard
from foliot.features.watches.recorder import VisitRecorder
from foliot.features.watches.visitor import PageVisitor
from foliot.wakeups.feed import Feed


@dataclass(frozen=True, slots=True)
class WatchParts:
    """The action, and what previews visit pages with."""

    action: WatchAction
    visitor: PageVisitor


def build_watches(  # noqa: PLR0913, PLR0917 -- one argument for each part
    store: Database,
    clock: Clock,
    feed: Feed,
    fetcher: Fetcher,
    apart: IsolatedCall,
    guard: PageGuard,
    judge: DataJudge,
) -> WatchParts:
    visitor = PageVisitor(fetcher=fetcher, apart=apart, guard=guard)
    recorder = VisitRecorder(store=store, feed=feed)
    return WatchParts(WatchAction(store=store, clock=clock, visitor=visitor, recorder=recorder, judge=judge), visitor)
