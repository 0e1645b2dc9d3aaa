"""Use cases of channels: create, change, test and delete them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.errors import Conflict, NotFound, TooMany
from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database, Transaction
from foliot.features.alerts.channels.send import ChannelSender
from foliot.features.alerts.model.alert import (
    ALERTS_TOPIC,
    DELIVERY,
    Delivery,
    DeliveryEvent,
    DeliveryState,
)
from foliot.features.alerts.model.channel import CHANNEL, MOST_CHANNELS, Channel, ChannelSettings, read_channel
from foliot.features.alerts.model.rule import AlertRuleRecord
from foliot.features.alerts.sql.channels import SqlChannels
from foliot.features.alerts.sql.deliveries import SqlDeliveries
from foliot.features.alerts.sql.rules import SqlAlertRules
from foliot.wakeups.feed import Feed

MOST_NAMED = 5
"""Rules that the refusal to delete a channel names."""


@dataclass(frozen=True, slots=True)
class ChannelView:
    """A channel and its newest delivery."""

    channel: Channel
    last: Delivery | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """Create, change, test and delete channels. Credentials are write-only: only the sender reads them."""

    store: Database
    clock: Clock
    feed: Feed
    vault: Vault | None
    new_id: Callable[[str], str]
    sender: ChannelSender | None = None
    """Checks targets; without one, as in processes that send nothing, the check is left to the sender."""

    @command(Verb.WRITE, Thing.CHANNEL)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> ChannelView:
        settings = self._checked(read_channel(raw))
        tx = await ctx.begin()
        if await SqlChannels(tx).count(ctx.tenant_id) >= MOST_CHANNELS:
            raise TooMany(f"a tenant has at most {MOST_CHANNELS} channels")
        await _refuse_taken(tx, ctx.tenant_id, settings.name)
        channel = Channel(
            id=self.new_id(CHANNEL),
            tenant_id=ctx.tenant_id,
            name=settings.name,
            kind=settings.kind,
            config=settings.config,
            secrets=settings.secrets,
            created_by=ctx.caller.user_id,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
        await SqlChannels(tx).add(channel, self.vault)
        ctx.audit(AuditedChange("create", Thing.CHANNEL, channel.id, became=_channel_audit(channel)))
        ctx.wake(ALERTS_TOPIC)
        return ChannelView(channel)

    @query(Verb.READ, Thing.CHANNEL)
    async def list(self, ctx: QueryContext) -> Sequence[ChannelView]:
        """In order of name."""
        async with ctx.read() as tx:
            found = await SqlChannels(tx).of_tenant(ctx.tenant_id, self.vault)
            last = await SqlDeliveries(tx).last_of([channel.id for channel in found])
        return [ChannelView(channel, last.get(channel.id)) for channel in found]

    @query(Verb.READ, Thing.CHANNEL)
    async def get(self, ctx: QueryContext, channel_id: str) -> ChannelView:
        async with ctx.read() as tx:
            channel = await self._find(tx, ctx.tenant_id, channel_id)
            last = await SqlDeliveries(tx).last_of([channel.id])
        return ChannelView(channel, last.get(channel.id))

    @command(Verb.WRITE, Thing.CHANNEL)
    async def change(self, ctx: CommandContext, channel_id: str, raw: object) -> ChannelView:
        """A merge patch; a credential that is `***` stays as it was."""
        tx = await ctx.begin()
        known = await self._find(tx, ctx.tenant_id, channel_id, lock=True)
        settings = self._checked(read_channel(raw, known))
        if settings.name != known.name:
            await _refuse_taken(tx, ctx.tenant_id, settings.name)
        channel = replace(
            known, name=settings.name, config=settings.config, secrets=settings.secrets, updated_at=ctx.now, failures=0
        )
        await SqlChannels(tx).change(channel, self.vault)
        was, became = _channel_audit(known), _channel_audit(channel)
        ctx.audit(AuditedChange("change", Thing.CHANNEL, channel.id, was, became))
        return ChannelView(channel)

    @command(Verb.WRITE, Thing.CHANNEL)
    async def delete(self, ctx: CommandContext, channel_id: str) -> None:
        """Refused while a rule notifies it, naming the rules: they would notify no one."""
        tx = await ctx.begin()
        channel = await self._find(tx, ctx.tenant_id, channel_id, lock=True)
        rules = await SqlAlertRules(tx).notifying(ctx.tenant_id, channel_id, MOST_NAMED + 1)
        if rules:
            names = ", ".join(_rule_name(rule) for rule in rules[:MOST_NAMED])
            more = " and more" if len(rules) > MOST_NAMED else ""
            raise Conflict(f"channel {channel.name} is notified by {names}{more}: remove it there first")
        await SqlChannels(tx).delete(channel_id)
        ctx.audit(AuditedChange("delete", Thing.CHANNEL, channel_id, _channel_audit(channel)))

    @command(Verb.WRITE, Thing.CHANNEL)
    async def test(self, ctx: CommandContext, channel_id: str, once: IdempotentRequest = EACH_TIME) -> Delivery:
        """Send a test message; its delivery shows what became of it."""
        tx = await ctx.begin()
        channel = await self._find(tx, ctx.tenant_id, channel_id)
        sample = Delivery(
            id=self.new_id(DELIVERY),
            tenant_id=ctx.tenant_id,
            alert_id=None,
            rule_id=None,
            channel_id=channel.id,
            event=DeliveryEvent.TEST,
            state=DeliveryState.PENDING,
            attempts=0,
            ready_at=ctx.now,
            created_at=ctx.now,
        )
        await SqlDeliveries(tx).add([sample])
        ctx.audit(AuditedChange("test", Thing.CHANNEL, channel.id))
        ctx.wake(ALERTS_TOPIC)
        return sample

    @query(Verb.READ, Thing.CHANNEL)
    async def delivery(self, ctx: QueryContext, delivery_id: str) -> Delivery:
        """What became of a message."""
        async with ctx.read() as tx:
            found = await SqlDeliveries(tx).get(ctx.tenant_id, delivery_id)
        if found is None:
            raise NotFound("delivery", delivery_id)
        return found

    def _checked(self, settings: ChannelSettings) -> ChannelSettings:
        if self.sender is not None:
            self.sender.check(settings)
        return settings

    async def _find(self, tx: Transaction, tenant_id: str, channel_id: str, *, lock: bool = False) -> Channel:
        channel = await SqlChannels(tx).get(tenant_id, channel_id, self.vault, lock=lock)
        if channel is None:
            raise NotFound("channel", channel_id)
        return channel


async def _refuse_taken(tx: Transaction, tenant_id: str, name: str) -> None:
    if name in await SqlChannels(tx).named(tenant_id, [name]):
        raise Conflict(f"a channel named {name} already exists")


def _rule_name(rule: AlertRuleRecord) -> str:
    kind = "the rule" if rule.schedule_id is None else "the schedule"
    return f"{kind} {rule.settings.name}"


def _channel_audit(channel: Channel) -> dict[str, Any]:
    return {"name": channel.name, "kind": channel.kind.value, "config": channel.shown()}
