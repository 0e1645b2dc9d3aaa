"""What test_grpc_call.py and test_grpc_call_targets.py share."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from foliot.config.address_book import addresses
from foliot.core.access import TenantAllowList
from foliot.core.egress import AddressBook
from foliot.engine.ports import ActionContext
from foliot.features.grpc_calls.action import GrpcCall
from foliot.net.grpc_client import GrpcEgress
from foliot.testing import StoppedClock

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)

RUN = "run_0001"

METHOD = "ScrapeCompetitorPrices"


@dataclass
class Lines:
    """The run's log."""

    written: list[str] = field(default_factory=list)

    def __call__(self, message: str, *, level: str = "info", at: datetime | None = None) -> None:
        self.written.append(f"{level}: {message}")


@dataclass
class Caller:
    """A Foliot that knows some services."""

    egress: GrpcEgress
    action: GrpcCall
    clock: StoppedClock
    lines: Lines = field(default_factory=Lines)

    async def call(
        self, parameters: Any = None, method: str = METHOD, service: str = "scraper-service", **changes: Any
    ) -> Any:
        config = {"target_service": service, "target_method": method, "parameters": parameters}
        values: dict[str, Any] = {
            "run_id": RUN,
            "tenant_id": "acme",
            "schedule_id": "sch_1",
            "kind": "grpc",
            "attempt": 2,
            "max_attempts": 4,
            "scheduled_for": NOW,
            "config": self.action.check(config),
            "timeout": timedelta(seconds=30),
            "now": NOW,
            "log": self.lines,
        }
        return await self.action.perform(ActionContext(**values | changes))

    async def mode(self, mode: str, **changes: Any) -> Any:
        return await self.call({"mode": mode}, **changes)

    async def examine(self, parameters: Any = None, method: str = METHOD, service: str = "scraper-service") -> Any:
        config = {"target_service": service, "target_method": method, "parameters": parameters}
        return await self.action.examine("acme", self.action.check(config))


def caller_of(book: str, **options: Any) -> Caller:
    entries = {name: replace(entry, tenants=TenantAllowList(None)) for name, entry in addresses(book).entries.items()}
    egress, clock = GrpcEgress(book=AddressBook(entries), **options), StoppedClock()
    return Caller(egress, GrpcCall(calls=egress, clock=clock), clock)


def noted(calls: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
