"""Retention of rows other than runs: what the janitor deletes of each feature."""

from __future__ import annotations

from datetime import datetime, timedelta

from foliot.commands.idempotency import SqlIdempotencyKeys
from foliot.db.database import Transaction
from foliot.engine.extension import Upkeep
from foliot.engine.model.views import KEYS_KEPT
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.api_keys.sql import SqlKeys
from foliot.features.articles.sql.articles import SqlArticles
from foliot.features.bulk.sql import SqlBulks
from foliot.features.crawls.sql import forget_expired
from foliot.features.fetching.sql.rendered_hosts import SqlRenderedHosts
from foliot.features.monitors.sql import SqlMonitors, SqlPings
from foliot.features.queues.model import HISTORY_KEPT
from foliot.features.queues.sql import SqlQueueHistory
from foliot.features.reextractions.sql import SqlPageVersions
from foliot.features.watches.sql.changes import SqlChanges
from foliot.features.watches.sql.pages import SqlVersions

BATCH = 500


async def requests(tx: Transaction, now: datetime, _retention: timedelta | None) -> None:
    """Idempotency keys, and crawl requests whose time to live is over."""
    await SqlIdempotencyKeys(tx).prune(now - KEYS_KEPT, BATCH)
    await forget_expired(tx.conn, tx.dialect, now - KEYS_KEPT, BATCH)


async def learnt(tx: Transaction, now: datetime, _retention: timedelta | None) -> None:
    """Hosts that no longer count as needing a browser."""
    await SqlRenderedHosts(tx).prune(now, BATCH)


async def sampled(tx: Transaction, now: datetime, _retention: timedelta | None) -> None:
    """Samples of queues that no chart shows any more."""
    await SqlQueueHistory(tx).prune(now - HISTORY_KEPT, BATCH)


async def sessions(tx: Transaction, now: datetime, _retention: timedelta | None) -> None:
    """Tickets and sessions that have expired."""
    await SqlKeys(tx).prune_tickets(now, BATCH)
    await SqlKeys(tx).prune_sessions(now, BATCH)


async def watched(tx: Transaction, now: datetime, _retention: timedelta | None) -> None:
    """Versions and changes of watched pages, as long as each watch says."""
    await SqlChanges(tx).prune(now, BATCH)
    await SqlVersions(tx).prune(now, BATCH)


async def reread(tx: Transaction, now: datetime, _retention: timedelta | None) -> None:
    """Versions of stored pages, as long as each reading said."""
    await SqlPageVersions(tx).prune(now, BATCH)


async def history(tx: Transaction, now: datetime, retention: timedelta | None) -> None:
    """Articles that no job refers to any more, bulk actions, resolved alerts and pings, as long as runs are kept."""
    if retention is not None:
        await SqlAlerts(tx).prune(now - retention, BATCH)
        await SqlArticles(tx).prune(now - retention, BATCH)
        await SqlBulks(tx).prune(now - retention, 1)
        await SqlPings(tx).prune(now - retention, BATCH)
        await SqlMonitors(tx).prune(now - retention)


UPKEEP: tuple[Upkeep, ...] = (requests, sessions, learnt, sampled, watched, reread, history)
