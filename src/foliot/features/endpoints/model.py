"""Statistics of webhook targets, computed from recent attempts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from foliot.core import sort
from foliot.core.document import rfc3339
from foliot.core.sort import SortOrder
from foliot.engine.model.run import TEST, RunState

TRIED = frozenset({"GET", "HEAD", "OPTIONS", "POST"})
"""HTTP methods that a test request may use: PUT, PATCH and DELETE would change the resource, whatever the body."""
GOOD = frozenset({RunState.SUCCESS.value})
SILENT = frozenset({"cancelled", "handed_back", "lost"})
"""Outcomes of an attempt that say nothing about its target."""
ANSWERED = "2xx"
"""The key under which successful calls are counted among the codes."""
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetCall:
    """One attempt to call a target."""

    url: str
    schedule_id: str | None
    run_id: str
    started_at: datetime
    ended_at: datetime
    outcome: str
    error: Mapping[str, object] | None
    made_at: datetime | None = None
    """When its run was created."""

    @property
    def good(self) -> bool:
        return self.outcome in GOOD

    @property
    def code(self) -> str:
        return ANSWERED if self.good else str((self.error or {}).get("code") or UNKNOWN)

    @property
    def took_ms(self) -> float:
        return max((self.ended_at - self.started_at).total_seconds() * 1000, 0.0)


@dataclass(frozen=True, slots=True)
class EndpointSender:
    """A schedule, and the URL that it calls now."""

    name: str
    url: str | None
    """None when it is no webhook."""
    secrets: frozenset[str]
    """The secrets that its headers name."""


@dataclass(slots=True, kw_only=True)
class EndpointStats:
    """One target: the calls of one address, whatever the query."""

    url: str
    calls: list[TargetCall] = field(default_factory=list)
    """Oldest first."""

    @property
    def succeeded(self) -> int:
        return sum(call.good for call in self.calls)

    @property
    def failed(self) -> int:
        return len(self.calls) - self.succeeded

    @property
    def success_ratio(self) -> float:
        return round(self.succeeded / len(self.calls), 4)

    @property
    def codes(self) -> Mapping[str, int]:
        """Most frequent first."""
        counts = Counter(call.code for call in self.calls)
        return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))

    @property
    def last(self) -> TargetCall:
        return self.calls[-1]

    @property
    def failing(self) -> Sequence[TargetCall]:
        """The calls since the last success, oldest first."""
        good = [place for place, call in enumerate(self.calls) if call.good]
        return self.calls[good[-1] + 1 :] if good else self.calls

    @property
    def failing_since(self) -> datetime | None:
        """Since when every call has failed; None when the last one succeeded."""
        return self.failing[0].started_at if self.failing else None

    @property
    def failing_from(self) -> datetime | None:
        """When the first of the runs whose calls have failed since was created; it may have waited before it called."""
        return min((call.made_at or call.started_at for call in self.failing), default=None)

    @property
    def schedule_ids(self) -> Sequence[str]:
        """The schedules that called it, latest first."""
        return list(dict.fromkeys(call.schedule_id for call in reversed(self.calls) if call.schedule_id is not None))

    def took_ms(self, share: float) -> float:
        """The quantile of durations, in milliseconds."""
        took = sorted(call.took_ms for call in self.calls)
        return took[max(math.ceil(share * len(took)) - 1, 0)]


def tried(action: Mapping[str, object], about: Mapping[str, object], now: datetime) -> dict[str, object] | None:
    """The webhook as a test request; None where its HTTP method would change something at the target."""
    method = str(action.get("method", "POST"))
    if method not in TRIED:
        return None
    sent = {name: value for name, value in action.items() if name != "body"}
    if method == "POST":
        sent["body"] = {"type": "foliot.test", TEST: True, "timestamp": rfc3339(now), "data": dict(about)}
    return {**sent, TEST: True}


def endpoints(calls: Iterable[TargetCall]) -> list[EndpointStats]:
    """The targets of these calls."""
    targets: dict[str, EndpointStats] = {}
    for call in sorted(calls, key=lambda each: (each.ended_at, each.run_id)):
        if call.outcome not in SILENT:
            targets.setdefault(call.url, EndpointStats(url=call.url)).calls.append(call)
    return list(targets.values())


class EndpointSortKey(StrEnum):
    """What targets are sorted by."""

    URL = "url"
    FAILING = "failing"
    CALLS = "calls"
    FAILED = "failed"
    SUCCESS_RATIO = "success_ratio"
    P50 = "p50_ms"
    P95 = "p95_ms"
    LAST_AT = "last_at"


ENDPOINT_SORTS = sort.both_ways(EndpointSortKey, one_way=(EndpointSortKey.FAILING,))
EndpointSort = SortOrder[EndpointSortKey]
FAILING_FIRST = EndpointSort(EndpointSortKey.FAILING)


def read_endpoint_sort(text: str | None) -> EndpointSort:
    """The order with this name; by default, failing targets first."""
    if text is None:
        return FAILING_FIRST
    key, down = sort.read_sort(text, ENDPOINT_SORTS)
    return EndpointSort(EndpointSortKey(key), down)


def in_order(targets: Sequence[EndpointStats], order: EndpointSort) -> list[EndpointStats]:
    """Equal ones by address."""

    return sorted(sorted(targets, key=lambda one: one.url), key=_VALUES[order.key], reverse=order.down)


_VALUES: Mapping[EndpointSortKey, Callable[[EndpointStats], Any]] = {
    EndpointSortKey.URL: lambda one: one.url,
    EndpointSortKey.FAILING: lambda one: (one.failing_since is None, -one.failed, -len(one.calls)),
    EndpointSortKey.CALLS: lambda one: len(one.calls),
    EndpointSortKey.FAILED: lambda one: one.failed,
    EndpointSortKey.SUCCESS_RATIO: lambda one: one.success_ratio,
    EndpointSortKey.P50: lambda one: one.took_ms(0.5),
    EndpointSortKey.P95: lambda one: one.took_ms(0.95),
    EndpointSortKey.LAST_AT: lambda one: one.last.ended_at,
}
