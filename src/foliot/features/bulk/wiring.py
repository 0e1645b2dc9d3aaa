"""Builds the runner of bulk actions."""

from __future__ import annotations

import os
import socket

from foliot.commands.envelope import UseCases
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.bulk.actor import BulkRunner
from foliot.features.bulk.usecases import BulkItemActions
from foliot.wakeups.feed import Feed


def build_bulk_runner(store: Database, clock: Clock, feed: Feed, usecases: UseCases) -> BulkRunner:
    """One for each process that fires schedules; each bulk action is leased by one of them."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{new_id('h')[-6:]}"
    return BulkRunner(clock=clock, store=store, feed=feed, actions=usecases[BulkItemActions], holder=holder)
