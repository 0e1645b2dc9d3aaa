"""Stalls: work that is due and does not start, with the cause, as the watchdog of a process reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

PATIENCE = 25.0
"""Seconds for which work is due and does not start before it counts as stalled: reported within half a minute."""

MOST_HOSTS = 5


class StandstillReason(StrEnum):
    """The causes that a process can see, the deepest first."""

    STORE = "store"
    CLOCK = "clock"
    BROKER = "broker"
    NO_WORKER = "no_worker"
    HOST = "host"
    SLOTS = "slots"
    SCHEDULER = "scheduler"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SlotHolder:
    """A target that holds slots, and the tenant of its runs."""

    host: str
    tenant_id: str
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """One cause for which due work does not start."""

    why: StandstillReason
    told: str
    """For every tenant: no host, address or number of another."""
    seconds: float
    """For how long, by the monotonic clock."""
    holders: Sequence[SlotHolder] = ()
    detail: str = ""
    """More, for the operator."""
    node: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "reason": self.why.value,
            "told": self.told,
            "seconds": round(self.seconds, 1),
            "hosts": [{"host": one.host, "tenant_id": one.tenant_id, "slots": one.slots} for one in self.holders],
            "detail": self.detail,
        }

    @classmethod
    def read(cls, raw: object, node: str) -> Standstill | None:
        """From a report, which a newer version may have written differently."""
        if not isinstance(raw, Mapping) or raw.get("reason") not in set(StandstillReason):
            return None
        seconds, hosts = raw.get("seconds"), raw.get("hosts")
        return cls(
            why=StandstillReason(raw["reason"]),
            told=str(raw.get("told") or ""),
            seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
            holders=[
                SlotHolder(str(one.get("host")), str(one.get("tenant_id")), int(one.get("slots") or 0))
                for one in (hosts if isinstance(hosts, list) else ())
                if isinstance(one, Mapping)
            ],
            detail=str(raw.get("detail") or ""),
            node=node,
        )

    def whole(self) -> str:
        """For the operator: with the hosts, and what else is known."""
        named = ", ".join(f"{one.host} ({one.slots})" for one in self.holders)
        return f"{self.told}{f': {named}' if named else ''}{f' ({self.detail})' if self.detail else ''}"

    def seen_by(self, tenant_id: str) -> str:
        """For a tenant: a host is named only where its own runs hold the slots."""
        own = ", ".join(sorted({one.host for one in self.holders if one.tenant_id == tenant_id}))
        return f"{self.told}{f'; yours: {own}' if own else ''}"


def worst(found: Sequence[Standstill]) -> list[Standstill]:
    """One per cause: the longest, with the hosts of all processes."""
    stalls: dict[StandstillReason, Standstill] = {}
    for one in sorted(found, key=lambda each: -each.seconds):
        first = stalls.setdefault(one.why, one)
        if first is not one:
            stalls[one.why] = replace(first, holders=joined([*first.holders, *one.holders]))
    return sorted(stalls.values(), key=lambda one: list(StandstillReason).index(one.why))


def joined(holders: Sequence[SlotHolder]) -> list[SlotHolder]:
    """The hosts that hold most slots, separately for each tenant."""
    sums: dict[tuple[str, str], int] = {}
    for one in holders:
        sums[one.host, one.tenant_id] = sums.get((one.host, one.tenant_id), 0) + one.slots
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [SlotHolder(host, tenant, slots) for (host, tenant), slots in ranked[:MOST_HOSTS]]
