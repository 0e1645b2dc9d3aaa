"""Use cases of alert rules: create, change, preview and delete them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.declaration import read
from foliot.core.errors import Conflict, Invalid, NotFound, TooMany
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.features.alerts.judge import end_silently
from foliot.features.alerts.model.alert import ALERTS_TOPIC
from foliot.features.alerts.model.rule import (
    MOST_RULES,
    RULE,
    AlertEvent,
    AlertRulePreviewRequest,
    AlertRuleRecord,
    RuleSettings,
    read_rule,
    settings_of,
)
from foliot.features.alerts.preview import RulePreview, preview
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.channels import SqlChannels
from foliot.features.alerts.sql.rules import SqlAlertRules
from foliot.features.filters.model import of_schedules
from foliot.features.filters.usecases import Search
from foliot.features.schedules.usecases.schedules import find_schedule
from foliot.wakeups.feed import Feed

OF_SCHEDULES = tuple(
    event
    for event in AlertEvent
    if event not in {AlertEvent.QUEUE_STUCK, AlertEvent.WORKER_LOST, AlertEvent.NODE_SILENT}
)


@dataclass(frozen=True, slots=True)
class RuleOfSchedule:
    """A rule that is about a schedule, and the names of its channels."""

    rule: AlertRuleRecord
    channels: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRules:
    """Create, change, preview and delete the rules of a tenant."""

    store: Database
    clock: Clock
    feed: Feed
    searching: Search
    new_id: Callable[[str], str]
    default_zone: str = "UTC"

    @command(Verb.WRITE, Thing.ALERT_RULE)
    async def create(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> AlertRuleRecord:
        settings = self._read(raw)
        tx = await ctx.begin()
        if await SqlAlertRules(tx).count(ctx.tenant_id) >= MOST_RULES:
            raise TooMany(f"a tenant has at most {MOST_RULES} alert rules")
        await self._refuse_taken(tx, ctx.tenant_id, settings.name)
        rule = AlertRuleRecord(
            id=self.new_id(RULE),
            tenant_id=ctx.tenant_id,
            settings=await _resolved(tx, ctx.tenant_id, settings),
            created_by=ctx.caller.user_id,
            created_at=ctx.now,
            updated_at=ctx.now,
        )
        await SqlAlertRules(tx).add(rule)
        ctx.audit(AuditedChange("create", Thing.ALERT_RULE, rule.id, became=rule.settings.as_dict()))
        ctx.wake(ALERTS_TOPIC)
        return rule

    @query(Verb.READ, Thing.ALERT_RULE)
    async def list(self, ctx: QueryContext) -> Sequence[AlertRuleRecord]:
        """In order of name."""
        async with ctx.read() as tx:
            return await SqlAlertRules(tx).of_tenant(ctx.tenant_id)

    @query(Verb.READ, Thing.ALERT_RULE, (Verb.READ, Thing.SCHEDULE))
    async def of_schedule(self, ctx: QueryContext, schedule_id: str) -> Sequence[RuleOfSchedule]:
        """The enabled rules that are about a schedule, with the names of the channels that they notify."""
        now = self.clock.now()
        async with ctx.read() as tx:
            await find_schedule(tx, ctx.caller, schedule_id)
            known = await SqlAlertRules(tx).enabled({ctx.tenant_id}, {schedule_id})
            rules = [rule for rule in known if rule.wants(*OF_SCHEDULES)]
            about = [rule for rule in rules if await _is_about(tx, rule, schedule_id, now)]
            names = {channel.id: channel.name for channel in await SqlChannels(tx).of_tenant(ctx.tenant_id)}
        return [RuleOfSchedule(rule, [names[each] for each in rule.settings.to if each in names]) for rule in about]

    @query(Verb.READ, Thing.ALERT_RULE)
    async def get(self, ctx: QueryContext, rule_id: str) -> AlertRuleRecord:
        async with ctx.read() as tx:
            return await _rule(tx, ctx.tenant_id, rule_id)

    @command(Verb.WRITE, Thing.ALERT_RULE)
    async def change(self, ctx: CommandContext, rule_id: str, raw: object) -> AlertRuleRecord:
        """A merge patch. Open alerts stay open, unless the rule is disabled or no longer about their event."""
        tx = await ctx.begin()
        known = await _own_rule(tx, ctx.tenant_id, rule_id)
        settings = self._read(raw, known.settings)
        if settings.name != known.settings.name:
            await self._refuse_taken(tx, ctx.tenant_id, settings.name)
        settings = await _resolved(tx, ctx.tenant_id, settings)
        rule = replace(known, settings=settings, updated_at=ctx.now)
        await SqlAlertRules(tx).change(rule)
        if not settings.enabled:
            await end_silently(tx, [rule.id], ctx.now, "rule disabled")
        elif set(known.settings.on) - set(settings.on):
            await end_silently(tx, [rule.id], ctx.now, "rule changed", kept=settings.on)
        was, became = known.settings.as_dict(), settings.as_dict()
        ctx.audit(AuditedChange("change", Thing.ALERT_RULE, rule.id, was, became))
        ctx.wake(ALERTS_TOPIC)
        return rule

    @command(Verb.WRITE, Thing.ALERT_RULE)
    async def delete(self, ctx: CommandContext, rule_id: str) -> None:
        """Its open alerts are resolved without a message."""
        tx = await ctx.begin()
        known = await _own_rule(tx, ctx.tenant_id, rule_id)
        await end_silently(tx, [rule_id], ctx.now, "rule deleted")
        await SqlAlertRules(tx).delete(rule_id)
        ctx.audit(AuditedChange("delete", Thing.ALERT_RULE, rule_id, known.settings.as_dict()))
        ctx.wake(ALERTS_TOPIC)

    @query(Verb.READ, Thing.ALERT_RULE, (Verb.READ, Thing.RUN))
    async def preview(self, ctx: QueryContext, raw: object) -> RulePreview:
        """What this rule would have reported over the last days."""
        asked = read(AlertRulePreviewRequest, raw)
        settings = self._checked(settings_of(asked, self.default_zone))
        async with ctx.read() as tx:
            return await preview(tx, ctx.tenant_id, settings, self.clock.now(), asked.over)

    def _read(self, raw: object, known: RuleSettings | None = None) -> RuleSettings:
        return self._checked(read_rule(raw, known, zone=self.default_zone))

    def _checked(self, settings: RuleSettings) -> RuleSettings:
        # Not where rules are read: an older version saved them without it.
        if AlertEvent.SLOW in settings.on and settings.slow_after is None:
            raise Invalid("slow_after", 'is required for the event slow, as in "30m"')
        if settings.filter:
            # Refused when it is saved, pointing at the place, rather than never matching.
            self.searching.read_schedules(settings.filter, field="filter")
        return settings

    @staticmethod
    async def _refuse_taken(tx: Transaction, tenant_id: str, name: str) -> None:
        if any(rule.settings.name == name for rule in await SqlAlertRules(tx).of_tenant(tenant_id)):
            raise Conflict(f"an alert rule named {name} already exists")


async def _resolved(tx: Transaction, tenant_id: str, settings: RuleSettings) -> RuleSettings:
    """The rule with its channels by id."""
    ids = await SqlChannels(tx).resolved(tenant_id, settings.to, "to")
    return replace(settings, to=tuple(dict.fromkeys(ids[each] for each in settings.to)))


async def _own_rule(tx: Transaction, tenant_id: str, rule_id: str) -> AlertRuleRecord:
    """The rule, locked; one that a schedule declares is changed there."""
    rule = await _rule(tx, tenant_id, rule_id, lock=True)
    if rule.schedule_id is not None:
        raise Conflict(f"this rule is declared by the schedule {rule.schedule_id}: change its field alert")
    return rule


async def _rule(tx: Transaction, tenant_id: str, rule_id: str, *, lock: bool = False) -> AlertRuleRecord:
    rule = await SqlAlertRules(tx).get(tenant_id, rule_id, lock=lock)
    if rule is None:
        raise NotFound("alert rule", rule_id)
    return rule


async def _is_about(tx: Transaction, rule: AlertRuleRecord, schedule_id: str, now: datetime) -> bool:
    """Whether the rule's schedule or filter names it; a filter that cannot be read any more names nothing."""
    if rule.schedule_id is not None or not rule.settings.filter:
        return rule.schedule_id in {None, schedule_id}
    try:
        query = of_schedules(()).read(rule.settings.filter, now, "filter")
    except Invalid:
        return False
    return schedule_id in await SqlAlerts(tx).matching(rule.tenant_id, {schedule_id}, query)
