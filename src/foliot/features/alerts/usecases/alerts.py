"""Use cases of alerts: read, acknowledge, snooze and resolve them."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query, unchecked_command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Caller, Interface, Role, Thing, Verb
from foliot.core.declaration import read
from foliot.core.errors import Conflict, NotFound
from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database, Transaction
from foliot.engine.model.views import PageRequest
from foliot.features.alerts.judge import resolve
from foliot.features.alerts.model.alert import (
    ALERTS_TOPIC,
    Alert,
    AlertState,
    AlertView,
    DeliveryEvent,
)
from foliot.features.alerts.model.alert_sort import AlertSort
from foliot.features.alerts.model.rule import SnoozeRequest
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.deliveries import SqlDeliveries
from foliot.wakeups.feed import Feed

ACK = "alert-ack"
"""Purpose of the digest in links that acknowledge an alert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerts:
    """Read, acknowledge, snooze and resolve alerts."""

    store: Database
    clock: Clock
    feed: Feed
    vault: Vault | None = None

    @query(Verb.READ, Thing.ALERT)
    async def list(
        self,
        ctx: QueryContext,
        states: Collection[AlertState],
        page: PageRequest,
        subject_id: str | None = None,
        order: AlertSort | None = None,
    ) -> Sequence[AlertView]:
        """Newest first, or in another order."""
        async with ctx.read() as tx:
            return await _views(tx, await SqlAlerts(tx).find(ctx.tenant_id, states, page, subject_id, order))

    @query(Verb.READ, Thing.ALERT)
    async def counts(self, ctx: QueryContext) -> Mapping[str, int]:
        """Alerts that are not resolved, by state."""
        async with ctx.read() as tx:
            return await SqlAlerts(tx).counts(ctx.tenant_id)

    @query(Verb.READ, Thing.ALERT)
    async def get(self, ctx: QueryContext, alert_id: str) -> AlertView:
        async with ctx.read() as tx:
            return (await _views(tx, [await _alert(tx, ctx.tenant_id, alert_id)]))[0]

    @command(Verb.WRITE, Thing.ALERT)
    async def acknowledge(self, ctx: CommandContext, alert_id: str, once: IdempotentRequest = EACH_TIME) -> AlertView:
        """It sends no more reminders; its end is still reported."""
        tx = await ctx.begin()
        return await _acknowledge(ctx, await _alert(tx, ctx.tenant_id, alert_id, lock=True), ctx.caller.user_id)

    @command(Verb.WRITE, Thing.ALERT)
    async def snooze(
        self, ctx: CommandContext, alert_id: str, raw: object, once: IdempotentRequest = EACH_TIME
    ) -> AlertView:
        """No reminder for a while, and one at its end."""
        span = read(SnoozeRequest, raw).for_
        tx = await ctx.begin()
        alert = await _alert(tx, ctx.tenant_id, alert_id, lock=True)
        _refuse_resolved(alert)
        until = ctx.now + span
        await SqlAlerts(tx).snooze(alert_id, until)
        await SqlDeliveries(tx).skip([alert_id], DeliveryEvent.REMINDED)
        ctx.audit(AuditedChange("snooze", Thing.ALERT, alert_id, became={"until": until.isoformat()}))
        ctx.wake(ALERTS_TOPIC)
        return (await _views(tx, [await _alert(tx, ctx.tenant_id, alert_id)]))[0]

    @command(Verb.WRITE, Thing.ALERT)
    async def resolve(self, ctx: CommandContext, alert_id: str, once: IdempotentRequest = EACH_TIME) -> AlertView:
        """End it by hand; its channels are notified. The next failure counts from one again."""
        tx = await ctx.begin()
        alert = await _alert(tx, ctx.tenant_id, alert_id, lock=True)
        if alert.state is not AlertState.RESOLVED:
            await resolve(tx, [alert], ctx.now, ctx.caller.user_id)
            await SqlAlerts(tx).end_streaks([ctx.tenant_id], [alert.subject.id])
            ctx.audit(AuditedChange("resolve", Thing.ALERT, alert_id, {"state": alert.state.value}))
        ctx.wake(ALERTS_TOPIC)
        return (await _views(tx, [await _alert(tx, ctx.tenant_id, alert_id)]))[0]

    def signature(self, alert_id: str) -> str | None:
        """What a link that acknowledges this alert carries; None where there is no key to sign with."""
        return None if self.vault is None else self.vault.digest(ACK, alert_id)[1][:32]

    async def by_link(self, alert_id: str, signature: str) -> Alert:
        """The alert that a signed link names; a wrong signature and an unknown alert answer the same."""
        known = [] if self.vault is None else [digest[:32] for _, digest in self.vault.digests(ACK, alert_id)]
        valid = any(hmac.compare_digest(each.encode(), signature.encode()) for each in known)
        async with self.store.read() as tx:
            alert = (await SqlAlerts(tx).several([alert_id])).get(alert_id)
        if not valid or alert is None:
            raise NotFound("alert", alert_id[:64])
        return alert

    async def acknowledge_by_link(self, alert_id: str, signature: str) -> AlertView:
        """For people who are not signed in; works once."""
        alert = await self.by_link(alert_id, signature)
        caller = Caller(alert.tenant_id, "link", Role.OPERATOR, Interface.REST)
        return await self._acknowledge_once(caller, alert_id)

    @unchecked_command
    async def _acknowledge_once(self, ctx: CommandContext, alert_id: str) -> AlertView:
        tx = await ctx.begin()
        alert = await _alert(tx, ctx.tenant_id, alert_id, lock=True)
        if alert.state is not AlertState.OPEN:
            raise Conflict(f"alert {alert_id} is already {alert.state.value}")
        return await _acknowledge(ctx, alert, "the link of a notification")


async def _acknowledge(ctx: CommandContext, alert: Alert, by: str) -> AlertView:
    _refuse_resolved(alert)
    if alert.state is AlertState.OPEN:
        await SqlAlerts(ctx.tx).acknowledge(alert.id, by, ctx.now)
        await SqlDeliveries(ctx.tx).skip([alert.id], DeliveryEvent.REMINDED)
        ctx.audit(AuditedChange("acknowledge", Thing.ALERT, alert.id, {"state": "open"}, {"by": by}))
    ctx.wake(ALERTS_TOPIC)
    return (await _views(ctx.tx, [await _alert(ctx.tx, ctx.tenant_id, alert.id)]))[0]


def _refuse_resolved(alert: Alert) -> None:
    if alert.state is AlertState.RESOLVED:
        raise Conflict(f"alert {alert.id} is resolved")


async def _alert(tx: Transaction, tenant_id: str, alert_id: str, *, lock: bool = False) -> Alert:
    alert = await SqlAlerts(tx).get(tenant_id, alert_id, lock=lock)
    if alert is None:
        raise NotFound("alert", alert_id)
    return alert


async def _views(tx: Transaction, alerts: Sequence[Alert]) -> list[AlertView]:
    sent = await SqlDeliveries(tx).of_alerts([alert.id for alert in alerts]) if alerts else {}
    return [AlertView(alert, sent.get(alert.id, ())) for alert in alerts]
