"""Builds what reads stored pages again from the parts of the process."""

from __future__ import annotations

from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.reextractions.actor import PageExtractions
from foliot.features.reextractions.reader import StoredPageReader
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.wakeups.feed import Feed


def build_page_extractions(
    store: Database, clock: Clock, feed: Feed, keeper: PageKeeper, reader: StoredPageReader
) -> PageExtractions:
    """One for each process that runs work; each bulk action is leased by one of them."""
    return PageExtractions(store=store, clock=clock, feed=feed, keeper=keeper, reader=reader)
