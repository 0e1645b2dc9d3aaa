"""Rows of alert rules."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, select, true, update

from foliot.db.database import Statements
from foliot.features.alerts.model.rule import AlertRuleRecord, read_rule
from foliot.features.alerts.tables import alert_rules


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
                schedule_id=rule.schedule_id,
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

    async def of_schedule(self, schedule_id: str) -> AlertRuleRecord | None:
        """The rule that the schedule's document declares."""
        row = (await self.conn.execute(select(alert_rules).where(alert_rules.c.schedule_id == schedule_id))).first()
        return None if row is None else _rule(row)

    async def of_tenant(self, tenant_id: str) -> list[AlertRuleRecord]:
        """In order of name."""
        query = select(alert_rules).where(alert_rules.c.tenant_id == tenant_id).order_by(alert_rules.c.name)
        return [_rule(row) for row in await self.conn.execute(query)]

    async def enabled(self, tenant_ids: Collection[str] | None = None) -> list[AlertRuleRecord]:
        """Of these tenants, or of all."""
        whose: ColumnElement[bool] = true()
        if tenant_ids is not None:
            whose = self.dialect.among(alert_rules.c.tenant_id, sorted(tenant_ids))
        query = select(alert_rules).where(whose, alert_rules.c.enabled == true()).order_by(alert_rules.c.id)
        return [_rule(row) for row in await self.conn.execute(query)]

    async def count(self, tenant_id: str) -> int:
        query = select(func.count()).select_from(alert_rules).where(alert_rules.c.tenant_id == tenant_id)
        return (await self.conn.scalar(query)) or 0

    async def delete(self, rule_id: str) -> None:
        await self.conn.execute(delete(alert_rules).where(alert_rules.c.id == rule_id))


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
