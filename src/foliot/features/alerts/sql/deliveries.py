"""Rows of deliveries: claimed with a lease, sent, and settled behind a fencing token."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, update

from foliot.core.histogram import DURATION_BUCKETS, Histogram
from foliot.core.ids import new_id
from foliot.db.database import Statements
from foliot.engine.model.run import Fence
from foliot.engine.sql import metric_counters
from foliot.engine.sql.leases import Leases, until
from foliot.features.alerts.model.alert import GATHER, Delivery, DeliveryEvent, DeliveryState, clipped
from foliot.features.alerts.model.channel import ChannelKind
from foliot.features.alerts.tables import alerts, channels, deliveries


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery that this process holds, and its fence."""

    delivery: Delivery
    fence: Fence


@dataclass(frozen=True, slots=True)
class PendingDelivery:
    """A delivery that waits; `token` is that of the process that began to send it and died."""

    id: str
    alert_id: str
    token: str | None


@dataclass(frozen=True, slots=True)
class SqlDeliveries(Statements):
    """Reads and writes deliveries."""

    async def add(self, new: Sequence[Delivery]) -> None:
        columns: dict[str, list[Any]] = {
            "id": [each.id for each in new],
            "tenant_id": [each.tenant_id for each in new],
            "alert_id": [each.alert_id for each in new],
            "rule_id": [each.rule_id for each in new],
            "channel_id": [each.channel_id for each in new],
            "event": [each.event.value for each in new],
            "state": [each.state.value for each in new],
            "ready_at": [each.ready_at for each in new],
            "created_at": [each.created_at for each in new],
            "instead_of": [each.instead_of for each in new],
        }
        await self.dialect.insert(self.conn, deliveries, columns)

    async def channels_told(self, alert_ids: Collection[str]) -> dict[str, set[str]]:
        """The channels that were notified of each alert, or will be."""
        query = select(deliveries.c.alert_id, deliveries.c.channel_id).where(
            self.dialect.among(deliveries.c.alert_id, alert_ids), deliveries.c.state != DeliveryState.SKIPPED
        )
        told: dict[str, set[str]] = {}
        for row in await self.conn.execute(query.distinct()):
            told.setdefault(row.alert_id, set()).add(row.channel_id)
        return told

    async def ready(self, now: datetime, limit: int, channel_id: str) -> list[Delivery]:
        """Deliveries to a channel that may be sent now, oldest first.

        A message waits for the earlier ones of its alert and channel.
        """
        mine = (deliveries.c.channel_id == channel_id, deliveries.c.ready_at <= now, self._free(now))
        query = select(deliveries).where(*mine, _first_of_its_alert())
        query = query.order_by(deliveries.c.ready_at, deliveries.c.id).limit(limit)
        return [delivery_of(row) for row in await self.conn.execute(query)]

    async def ready_channels(
        self, now: datetime, limit: int, busy: Collection[str], full: Collection[str]
    ) -> list[tuple[str, str]]:
        """Channels with a delivery that may be sent now, and their tenants; those that wait longest first."""
        query = (
            select(deliveries.c.channel_id, deliveries.c.tenant_id)
            .where(deliveries.c.ready_at <= now, self._free(now), _first_of_its_alert(), *self._but(busy, full))
            .group_by(deliveries.c.channel_id, deliveries.c.tenant_id)
            .order_by(func.min(deliveries.c.ready_at), deliveries.c.channel_id)
            .limit(limit)
        )
        return [(row[0], row[1]) for row in await self.conn.execute(query)]

    def _but(self, busy: Collection[str], full: Collection[str]) -> Sequence[ColumnElement[bool]]:
        """All but these channels, and those of these tenants."""
        columns = ((deliveries.c.channel_id, busy), (deliveries.c.tenant_id, full))
        return [~self.dialect.among(column, values) for column, values in columns if values]

    def _free(self, now: datetime) -> Any:
        return or_(deliveries.c.lease_until.is_(None), Leases(self.tx, deliveries).expired(now))

    async def next_ready(self, busy: Collection[str], full: Collection[str]) -> datetime | None:
        query = select(func.min(deliveries.c.ready_at)).where(
            deliveries.c.ready_at.is_not(None), *self._but(busy, full)
        )
        moment: datetime | None = await self.conn.scalar(query)
        return moment

    async def pending_of(
        self, rule_id: str, channel_id: str, event: DeliveryEvent, now: datetime
    ) -> list[PendingDelivery]:
        """Every delivery of this rule, channel and event, those that still wait for others too."""
        wanted = (deliveries.c.id, deliveries.c.alert_id, deliveries.c.token, deliveries.c.lease_until)
        query = select(*wanted).where(
            deliveries.c.rule_id == rule_id,
            deliveries.c.channel_id == channel_id,
            deliveries.c.event == event.value,
            deliveries.c.ready_at <= now + GATHER,
            self._free(now),
            _first_of_its_alert(),
        )
        rows = await self.conn.execute(query.order_by(deliveries.c.id))
        return [PendingDelivery(row.id, row.alert_id, row.token if row.lease_until else None) for row in rows]

    async def being_sent(self, channel_id: str, rule_id: str, now: datetime) -> int:
        """Messages of this rule that other processes are sending to the channel."""
        query = select(func.count(deliveries.c.token.distinct())).where(
            deliveries.c.channel_id == channel_id, deliveries.c.rule_id == rule_id, ~self._free(now)
        )
        return (await self.conn.scalar(query)) or 0

    async def reported(self, channel_id: str, alert_ids: Collection[str]) -> tuple[set[str], set[str]]:
        """Those of these alerts that the channel was notified of alone, and those together with others."""
        query = select(deliveries.c.alert_id, deliveries.c.grouped).where(
            self.dialect.among(deliveries.c.alert_id, alert_ids),
            deliveries.c.channel_id == channel_id,
            deliveries.c.state == DeliveryState.SENT,
            deliveries.c.event.in_([DeliveryEvent.OPENED, DeliveryEvent.REMINDED]),
        )
        rows = (await self.conn.execute(query)).all() if alert_ids else []
        return {row.alert_id for row in rows if row.grouped == 1}, {row.alert_id for row in rows if row.grouped > 1}

    async def sent_since(self, channel_id: str, rule_id: str, since: datetime) -> tuple[int, datetime | None]:
        """Messages of this rule that were sent after this moment: how many, and when the last."""
        # One message about many alerts has one time.
        query = select(func.count(deliveries.c.sent_at.distinct()), func.max(deliveries.c.sent_at)).where(
            deliveries.c.channel_id == channel_id, deliveries.c.sent_at > since, deliveries.c.rule_id == rule_id
        )
        row = (await self.conn.execute(query)).one()
        return row[0], row[1]

    async def last_storm(self, channel_id: str, rule_id: str, since: datetime) -> datetime | None:
        """When the last message about several alerts of this rule was sent, if it was after this moment."""
        query = select(func.max(deliveries.c.sent_at)).where(
            deliveries.c.channel_id == channel_id,
            deliveries.c.sent_at > since,
            deliveries.c.rule_id == rule_id,
            deliveries.c.grouped > 1,
        )
        moment: datetime | None = await self.conn.scalar(query)
        return moment

    async def claim(self, ids: Sequence[str], lease: timedelta, now: datetime) -> list[ClaimedDelivery]:
        """Take these for this process; those that another process took meanwhile are left out."""
        leases, token = Leases(self.tx, deliveries), new_id("tok")
        mine = (
            self.dialect.among(deliveries.c.id, ids),
            deliveries.c.ready_at <= now + GATHER,
            or_(deliveries.c.lease_until.is_(None), leases.expired(now)),
        )
        values = {
            "epoch": deliveries.c.epoch + 1,
            "token": token,
            "attempts": deliveries.c.attempts + 1,
            "lease_until": until(self.dialect, leases.own_clock),
        }
        await self.conn.execute(update(deliveries).where(*mine).values(**values), leases.bound(lease, now))
        query = select(deliveries).where(self.dialect.among(deliveries.c.id, ids), deliveries.c.token == token)
        rows = await self.conn.execute(query.order_by(deliveries.c.id))
        return [ClaimedDelivery(delivery_of(row), Fence(row.id, row.epoch, token)) for row in rows]

    async def settle(
        self,
        fences: Sequence[Fence],
        state: DeliveryState,
        now: datetime,
        *,
        error: str | None = None,
        retry_at: datetime | None = None,
    ) -> int:
        """Write what became of deliveries that this process holds; a lost fence changes nothing."""
        tokens = sorted({fence.token for fence in fences})
        held = and_(
            self.dialect.among(deliveries.c.id, [fence.run_id for fence in fences]),
            self.dialect.among(deliveries.c.token, tokens),
            deliveries.c.ready_at.is_not(None),
        )
        values = {
            "state": state.value,
            "ready_at": retry_at,
            "lease_until": None,
            "sent_at": now if state is DeliveryState.SENT else None,
            "error": None if error is None else clipped(error),
            "grouped": len(fences),
        }
        return (await self.conn.execute(update(deliveries).where(held).values(**values))).rowcount

    async def count(self, kind: ChannelKind, outcome: str, delays: Sequence[float] = ()) -> None:
        """Add to the metrics: one message to a channel of this kind, and the seconds since each alert in it."""
        found = {f"alert_deliveries.{kind}_{outcome}": 1}
        if delays:
            histogram = Histogram(DURATION_BUCKETS)
            histogram.observe_all(delays)
            found |= metric_counters.counters({"alert_delay": histogram.as_dict()})
        await metric_counters.add(self.conn, self.dialect, found)

    async def numbers(self) -> dict[str, dict[str, int]]:
        """For the metrics: alerts that are not resolved by state, and deliveries that wait by kind of channel."""
        standing = select(alerts.c.state, func.count()).where(alerts.c.open_of.is_not(None)).group_by(alerts.c.state)
        waiting = (
            select(channels.c.kind, func.count())
            .join(channels, channels.c.id == deliveries.c.channel_id)
            .where(deliveries.c.ready_at.is_not(None))
            .group_by(channels.c.kind)
        )
        found = {"alerts": standing, "waiting": waiting}
        return {name: {row[0]: row[1] for row in await self.conn.execute(query)} for name, query in found.items()}

    async def postpone(self, ids: Sequence[str], moment: datetime) -> None:
        """Not before this moment: quiet hours, or a storm whose message of this minute has gone."""
        this = (self.dialect.among(deliveries.c.id, ids), deliveries.c.ready_at.is_not(None))
        await self.conn.execute(update(deliveries).where(*this).values(ready_at=moment))

    async def skip(self, alert_ids: Collection[str], event: DeliveryEvent) -> None:
        """Messages that report nothing any more: reminders of alerts that were acknowledged or resolved."""
        this = (
            self.dialect.among(deliveries.c.alert_id, alert_ids),
            deliveries.c.event == event.value,
            deliveries.c.ready_at.is_not(None),
            deliveries.c.lease_until.is_(None),
        )
        values = {"state": DeliveryState.SKIPPED.value, "ready_at": None}
        await self.conn.execute(update(deliveries).where(*this).values(**values))

    async def of_alerts(self, alert_ids: Collection[str]) -> dict[str, list[Delivery]]:
        """Oldest first."""
        query = select(deliveries).where(self.dialect.among(deliveries.c.alert_id, alert_ids)).order_by(deliveries.c.id)
        found: dict[str, list[Delivery]] = {}
        for row in await self.conn.execute(query):
            found.setdefault(row.alert_id, []).append(delivery_of(row))
        return found

    async def last_of(self, channel_ids: Collection[str]) -> dict[str, Delivery]:
        """The newest delivery of each channel that was attempted."""
        newest = (
            select(func.max(deliveries.c.id))
            .where(self.dialect.among(deliveries.c.channel_id, channel_ids), deliveries.c.attempts > 0)
            .group_by(deliveries.c.channel_id)
        )
        rows = await self.conn.execute(select(deliveries).where(deliveries.c.id.in_(newest)))
        return {row.channel_id: delivery_of(row) for row in rows}

    async def get(self, tenant_id: str, delivery_id: str) -> Delivery | None:
        query = select(deliveries).where(deliveries.c.tenant_id == tenant_id, deliveries.c.id == delivery_id)
        row = (await self.conn.execute(query)).first()
        return None if row is None else delivery_of(row)


def _first_of_its_alert() -> ColumnElement[bool]:
    """A message waits for the earlier ones of its alert and channel."""
    earlier = deliveries.alias("earlier")
    waits = select(earlier.c.id).where(
        earlier.c.alert_id == deliveries.c.alert_id,
        earlier.c.channel_id == deliveries.c.channel_id,
        earlier.c.ready_at.is_not(None),
        earlier.c.id < deliveries.c.id,
    )
    return ~waits.exists()


def delivery_of(row: Any) -> Delivery:
    return Delivery(
        id=row.id,
        tenant_id=row.tenant_id,
        alert_id=row.alert_id,
        rule_id=row.rule_id,
        channel_id=row.channel_id,
        event=DeliveryEvent(row.event),
        state=DeliveryState(row.state),
        attempts=row.attempts,
        ready_at=row.ready_at,
        created_at=row.created_at,
        sent_at=row.sent_at,
        error=row.error,
        grouped=row.grouped,
        instead_of=row.instead_of,
    )
