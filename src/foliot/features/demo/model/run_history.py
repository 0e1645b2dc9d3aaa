"""Generates the demo's attempts: outcome, duration and log lines. Deterministic for each schedule and instant."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.engine.model.run import AttemptError, Cancelled, Ended, Failed, Succeeded
from foliot.features.demo.model.site import PRODUCTS, SHOP


@dataclass(frozen=True, slots=True)
class DemoAttempt:
    """One attempt: how it ended, after how long, and its log lines (offset, level, message)."""

    outcome: Ended
    seconds: float
    lines: Sequence[tuple[float, str, str]] = ()


@dataclass(frozen=True, slots=True)
class InstantIndex:
    """An instant by its position in the history: 0 is the last one, 1 the one before."""

    at: datetime
    back: int

    def dice(self, name: str) -> random.Random:
        return random.Random(f"{name}:{self.at.isoformat()}")  # noqa: S311 -- sample data, not a secret


Life = Callable[[InstantIndex], Sequence[DemoAttempt]]
"""The attempts of a run. The schedule's retry policy decides how many are used; the last one repeats."""

LETTERS = 37
"""How many orders the partner did not accept, and so are dead letters."""
FAILED_NIGHTS = 3


def run_histories(host: str) -> Mapping[str, Life]:
    """By schedule. A schedule that is missing here has no history."""
    return {
        "nightly-prices": lambda one: _nightly(one, host),
        "partner-sync": lambda one: _partner(one, host),
        "stock-sync": lambda one: _stock(one, host),
        "quick-check": lambda one: [_webhook("GET", host, 200, one.dice("quick").uniform(0.01, 0.09))],
        "weekly-report": lambda one: [_webhook("POST", host, 200, one.dice("weekly").uniform(0.2, 0.8))],
        "shop-prices": _prices,
        "health-check": _health,
        "price-analysis": _analysis,
        "own-jobs": _own_jobs,
    }


def _nightly(one: InstantIndex, host: str) -> Sequence[DemoAttempt]:
    dice = one.dice("nightly")
    if one.back < FAILED_NIGHTS:
        return [_webhook("POST", host, 429, dice.uniform(0.1, 0.3), attempt, 3) for attempt in (1, 2, 3)]
    return [_webhook("POST", host, 200, dice.uniform(2.5, 4.5), 1, 3)]


def _partner(one: InstantIndex, host: str) -> Sequence[DemoAttempt]:
    dice = one.dice("partner")
    if one.back < LETTERS:
        return [_webhook("POST", host, 503, dice.uniform(0.8, 2.1), attempt, 3) for attempt in (1, 2, 3)]
    return [_webhook("POST", host, 200, dice.uniform(0.15, 0.6), 1, 3)]


def _stock(one: InstantIndex, host: str) -> Sequence[DemoAttempt]:
    dice = one.dice("stock")
    chance = dice.random()
    if chance < 0.01:
        said = [(0.0, "info", f"GET to {host}, attempt 1 of 4")]
        return [DemoAttempt(Cancelled("a stop was requested"), dice.uniform(5, 20), said)]
    if chance < 0.08:
        return [_webhook("GET", host, 503, dice.uniform(0.5, 2), 1, 4), _webhook("GET", host, 200, 0.2, 2, 4)]
    # Now and then it runs past its next instant, which is then skipped.
    slow = chance > 0.985
    return [_webhook("GET", host, 200, dice.uniform(1300, 1900) if slow else dice.uniform(0.05, 0.9), 1, 4)]


_PHRASES = {200: "200 OK", 429: "429 Too Many Requests", 503: "503 Service Unavailable"}


def _webhook(method: str, host: str, status: int, seconds: float, attempt: int = 1, most: int = 4) -> DemoAttempt:
    """An attempt with the log lines that the webhook action writes."""
    milliseconds = round(seconds * 1000)
    good = status < 300
    said = [
        (0.0, "info", f"{method} to {host}, attempt {attempt} of {most}"),
        (
            seconds,
            "info" if good else "warning",
            f"The target answered {_PHRASES[status]} after {milliseconds} ms",
        ),
    ]
    body = '{"taken": true}' if good else '{"error": "come back later"}'
    response: dict[str, Any] = {
        "status": status,
        "headers": {"content-type": "application/json"},
        "body": body,
        "truncated": False,
        "duration_ms": milliseconds,
    }
    if good:
        return DemoAttempt(Succeeded(result={"status": status}, response=response), seconds, said)
    problem = AttemptError(f"http_{status}", f"The target answered {_PHRASES[status]}.")
    return DemoAttempt(Failed(problem, response=response), seconds, said)


def _prices(one: InstantIndex) -> Sequence[DemoAttempt]:
    dice = one.dice("prices")
    lost = sorted(dice.sample(sorted(PRODUCTS), 1)) if dice.random() < 0.12 else []
    seconds, total = dice.uniform(0.4, 1.6), len(PRODUCTS)
    said = [(seconds * 0.6, "warning", f"{sku} at {SHOP}: the shop answered 503") for sku in lost]
    result = {
        "by": "visits",
        "visited": total,
        "stored": total - len(lost),
        "failed": len(lost),
        "found_by": {"json_ld": total - len(lost)},
        "failures": [{"competitor": SHOP, "product": sku, "error": "the shop answered 503"} for sku in lost],
    }
    return [DemoAttempt(Succeeded(result=result, partial=bool(lost)), seconds, said)]


def _health(one: InstantIndex) -> Sequence[DemoAttempt]:
    latency = round(one.dice("health").uniform(0.2, 1.4), 3)
    service = {"kind": "database", "state": "up", "error": None, "latency_ms": latency, "at": rfc3339(one.at)}
    service["since"] = rfc3339(one.at - timedelta(minutes=5 * 500))
    result = {"healthy": True, "down": [], "changed": [], "services": {"database": service}}
    return [DemoAttempt(Succeeded(result=result), latency / 1000 + 0.004)]


def _analysis(one: InstantIndex) -> Sequence[DemoAttempt]:
    seconds = one.dice("analysis").uniform(0.05, 0.3)
    said = [(seconds, "info", f"Looked at the prices of {len(PRODUCTS)} products at {SHOP}")]
    return [DemoAttempt(Succeeded(result={"products": len(PRODUCTS), "competitors": [SHOP]}), seconds, said)]


def _own_jobs(one: InstantIndex) -> Sequence[DemoAttempt]:
    seconds = one.dice("own").uniform(0.004, 0.03)
    return [DemoAttempt(Succeeded(result={"jobs": 5}), seconds)]
