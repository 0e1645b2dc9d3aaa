"""Revisits: how many changes are seen, and how soon, with the visits of a budget spread by learned rates.

python bench/revisits.py [--pages 500] [--days 28] [--budget 2000] [--seed 1]

A simulation without a network: pages change at hidden rates (lognormal, from hardly to widely different), and the
planner that the product runs learns them from its own visits. Beside it: a fixed interval with the same number of
visits, and the same spread by the true rates, a bound. The first quarter, in which rates are learned, is not counted.
"""

from __future__ import annotations

import argparse
import bisect
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from foliot.features.watches.model.planner import HintRecord, RevisitPlanner
from foliot.features.watches.model.revisit import Allotment, RevisitRules, VisitBudget, allot, pooled_rate
from foliot.features.watches.model.visit import VisitResult
from foliot.features.watches.model.watch import ChangeKind, PageChange, PageState, WatchedPage

DAY = 86_400.0
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SPREADS = {"narrow (sigma 0.5)": 0.5, "medium (sigma 1.2)": 1.2, "wide (sigma 2)": 2.0}
ALLOT_EVERY = 3600.0
"""How often the spread is computed anew here; the product does so in each run."""


@dataclass
class Pages:
    """Pages with hidden rates, and the moments at which they change."""

    rates: Sequence[float]
    changes: list[list[float]]

    @classmethod
    def of(cls, count: int, sigma: float, mean_per_day: float, seconds: float, seed: int) -> Pages:
        chance = random.Random(seed)
        rates = [mean_per_day / DAY * math.exp(chance.gauss(0, sigma) - sigma * sigma / 2) for _ in range(count)]
        changes = []
        for rate in rates:
            at, moments = chance.expovariate(rate), []
            while at < seconds:
                moments.append(at)
                at += chance.expovariate(rate)
            changes.append(moments)
        return cls(rates, changes)


@dataclass
class Seen:
    """What visits found from `since` on."""

    pages: Pages
    since: float
    visits: int = 0
    caught: int = 0
    delays: float = 0.0
    late: int = 0
    """Changes whose delay is counted."""
    longest: float = 0.0
    last: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last = [-1.0] * len(self.pages.rates)

    def visit(self, page: int, now: float) -> bool:
        """Whether the page has changed since its last visit."""
        before, moments = self.last[page], self.pages.changes[page]
        first, end = bisect.bisect_right(moments, before), bisect.bisect_right(moments, now)
        self.last[page] = now
        if now >= self.since:
            self.visits += 1
            if before >= 0:
                self.longest = max(self.longest, now - before)
                self.caught += end > first
                self.delays += sum(now - moment for moment in moments[first:end])
                self.late += end - first
        return before >= 0 and end > first

    @property
    def delay(self) -> float:
        """Of all changes, on average, in seconds."""
        return self.delays / max(self.late, 1)


def fixed(pages: Pages, seconds: float, since: float, per_second: float) -> Seen:
    """Every page at the same interval, the phases spread evenly."""
    seen, count = Seen(pages, since), len(pages.rates)
    at, page = 0.0, 0
    while at < seconds:
        seen.visit(page % count, at)
        page, at = page + 1, at + 1 / per_second
    return seen


def known(pages: Pages, seconds: float, since: float, rules: RevisitRules) -> Seen:
    """By the true rates: a bound, not a policy."""
    seen, spread = Seen(pages, since), allot(pages.rates, rules)
    plan = sorted(
        (at, page)
        for page, rate in enumerate(pages.rates)
        for at in _every(spread.interval(rate), page / len(pages.rates), seconds)
    )
    for at, page in plan:
        seen.visit(page, at)
    return seen


def _every(interval: float, phase: float, seconds: float) -> list[float]:
    return [interval * (phase + turn) for turn in range(int(seconds / interval - phase) + 1)]


@dataclass
class Planned:
    """The product's planner over simulated pages, one run for each tick."""

    rules: RevisitRules
    pages: list[WatchedPage]
    look: Callable[[int, float], bool]
    planning: dict[str, object] = field(default_factory=dict)
    visits: int = 0
    most_at_once: int = 0
    _spread: tuple[float, Allotment] | None = None

    @classmethod
    def of(cls, count: int, rules: RevisitRules, look: Callable[[int, float], bool]) -> Planned:
        return cls(rules, [_page(number) for number in range(count)], look)

    def run(self, now: float) -> int:
        """One run: what is due, as far as the budget allows."""
        planner = self._planner(now)
        due = [number for number, page in enumerate(self.pages) if page.next_visit_at is None]
        moment = BEGIN + timedelta(seconds=now)
        late = [number for number, page in enumerate(self.pages) if page.next_visit_at and page.next_visit_at <= moment]
        due += sorted(late, key=lambda number: self.pages[number].next_visit_at or moment)
        chosen = due[: planner.room]
        for number in chosen:
            page = self.pages[number]
            changed = self.look(number, now)
            kept = replace(
                page, visits=page.visits + 1, seen=page.seen + 1, changes=page.changes + changed,
                last_visit_at=moment, last_read_at=moment, state=PageState.SAME,
            )  # fmt: skip
            result = VisitResult(before=page, page=kept, change=_change(page, moment) if changed else None)
            self.pages[number] = planner.planned(result, moment).page
        self.planning = planner.as_dict()
        self.visits += len(chosen)
        self.most_at_once = max(self.most_at_once, len(chosen))
        return len(chosen)

    def _planner(self, now: float) -> RevisitPlanner:
        rates = [page.rate for page in self.pages if page.rate is not None]
        prior = pooled_rate(rates, self.rules)
        if self._spread is None or now - self._spread[0] >= ALLOT_EVERY:
            means = [prior.mean if page.rate is None else page.rate.mean for page in self.pages]
            self._spread = (now, allot(means, self.rules))
        stored = self.planning.get("budget") or {}
        assert isinstance(stored, dict)
        return RevisitPlanner(
            rules=self.rules,
            budget=VisitBudget.of(self.rules, stored, (BEGIN + timedelta(seconds=now)).timestamp()),
            hints=HintRecord(),
            allotment=self._spread[1],
            prior=prior,
        )


def _page(number: int) -> WatchedPage:
    return WatchedPage(
        id=f"wpg_{number:032x}", tenant_id="t", watch_id="w", url=str(number), url_hash=f"{number:064x}", first_at=BEGIN
    )


def _change(page: WatchedPage, at: datetime) -> PageChange:
    return PageChange(
        id="", tenant_id="t", watch_id="w", page_id=page.id, url=page.url, at=at, kind=ChangeKind.CHANGED, matched=True,
        fields={}, diff="", expires_at=at,
    )  # fmt: skip


def learned(pages: Pages, seconds: float, since: float, rules: RevisitRules) -> tuple[Seen, Planned]:
    """By the planner of the product."""
    seen = Seen(pages, since)
    planned = Planned.of(len(pages.rates), rules, seen.visit)
    tick = rules.tick.total_seconds()
    at = 0.0
    while at < seconds:
        planned.run(at)
        at += tick
    return seen, planned


def compare(count: int, days: int, rules: RevisitRules, sigma: float, seed: int) -> dict[str, float]:
    """The learned spread beside a fixed interval with as many visits."""
    seconds, since = days * DAY, days * DAY / 4
    # On average a page changes about half as often as it can be visited.
    pages = Pages.of(count, sigma, rules.per_second * DAY / count / 2, seconds, seed)
    ours, _ = learned(pages, seconds, since, rules)
    same = fixed(pages, seconds, since, ours.visits / (seconds - since))
    best = known(pages, seconds, since, rules)
    return {
        "visits": ours.visits,
        "of the budget": ours.visits / (rules.per_second * (seconds - since)),
        "caught": ours.caught / max(same.caught, 1),
        "delay": ours.delay / max(same.delay, 1e-9),
        "caught by true rates": best.caught / max(same.caught, 1),
        "delay by true rates": best.delay / max(same.delay, 1e-9),
        "longest days": ours.longest / DAY,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--budget", type=int, default=2000, help="visits a day")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rules = RevisitRules(given.budget, timedelta(days=1), timedelta(minutes=15), timedelta(days=7))
    print(f"{given.pages} pages, {given.budget} visits a day, {given.days} days, beside a fixed interval")
    for name, sigma in SPREADS.items():
        found = compare(given.pages, given.days, rules, sigma, given.seed)
        print(
            f"{name:20} visits {found['of the budget']:.1%} of the budget, changes caught x {found['caught']:.2f} "
            f"(true rates: {found['caught by true rates']:.2f}), mean delay x {found['delay']:.2f} "
            f"({found['delay by true rates']:.2f}), longest without a visit {found['longest days']:.1f} d"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
