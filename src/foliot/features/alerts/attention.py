"""Channels that fail, as entries of what needs attention; and the numbers of alerts for the metrics."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.core.access import Caller, Thing, Verb, may
from foliot.db.database import Transaction
from foliot.features.alerts.sql.channels import SqlChannels
from foliot.features.alerts.sql.deliveries import SqlDeliveries
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind, AttentionRequest, Severity


async def alert_numbers(tx: Transaction) -> dict[str, dict[str, int]]:
    """What the metrics report of alerts and of messages that wait, over all tenants."""
    return await SqlDeliveries(tx).numbers()


async def failing_channels(tx: Transaction, caller: Caller) -> Sequence[AttentionEntry]:
    """Those whose last message was given up: the tenant's other channels got it instead. A tenant has at most 50."""
    if not may(caller, Verb.READ, Thing.CHANNEL):
        return ()
    return [
        AttentionEntry(
            kind=AttentionKind.CHANNEL,
            key=channel.id,
            severity=Severity.FAILED,
            title=f"Channel {channel.name}",
            reason=f"notifications do not arrive: {channel.last_error or 'the reason was not kept'}",
            since=channel.last_error_at,
            count=channel.failures,
            actions=[
                AttentionRequest("Send a test", "POST", f"/api/channels/{channel.id}/test", (Verb.WRITE, Thing.CHANNEL))
            ],
        )
        for channel in await SqlChannels(tx).failing(caller.tenant_id)
    ]
