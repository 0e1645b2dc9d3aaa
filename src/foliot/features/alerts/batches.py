"""Decides which deliveries of a rule are one message: each its own, a storm together, and what may have been sent as
it was."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.db.database import Transaction
from foliot.features.alerts.channels.message import Message
from foliot.features.alerts.model.alert import DELIVERY, MINUTE, STORM, Alert, Delivery, DeliveryEvent
from foliot.features.alerts.model.channel import INCIDENT_KINDS, Channel
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.channels import SqlChannels
from foliot.features.alerts.sql.deliveries import ClaimedDelivery, PendingDelivery, SqlDeliveries
from foliot.features.alerts.sql.rules import SqlAlertRules


@dataclass(frozen=True, slots=True)
class MessageBatches:
    """What is sent now: a storm that is claimed already, and the ids of other messages, claimed one after the other."""

    storm: Sequence[ClaimedDelivery] = ()
    others: Sequence[Sequence[str]] = field(default_factory=list)


async def batches_of(
    tx: Transaction, ready: Sequence[Delivery], rule_id: str, now: datetime, lease: timedelta
) -> MessageBatches:
    """The messages of a rule and event for a channel, of which these are ready; what must wait is postponed."""
    channel_id, event = ready[0].channel_id, ready[0].event
    # Locked, so that two processes do not each send the message of a storm.
    kind = await SqlChannels(tx).lock_kind(channel_id)
    # Of a storm, the first are ready while the others still gather: they are one message all the same.
    pending = await SqlDeliveries(tx).pending_of(rule_id, channel_id, event, now)
    rule = (await SqlAlertRules(tx).several([rule_id])).get(rule_id)
    quiet = None if rule is None or rule.settings.quiet is None else rule.settings.quiet.ends(now)
    if quiet is not None:
        await SqlDeliveries(tx).postpone([each.id for each in pending], quiet)
        return MessageBatches()
    repeats = _repeats(pending)
    fresh = [each for each in pending if each.token is None]
    closing: list[list[str]] = []
    if event is DeliveryEvent.RESOLVED and kind in INCIDENT_KINDS:
        # Each incident is closed by a message of its own, however many there are.
        alone, _ = await SqlDeliveries(tx).reported(channel_id, [each.alert_id for each in fresh])
        closing = [[each.id] for each in fresh if each.alert_id in alone]
        fresh = [each for each in fresh if each.alert_id not in alone]
    ids = {each.id for each in ready}
    sent, last = await SqlDeliveries(tx).sent_since(channel_id, rule_id, now - MINUTE)
    sending = len(repeats) + await SqlDeliveries(tx).being_sent(channel_id, rule_id, now)
    others = [*repeats, *closing]
    if not fresh:
        return MessageBatches(others=others)
    # What follows a storm is one message a minute too, however few there are.
    storm = await SqlDeliveries(tx).last_storm(channel_id, rule_id, now - 2 * MINUTE)
    if storm is None and len(fresh) + sent + sending <= STORM:
        return MessageBatches(others=[*others, *([each.id] for each in fresh if each.id in ids)])
    if sending or last is not None:
        # This minute has its messages: the rest is one more when the minute is over.
        await SqlDeliveries(tx).postpone([each.id for each in fresh], (now if last is None else last) + MINUTE)
        return MessageBatches(others=others)
    return MessageBatches(await SqlDeliveries(tx).claim([each.id for each in fresh], lease, now), others)


def _repeats(pending: Sequence[PendingDelivery]) -> list[list[str]]:
    """What a process that died may have sent is sent again as it was, under the same id: receivers recognise it."""
    together: dict[str, list[str]] = {}
    for each in pending:
        if each.token is not None:
            together.setdefault(each.token, []).append(each.id)
    return list(together.values())


def message_id(claimed: Sequence[ClaimedDelivery]) -> str:
    """The same for every attempt to send the same deliveries, and another when others are among them."""
    ids = [each.delivery.id for each in claimed]
    if len(ids) == 1:
        return ids[0]
    return f"{DELIVERY}_{hashlib.sha256(' '.join(ids).encode()).hexdigest()[:32]}"


async def incidents_of(tx: Transaction, message: Message, channel: Channel, rule_id: str | None) -> list[Message]:
    """The message for each incident that it is about: that of one alert, or that of the storms of a rule.

    The incident of the storms ends when no alert is open that was part of one.
    """
    alerts = message.alerts
    if channel.kind not in INCIDENT_KINDS or not alerts or rule_id is None:
        return [message]
    if message.event is not DeliveryEvent.RESOLVED:
        return [message.about(alerts, alerts[0].id if len(alerts) == 1 else rule_id)]
    alone, together = await SqlDeliveries(tx).reported(channel.id, [alert.id for alert in alerts])
    messages = [message.about([alert], alert.id) for alert in alerts if alert.id in alone]
    stormy: list[Alert] = [alert for alert in alerts if alert.id in together or alert.id not in alone]
    if stormy and (together or len(alerts) > 1):
        standing = await SqlAlerts(tx).is_storm_open(rule_id, channel.id)
        messages.append(message.about(stormy, rule_id, ends=not standing))
    return messages or [message.about(alerts, alerts[0].id)]
