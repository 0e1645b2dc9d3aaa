"""Sends deliveries: claims them with a lease, sends each channel's in order, and settles them behind their fence."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby

import structlog

from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database, Transaction
from foliot.engine.loop import rest_until
from foliot.features.alerts.batches import batches_of, incidents_of, message_id
from foliot.features.alerts.channels.http import DeliveryFailed
from foliot.features.alerts.channels.message import LastChange, Message
from foliot.features.alerts.channels.send import ChannelSender
from foliot.features.alerts.judge import delivery
from foliot.features.alerts.model.alert import (
    ALERTS_TOPIC,
    DELIVERY,
    MOST_ATTEMPTS,
    Alert,
    AlertState,
    Delivery,
    DeliveryEvent,
    DeliveryState,
    retry_delay,
)
from foliot.features.alerts.model.channel import Channel
from foliot.features.alerts.model.rule import AlertRuleRecord
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.channels import SqlChannels
from foliot.features.alerts.sql.deliveries import ClaimedDelivery, SqlDeliveries
from foliot.features.alerts.sql.rules import SqlAlertRules
from foliot.wakeups.feed import Feed

LEASE = timedelta(seconds=60)
"""Longer than the longest attempt to send."""
READY = 500
CHANNELS = 128
"""Channels that one process sends to at a time."""
PER_TENANT = 16
UNFINISHED = "Sending it was begun several times and never finished."
DELETED = "the channel or the alert was deleted"

log = structlog.get_logger("foliot.alerts")

LinksOf = Callable[[Message], Mapping[str, str]]
ChangesOf = Callable[[Sequence[Alert]], Awaitable[Mapping[str, LastChange]]]


@dataclass(frozen=True, slots=True)
class DeliveriesFound:
    """How many channels one round began to send to."""

    channels: int
    rest: float


@dataclass(slots=True, kw_only=True)
class AlertSender:
    """One task per channel, so that a channel that hangs delays only itself; safe on every node."""

    clock: Clock
    store: Database
    feed: Feed
    vault: Vault | None
    sender: ChannelSender
    links: LinksOf = field(default=lambda _: {})
    changes: ChangesOf | None = None
    longest_rest: float = 5.0
    name: str = "alert_sender"
    topics: Sequence[str] = (ALERTS_TOPIC,)
    _busy: dict[str, tuple[str, asyncio.Task[None]]] = field(default_factory=dict)
    """Tenant and task of each channel that is sent to."""

    async def run_once(self) -> DeliveriesFound:
        now = self.clock.now()
        async with self.store.glance() as tx:
            reminder = await SqlAlerts(tx).next_reminder()
        reminded = reminder is not None and reminder <= now and await self._remind(now)
        async with self.store.glance() as tx:
            ready = await SqlDeliveries(tx).ready_channels(now, READY, list(self._busy), self._full())
        begun = 0
        for channel_id, tenant_id in ready:
            if len(self._busy) >= CHANNELS or self._of_tenant(tenant_id) >= PER_TENANT:
                continue
            task = asyncio.create_task(self._serve(channel_id), name=f"foliot-alerts-{channel_id}")
            self._busy[channel_id] = (tenant_id, task)
            begun += 1
        async with self.store.glance() as tx:
            following = await SqlDeliveries(tx).next_ready(list(self._busy), self._full())
        rest = rest_until(following, now, self.longest_rest, 0.2)
        return DeliveriesFound(begun, 0.0 if reminded else rest)

    def _full(self) -> list[str]:
        """Tenants that send to as many channels as they may: what waits for their others must not hide the rest."""
        busy = Counter(tenant_id for tenant_id, _ in self._busy.values())
        return [tenant_id for tenant_id, channels in busy.items() if channels >= PER_TENANT]

    def _of_tenant(self, tenant_id: str) -> int:
        return sum(1 for busy, _ in self._busy.values() if busy == tenant_id)

    async def close(self) -> None:
        """Stop sending; what was claimed is sent by another process when its lease is over."""
        tasks = [task for _, task in self._busy.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, channel_id: str) -> None:
        try:
            while await self._send_some(channel_id):
                pass
        except Exception:
            # Not woken: the next regular round tries again.
            log.exception("the deliveries of a channel could not be handled", action="alert_error", channel=channel_id)
            del self._busy[channel_id]
        else:
            del self._busy[channel_id]
            self.feed.wake(ALERTS_TOPIC)

    async def _send_some(self, channel_id: str) -> bool:
        """Send what is ready for this channel; False when there is nothing."""
        now = self.clock.now()
        async with self.store.glance() as tx:
            ready = await SqlDeliveries(tx).ready(now, READY, channel_id)
        if not ready:
            return False
        worked = False
        by_kind = sorted(ready, key=lambda each: (each.rule_id or "", each.event, each.id))
        for (rule_id, _), group in groupby(by_kind, key=lambda each: (each.rule_id, each.event)):
            worked |= await self._send_group(rule_id, list(group))
        return worked

    async def _send_group(self, rule_id: str | None, group: Sequence[Delivery]) -> bool:
        """One message each, or one about all of them when there are too many within a minute."""
        if rule_id is None:
            return await self._claim_and_send([[each.id] for each in group])
        async with self.store.begin() as tx:
            batches = await batches_of(tx, group, rule_id, self.clock.now(), LEASE)
        if batches.storm:
            await self._send(batches.storm)
        return await self._claim_and_send(batches.others) or bool(batches.storm)

    async def _claim_and_send(self, batches: Sequence[Sequence[str]]) -> bool:
        worked = False
        for ids in batches:
            async with self.store.begin() as tx:
                claimed = await SqlDeliveries(tx).claim(ids, LEASE, self.clock.now())
            if claimed:
                worked = True
                await self._send(claimed)
        return worked

    async def _send(self, claimed: Sequence[ClaimedDelivery]) -> None:
        first, now = claimed[0].delivery, self.clock.now()
        channel, rule, alerts = await self._read(claimed)
        if channel is None or (first.alert_id is not None and not alerts):
            async with self.store.begin() as tx:
                fences = [each.fence for each in claimed]
                await SqlDeliveries(tx).settle(fences, DeliveryState.SKIPPED, now, error=DELETED)
            return
        try:
            _refuse_unfinished(first)
            for message in await self._messages(claimed, channel, rule, alerts):
                await self.sender.send(channel, message)
        except DeliveryFailed as failure:
            await self._failed(claimed, channel, failure)
            return
        async with self.store.begin() as tx:
            settled = await SqlDeliveries(tx).settle(
                [each.fence for each in claimed], DeliveryState.SENT, self.clock.now()
            )
            await SqlChannels(tx).sent([channel.id], self.clock.now())
            if settled:
                delays = [(self.clock.now() - each.delivery.created_at).total_seconds() for each in claimed]
                await SqlDeliveries(tx).count(channel.kind, "sent", delays)
        log.info(
            "a notification was sent",
            action="alert_sent",
            tenant_id=channel.tenant_id,
            channel=channel.id,
            kind=channel.kind.value,
            report=first.event.value,
            alerts=len(claimed),
            settled=settled,
        )
        self.feed.wake(ALERTS_TOPIC)

    async def _read(
        self, claimed: Sequence[ClaimedDelivery]
    ) -> tuple[Channel | None, AlertRuleRecord | None, list[Alert]]:
        first = claimed[0].delivery
        async with self.store.glance() as tx:
            found = await SqlChannels(tx).several([first.channel_id], self.vault)
            ids = [each.delivery.alert_id for each in claimed if each.delivery.alert_id is not None]
            known = await SqlAlerts(tx).several(ids) if ids else {}
            rule = None if first.rule_id is None else await SqlAlertRules(tx).get(first.tenant_id, first.rule_id)
        return found.get(first.channel_id), rule, [known[each] for each in ids if each in known]

    async def _messages(
        self,
        claimed: Sequence[ClaimedDelivery],
        channel: Channel,
        rule: AlertRuleRecord | None,
        alerts: Sequence[Alert],
    ) -> list[Message]:
        """One message, or one for each incident that it closes."""
        first = claimed[0].delivery
        changes = {} if self.changes is None or len(alerts) != 1 else await self.changes(alerts)
        message = Message(
            id=message_id(claimed),
            event=first.event,
            alerts=alerts,
            rule_name="" if rule is None else rule.settings.name,
            now=self.clock.now(),
            changes=changes,
        )
        async with self.store.glance() as tx:
            messages = await incidents_of(tx, message, channel, first.rule_id)
        return [each.linked(self.links(each)) for each in messages]

    async def _failed(self, claimed: Sequence[ClaimedDelivery], channel: Channel, failure: DeliveryFailed) -> None:
        """Try again later; after the last attempt, or when trying again would not help, use the tenant's others."""
        now, first = self.clock.now(), claimed[0].delivery
        over = failure.permanent or first.attempts >= MOST_ATTEMPTS
        retry_at = None if over else now + retry_delay(first.attempts, failure.retry_after)
        state = DeliveryState.DEAD if over else DeliveryState.PENDING
        async with self.store.begin() as tx:
            fences = [each.fence for each in claimed]
            if await SqlDeliveries(tx).settle(fences, state, now, error=failure.reason, retry_at=retry_at):
                await SqlChannels(tx).failed(channel.id, failure.reason, now, for_good=over)
                await SqlDeliveries(tx).count(channel.kind, "dead" if over else "retried")
                if over and first.alert_id is not None and first.instead_of is None:
                    await self._stand_in(tx, claimed, channel, now)
        log.warning(
            "a notification could not be sent",
            action="alert_failed",
            tenant_id=channel.tenant_id,
            channel=channel.id,
            kind=channel.kind.value,
            error=failure.reason,
            attempts=first.attempts,
            final=over,
        )
        self.feed.wake(ALERTS_TOPIC)

    async def _stand_in(
        self, tx: Transaction, claimed: Sequence[ClaimedDelivery], channel: Channel, now: datetime
    ) -> None:
        """The tenant's other channels get the message, unless they have it already."""
        others = [each.id for each in await SqlChannels(tx).of_tenant(channel.tenant_id) if not each.failing]
        ids = [each.delivery.alert_id for each in claimed if each.delivery.alert_id is not None]
        told = await SqlDeliveries(tx).channels_told(ids)
        new = [
            replace(
                each.delivery, id=new_id(DELIVERY), channel_id=other, state=DeliveryState.PENDING, attempts=0,
                ready_at=now, created_at=now, error=None, instead_of=channel.id,
            )
            for each in claimed
            for other in others
            if other != channel.id and other not in told.get(each.delivery.alert_id or "", ())
        ]  # fmt: skip
        if new:
            await SqlDeliveries(tx).add(new)

    async def _remind(self, now: datetime) -> bool:
        """Add the reminders that are due, each in the transaction that plans the next."""
        async with self.store.begin() as tx:
            due = await SqlAlerts(tx).due_reminders(now, READY)
            if not due:
                return False
            rules = await SqlAlertRules(tx).several({alert.rule_id for alert in due})
            moments: dict[str, datetime | None] = {}
            new: list[Delivery] = []
            for alert in due:
                rule = rules.get(alert.rule_id)
                every = None if rule is None else rule.settings.remind_every
                moments[alert.id] = None if every is None else now + every
                if rule is not None and rule.settings.enabled and alert.state is AlertState.OPEN:
                    new += [delivery(alert, channel_id, DeliveryEvent.REMINDED, now) for channel_id in rule.settings.to]
            await SqlAlerts(tx).remind_again(moments)
            if new:
                # One that still waits, for the end of quiet hours or for its channel, says the same.
                await SqlDeliveries(tx).skip([each.alert_id for each in new if each.alert_id], DeliveryEvent.REMINDED)
                await SqlDeliveries(tx).add(new)
        return True


def _refuse_unfinished(delivery: Delivery) -> None:
    """`DeliveryFailed` for one whose senders die or fail unexpectedly, again and again."""
    if delivery.attempts > MOST_ATTEMPTS:
        raise DeliveryFailed(UNFINISHED, permanent=True)
