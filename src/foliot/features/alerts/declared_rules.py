"""The rules that schedules declare: rows written with each version of a schedule whose document has an `alert`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from foliot.core.errors import Invalid
from foliot.core.ids import new_id
from foliot.db.database import Transaction
from foliot.engine.model.schedule import Schedule, ScheduleAlert, ScheduleStatus
from foliot.features.alerts.judge import end_silently, resolve
from foliot.features.alerts.model.rule import RULE, AlertEvent, AlertRuleRecord, RuleSettings, Threshold
from foliot.features.alerts.sql.alerts import SqlAlerts
from foliot.features.alerts.sql.channels import SqlChannels
from foliot.features.alerts.sql.rules import SqlAlertRules

FIELD = "alert.to"


async def declare_rules(tx: Transaction, became: Sequence[Schedule], was: Sequence[Schedule]) -> None:
    """Write the rules of these schedules of one tenant, and end the alerts about those that are deleted.

    No statement where none of them declares or declared a rule, or is deleted.
    """
    await _end_alerts(tx, [one for one in became if one.status is ScheduleStatus.DELETED])
    before = {one.id: one for one in was if one.spec.alert is not None or one.fault is not None}
    wanted = [one for one in became if one.spec.alert is not None and one.status is not ScheduleStatus.DELETED]
    changed = [one for one in wanted if one.id not in before or _differs(one, before[one.id])]
    gone = before.keys() - {one.id for one in wanted}
    if not changed and not gone:
        return
    known = await SqlAlertRules(tx).of_schedules({one.id for one in changed} | gone)
    # Channels are looked up when the alert changes: one that is renamed later is notified as before.
    kept = {one.id: known[one.id].settings.to for one in changed if one.id in known and not _anew(one, before)}
    ids = await _channels(tx, [one for one in changed if one.id not in kept])
    rules = []
    for one in changed:
        to = kept.get(one.id) or tuple(dict.fromkeys(ids[name] for name in _alert(one).to))
        rules.append(_rule(one, known.get(one.id), to))
    if dropped := [known[each].id for each in gone if each in known]:
        await end_silently(tx, dropped, became[0].updated_at, "rule deleted")
    await SqlAlertRules(tx).replace(rules, {rule.id for rule in known.values()})


async def _end_alerts(tx: Transaction, deleted: Sequence[Schedule]) -> None:
    """What is open about these is over, and the channels that were notified of it are notified of its end."""
    if not deleted:
        return
    tenants, ids = {one.tenant_id for one in deleted}, {one.id for one in deleted}
    standing = await SqlAlerts(tx).open_about(tenants, ids)
    await resolve(tx, standing, deleted[0].updated_at, "schedule deleted")
    await SqlAlerts(tx).end_streaks(tenants, ids)


def _differs(schedule: Schedule, before: Schedule) -> bool:
    return (schedule.spec.alert, schedule.name) != (before.spec.alert, before.name)


def _anew(schedule: Schedule, before: Mapping[str, Schedule]) -> bool:
    return schedule.id not in before or before[schedule.id].spec.alert != schedule.spec.alert


async def _channels(tx: Transaction, schedules: Sequence[Schedule]) -> dict[str, str]:
    """The channels that these name, by the name or id that was given."""
    named = {name: one.name for one in reversed(schedules) for name in _alert(one).to}
    try:
        return await SqlChannels(tx).resolved(schedules[0].tenant_id, list(named), FIELD) if named else {}
    except Invalid as unknown:
        if len(schedules) == 1 or not isinstance(unknown.got, list):
            raise
        name = named[unknown.got[0]]
        raise Invalid(FIELD, f"of the schedule {name!r} {unknown.message}", got=unknown.got) from None


def _alert(schedule: Schedule) -> ScheduleAlert:
    return cast("ScheduleAlert", schedule.spec.alert)


def _rule(schedule: Schedule, known: AlertRuleRecord | None, to: tuple[str, ...]) -> AlertRuleRecord:
    after = Threshold(_alert(schedule).after)
    settings = RuleSettings(schedule.name, (AlertEvent.FAILED,), after=after, to=to)
    if known is not None:
        return replace(known, settings=settings, updated_at=schedule.updated_at)
    return AlertRuleRecord(
        id=new_id(RULE),
        tenant_id=schedule.tenant_id,
        settings=settings,
        created_by=schedule.user_id,
        created_at=schedule.updated_at,
        updated_at=schedule.updated_at,
        schedule_id=schedule.id,
    )
