"""Rows of alert rules."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Text, cast, delete, func, insert, or_, select, true, update

from foliot.core.errors import Invalid
from foliot.db.database import Statements
from foliot.features.alerts.model.rule import AlertRuleRecord, read_rule
from foliot.features.alerts.tables import alert_rules

log = structlog.get_logger("foliot.alerts")


@dataclass(frozen=True, slots=True)
class SqlAlertRules(Statements):
    """Reads and writes alert rules."""

    async def add(self, rule: AlertRuleRecord) -> None:
        await self.conn.execute(
            insert(alert_rules).values(
                id=rule.id,
                tenant_id=rule.tenant_id,
                name=rule.settings.name,
                enabled=rule.settings.enabled,
                spec=rule.settings.as_dict(),
                created_by=rule.created_by,
                created_at=rule.created_at,
                updated_at=rule.updated_at,
            )
        )

    async def change(self, rule: AlertRuleRecord) -> None:
        values = {
            "name": rule.settings.name,
            "enabled": rule.settings.enabled,
            "spec": rule.settings.as_dict(),
            "updated_at": rule.updated_at,
        }
        await self.conn.execute(update(alert_rules).where(alert_rules.c.id == rule.id).values(**values))

    async def get(self, tenant_id: str, rule_id: str, *, lock: bool = False) -> AlertRuleRecord | None:
        query = select(alert_rules).where(alert_rules.c.tenant_id == tenant_id, alert_rules.c.id == rule_id)
        row = (await self.conn.execute(self.dialect.lock(query) if lock else query)).first()
        return None if row is None else _rule(row)

    async def of_tenant(self, tenant_id: str) -> list[AlertRuleRecord]:
        """In order of name, without those that schedules declare."""
        mine = (alert_rules.c.tenant_id == tenant_id, alert_rules.c.schedule_id.is_(None))
        rows = await self.conn.execute(select(alert_rules).where(*mine).order_by(alert_rules.c.name))
        return [_rule(row) for row in rows]

    async def several(self, ids: Collection[str]) -> dict[str, AlertRuleRecord]:
        """Of any tenant: for the sender."""
        query = select(alert_rules).where(self.dialect.among(alert_rules.c.id, sorted(ids)))
        return {rule.id: rule for rule in _readable((await self.conn.execute(query)).all())}

    async def enabled(
        self, tenant_ids: Collection[str] | None = None, about: Collection[str] = ()
    ) -> list[AlertRuleRecord]:
        """Of these tenants, or of all; of the rules that schedules declare, only those of the schedules `about`."""
        whose: ColumnElement[bool] = true()
        if tenant_ids is not None:
            whose = self.dialect.among(alert_rules.c.tenant_id, sorted(tenant_ids))
        of_all = alert_rules.c.schedule_id.is_(None)
        wanted = or_(of_all, self.dialect.among(alert_rules.c.schedule_id, sorted(about))) if about else of_all
        query = select(alert_rules).where(whose, wanted, alert_rules.c.enabled == true()).order_by(alert_rules.c.id)
        return _readable((await self.conn.execute(query)).all())

    async def notifying(self, tenant_id: str, channel_id: str, limit: int) -> list[AlertRuleRecord]:
        """Rules that notify a channel, those of schedules as well."""
        # Ids hold no quotation mark, and a channel's are its own: the text around it is a list of channels.
        names = cast(alert_rules.c.spec, Text).contains(f'"{channel_id}"', autoescape=True)
        query = select(alert_rules).where(alert_rules.c.tenant_id == tenant_id, names)
        return [_rule(row) for row in await self.conn.execute(query.order_by(alert_rules.c.name).limit(limit))]

    async def of_schedules(self, schedule_ids: Collection[str]) -> dict[str, AlertRuleRecord]:
        """The rules that these schedules declare, by schedule."""
        query = select(alert_rules).where(self.dialect.among(alert_rules.c.schedule_id, sorted(schedule_ids)))
        return {row.schedule_id: _rule(row) for row in await self.conn.execute(query)}

    async def replace(self, rules: Sequence[AlertRuleRecord], known: Collection[str]) -> None:
        """Write the rules that schedules declare, in place of those with these ids."""
        if known:
            await self.conn.execute(delete(alert_rules).where(self.dialect.among(alert_rules.c.id, sorted(known))))
        if not rules:
            return
        columns: dict[str, list[Any]] = {
            "id": [rule.id for rule in rules],
            "tenant_id": [rule.tenant_id for rule in rules],
            # Names of schedules need not be unique.
            "name": [rule.schedule_id for rule in rules],
            "enabled": [rule.settings.enabled for rule in rules],
            "spec": [rule.settings.as_dict() for rule in rules],
            "schedule_id": [rule.schedule_id for rule in rules],
            "created_by": [rule.created_by for rule in rules],
            "created_at": [rule.created_at for rule in rules],
            "updated_at": [rule.updated_at for rule in rules],
        }
        await self.dialect.insert(self.conn, alert_rules, columns)

    async def count(self, tenant_id: str) -> int:
        """Without those that schedules declare."""
        mine = (alert_rules.c.tenant_id == tenant_id, alert_rules.c.schedule_id.is_(None))
        return (await self.conn.scalar(select(func.count()).select_from(alert_rules).where(*mine))) or 0

    async def delete(self, rule_id: str) -> None:
        await self.conn.execute(delete(alert_rules).where(alert_rules.c.id == rule_id))


def _readable(rows: Sequence[Any]) -> list[AlertRuleRecord]:
    """These rules, without those that a newer version saved: no run must fail to end because of one."""
    found = []
    for row in rows:
        try:
            found.append(_rule(row))
        except Invalid as fault:
            log.warning("an alert rule cannot be read", action="alert_rule_unreadable", rule=row.id, reason=str(fault))
    return found


def _rule(row: Any) -> AlertRuleRecord:
    return AlertRuleRecord(
        id=row.id,
        tenant_id=row.tenant_id,
        settings=read_rule(row.spec),
        created_by=row.created_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        schedule_id=row.schedule_id,
    )
