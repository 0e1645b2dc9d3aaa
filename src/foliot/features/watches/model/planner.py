"""Plans the next visit of each page of a watch with `revisit`, and learns from visits and hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self

from foliot.features.watches.model.revisit import (
    Allotment,
    ChangeRate,
    RevisitRules,
    VisitBudget,
    allot,
    explained,
    pooled_rate,
)
from foliot.features.watches.model.visit import VisitResult
from foliot.features.watches.model.watch import ListedPage, PageState, Watch, WatchedPage, url_hash

LIST_EVERY = timedelta(minutes=15)
"""How often a sitemap, feed or page of links is read at most, where visits have a budget."""
RELIABLE = 0.3
"""Share of hints that must have been followed by a change for a page to be visited because of one."""
TRIALS = 10
"""Hints that are believed before their reliability is known."""
EXPLORE = 20
"""One in so many unreliable hints is tried all the same: sources mend."""
TRUSTED = 0.9
"""Share of changed pages whose validators must have changed too for a 304 to be believed."""


@dataclass(slots=True)
class HintRecord:
    """How often hints of a watch's source were followed, and how often the page had changed."""

    tried: float = 0.0
    right: float = 0.0

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        return cls(float(stored.get("tried") or 0), float(stored.get("right") or 0))

    @property
    def reliability(self) -> float:
        return (self.right + 1) / (self.tried + 2)

    def learn(self, *, right: bool) -> None:
        self.tried, self.right = self.tried * 0.98 + 1, self.right * 0.98 + right

    def believed(self, page_hash: str, day: int) -> bool:
        """Whether a page is to be visited because its source names a newer version."""
        if self.tried < TRIALS or self.reliability >= RELIABLE:
            return True
        return int(page_hash[:4], 16) % EXPLORE == day % EXPLORE

    def as_dict(self) -> dict[str, float]:
        return {"tried": round(self.tried, 3), "right": round(self.right, 3)}


@dataclass(slots=True)
class ValidatorRecord(HintRecord):
    """How often a page that had changed also had another ETag or Last-Modified; otherwise its 304 hides changes."""

    @property
    def trusted(self) -> bool:
        """Whether pages are asked for conditionally."""
        return self.right >= TRUSTED * self.tried


@dataclass(slots=True, kw_only=True)
class RevisitPlanner:
    """The revisits of one run: its share of the budget, and the interval of each page."""

    rules: RevisitRules
    budget: VisitBudget
    hints: HintRecord
    allotment: Allotment
    prior: ChangeRate
    charged: bool = True
    """Whether visits are charged to the budget; those that a person asks for are not."""
    spent: int = 0

    @classmethod
    def of(
        cls, watch: Watch, rates: Sequence[ChangeRate | None], now: datetime, *, charged: bool = True
    ) -> RevisitPlanner | None:
        """None for a watch whose pages are all visited by its schedule."""
        rules = watch.settings.revisit
        if rules is None:
            return None
        known = [rate for rate in rates if rate is not None]
        prior = pooled_rate(known, rules)
        means = [prior.mean if rate is None else rate.mean for rate in rates]
        planning = watch.planning
        return cls(
            rules=rules,
            budget=VisitBudget.of(rules, planning.get("budget") or {}, now.timestamp()),
            hints=HintRecord.of(planning.get("hints") or {}),
            allotment=allot(means, rules),
            prior=prior,
            charged=charged,
        )

    @property
    def room(self) -> int:
        """How many visits the budget has left now."""
        return int(self.budget.left)

    def planned(self, result: VisitResult, now: datetime) -> VisitResult:
        """The visit, with what it teaches about the page's rate and when the page is visited next."""
        before, page = result.before, result.page
        self.budget.left -= self.charged
        self.spent += 1
        changed = result.change is not None
        if before.hinted:
            self.hints.learn(right=changed)
        rate = before.rate or self.prior
        if page.state in {PageState.ERROR, PageState.BLOCKED}:
            return replace(result, page=self._later(before, replace(page, rate=rate), now))
        if before.last_read_at is not None:
            rate = rate.after((now - before.last_read_at).total_seconds(), changed=changed)
        wait = timedelta(seconds=self.allotment.interval(rate.mean))
        if page.state is PageState.REMOVED:
            wait = self.rules.at_least
        why = explained(page.changes, max(page.seen - 1, 0), rate)
        following = max(self._due_at(before, now) + wait, now + self.rules.at_most)
        return replace(result, page=replace(page, rate=rate, next_visit_at=following, why_then=why))

    def _due_at(self, page: WatchedPage, now: datetime) -> datetime:
        """When this visit was planned: what a tick takes is not lost at each visit. An overdue one counts from now."""
        due = page.next_visit_at
        return due if due is not None and not page.hinted and now - due < 2 * self.rules.tick else now

    def _later(self, before: WatchedPage, page: WatchedPage, now: datetime) -> WatchedPage:
        """A page that could not be read is tried again after half the time that it could not, within its bounds."""
        since = before.last_read_at or before.first_at
        wait = min(max((now - since) / 2, self.rules.at_most), self.rules.at_least)
        code = "" if page.problem is None else f": {page.problem['code']}"
        return replace(page, next_visit_at=now + wait, why_then=f"could not be read{code}")

    def hinted(self, listed: Sequence[ListedPage], pages: Sequence[WatchedPage], now: datetime) -> list[str]:
        """Hashes of the pages that are to be visited now, because their source names a newer version."""
        modified = {url_hash(each.url): each.modified for each in listed if each.modified is not None}
        return [
            page.url_hash
            for page in pages
            if page.last_read_at is not None
            and (newer := modified.get(page.url_hash)) is not None
            and newer > page.last_read_at
            and self.hints.believed(page.url_hash, now.toordinal())
        ]

    def as_dict(self) -> dict[str, Any]:
        return {"budget": self.budget.as_dict(), "hints": self.hints.as_dict()}


def list_due(watch: Watch, now: datetime) -> bool:
    """Whether the watch's sitemap, feed or page of links is to be read by this run."""
    if watch.settings.sources.found is None:
        return False
    rules = watch.settings.revisit
    if rules is None or watch.listed_at is None:
        return True
    return now - watch.listed_at >= max(rules.at_most, LIST_EVERY)
