"""Slots of one process: which attempts hold them, for which target, and which of them wait outside.

An attempt that does nothing but wait for an answer from outside gives its slot up after a while and waits on without
it. So a target that hangs holds slots for seconds, however long an attempt may take.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from foliot.engine.claimed_ahead import Pace
from foliot.engine.model.breaker import FAILURES, WAIT, Breaker, OpenBreakerReport, shown
from foliot.engine.model.run import Cancelled, Failed, HandedBack, Lost, Outcome
from foliot.engine.ports import AttemptTarget

STALL = 3.0
"""Seconds without an answer after which a target counts as stalled, and a waiting attempt gives up its slot."""
OUTSIDE = 3
"""Attempts that may wait without a slot, as a multiple of the slots."""
LEFT = 2 * (1 + OUTSIDE)
"""A target may have half of the slots while none waits without a slot, and less as fewer of those places are left."""
KNOWN = 600.0
"""Seconds for which a tenant that had a slot is expected back."""
FORGOTTEN = 3600.0
"""Seconds after which a breaker is dropped whose trial is due and whose target no run asks for any more."""
MOST_BREAKERS = MOST_KNOWN = 10_000
MOST_SHOWN = 200


class HeldSlot(NamedTuple):
    """An attempt that is being performed."""

    tenant: str
    target: str | None
    since: float
    """By the monotonic clock."""
    pace: str = ""


def pace_name(kind: str, target: AttemptTarget | None) -> str:
    return f"{kind} without a target" if target is None else target.name


@dataclass(slots=True)
class TargetQueue:
    """The attempts that wait for one target, the oldest first, and when it last answered."""

    remote: bool = False
    since: dict[str, float] = field(default_factory=dict)
    tenants: Counter[str] = field(default_factory=Counter)
    answered: float = float("-inf")

    def waited(self, now: float) -> float:
        """How long the oldest has waited."""
        return now - next(iter(self.since.values()), now)

    def begun(self, after: float) -> int:
        """How many have begun since then."""
        return sum(1 for _ in takewhile(lambda at: at > after, reversed(self.since.values())))

    def silent(self, now: float) -> float:
        """For how long the target has not answered while an attempt waited."""
        return min(self.waited(now), now - self.answered)


@dataclass(slots=True, kw_only=True)
class Slots:
    """The slots of one process."""

    total: int = 100
    share: float = 0.5
    """The part of the slots that one target may hold."""
    most: int = 64
    """And how many at most: as many as are under way to one host."""
    failures: int = FAILURES
    """Consecutive failures after which a breaker opens; 0: never."""
    wait: float = WAIT
    """Seconds from there to its first trial."""
    stall: float = STALL
    brought: bool = False
    """Whether a broker delivers the runs: one that is not admitted is deferred, or it would come back at once."""
    clock: Callable[[], float] = time.monotonic
    performing: dict[str, HeldSlot] = field(default_factory=dict)
    """Every attempt, with or without a slot, the oldest first."""
    lines: dict[str, TargetQueue] = field(default_factory=dict)
    breakers: dict[tuple[str, str], Breaker] = field(default_factory=dict)
    """Of targets whose last attempt went unanswered."""
    known: dict[str, None] = field(default_factory=dict)
    """Targets that answered their last request."""
    back_at: dict[str, float] = field(default_factory=dict)
    """When the last deferred run of a tenant comes back."""
    paces: dict[str, Pace] = field(default_factory=dict)
    """By what attempts have in common: their target, or their kind where they have none."""
    _targets: dict[str, AttemptTarget] = field(default_factory=dict)
    _last: str = ""
    """The pace of the attempt that ended last."""
    _seen: dict[str, float] = field(default_factory=dict)

    @property
    def held(self) -> Mapping[str, HeldSlot]:
        """The attempts that hold a slot, the oldest first."""
        outside = self._outside(self.clock())
        return {run_id: one for run_id, one in self.performing.items() if run_id not in outside}

    @property
    def free(self) -> int:
        return self.total - len(self.performing) + len(self._outside(self.clock()))

    @property
    def outside(self) -> int:
        """How many wait for an answer without a slot."""
        return len(self._outside(self.clock()))

    def cap(self, target: AttemptTarget) -> int:
        """How many attempts may wait for one target: the fewer, the more wait for others already."""
        cap = min(int(self.total * self.share), self.most)
        line = self.lines.get(target.name)
        others = len(self.performing) - (0 if line is None else len(line.since))
        left = self.total * (1 + OUTSIDE) - others
        return max(1, min(cap, left // LEFT) if target.remote and self.share < 1 else cap)

    def shut(self, tenant: str, name: str) -> bool:
        """Whether nothing of this tenant goes to this target now: its breaker is open, or it stalls."""
        now, breaker, line = self.clock(), self.breakers.get((tenant, name)), self.lines.get(name)
        if breaker is not None and not breaker.admits(now):
            return True
        return line is not None and line.silent(now) > self.stall

    def hold(self, run_id: str, tenant: str, target: AttemptTarget | None, kind: str = "") -> None:
        """An attempt begins."""
        now = self.clock()
        self._seen.pop(tenant, None)
        self._seen[tenant] = now
        name = pace_name(kind, target)
        self.performing[run_id] = HeldSlot(tenant, None if target is None else target.name, now, name)
        if name in self.paces:
            self.paces[name].begin(now)
        if target is None:
            return
        self._targets[run_id] = target
        line = self.lines.setdefault(target.name, TargetQueue(target.remote))
        line.since[run_id] = now
        line.tenants[tenant] += 1
        breaker = self.breakers.get((tenant, target.name))
        if breaker is not None:
            breaker.begun(run_id)

    def leave(self, run_id: str, outcome: Outcome | None, at: datetime) -> None:
        """It has ended, like this; None where that says nothing about its target."""
        held, target = self.performing.pop(run_id, None), self._targets.pop(run_id, None)
        if held is None:
            return
        self._clocked(held)
        self._last = held.pace
        if target is None:
            return
        line = self.lines[target.name]
        del line.since[run_id]
        line.tenants[held.tenant] -= 1
        if not line.tenants[held.tenant]:
            del line.tenants[held.tenant]
        if not line.since:
            del self.lines[target.name]
        if self._learn(run_id, held, target, outcome, at):
            line.answered = self.clock()

    def _clocked(self, held: HeldSlot) -> None:
        """How quickly attempts end is how quickly the next ones are expected to start."""
        now = self.clock()
        pace = self.paces.get(held.pace)
        if pace is None:
            if len(self.paces) >= MOST_KNOWN:
                del self.paces[next(iter(self.paces))]
            others = sum(one.pace == held.pace for one in self.performing.values())
            pace = self.paces[held.pace] = Pace(held.since, under_way=others + 1)
        pace.end(now)

    def ahead(self, name: str) -> int:
        """How many attempts of this pace may be claimed ahead of the slots that they will have."""
        pace = self.paces.get(name)
        return 0 if pace is None or self.brought else pace.ahead(self.clock())

    def quickest(self) -> int:
        """How many could be claimed ahead of the pace of the attempt that ended last."""
        return self.ahead(self._last)

    def _learn(self, run_id: str, held: HeldSlot, target: AttemptTarget, outcome: Outcome | None, at: datetime) -> bool:
        """What an attempt's end says about its target; whether that has answered."""
        key = held.tenant, target.name
        if outcome is None or isinstance(outcome, Cancelled | HandedBack | Lost):
            if key in self.breakers:
                self.breakers[key].left(run_id)
            return False
        if not isinstance(outcome, Failed) or outcome.problem.code not in target.silent:
            self.breakers.pop(key, None)
            self.known.pop(target.name, None)
            self.known[target.name] = None
            if len(self.known) > MOST_KNOWN:
                del self.known[next(iter(self.known))]
            return True
        self.known.pop(target.name, None)
        if self.failures:
            self._room_for_one()
            breaker = self.breakers.setdefault(key, Breaker(self.failures, self.wait))
            breaker.failed(run_id, outcome.problem.message, held.since, self.clock(), at)
        return False

    def _room_for_one(self) -> None:
        while len(self.breakers) >= MOST_BREAKERS:
            del self.breakers[next(iter(self.breakers))]

    def open_breakers(self, at: datetime) -> Sequence[OpenBreakerReport]:
        """For people, the longest open first; at most so many."""
        now = self.clock()
        for key in [key for key, one in self.breakers.items() if now - one.trial_at > FORGOTTEN and one.trial is None]:
            del self.breakers[key]
        reports = (shown(breaker, *key, now, at) for key, breaker in self.breakers.items())
        return sorted((one for one in reports if one is not None), key=lambda one: one.since)[:MOST_SHOWN]

    def put_off(self, tenant: str, now: float, each: float) -> float:
        """When one more of the tenant's runs comes back: after those that were put off before it."""
        if len(self.back_at) > MOST_KNOWN:
            self.back_at = {name: at for name, at in self.back_at.items() if at > now}
        self.back_at[tenant] = max(self.back_at.get(tenant, now), now) + each
        return self.back_at[tenant]

    def has_others(self, tenant: str, now: float) -> bool:
        """Whether other tenants had slots here lately."""
        while self._seen and now - next(iter(self._seen.values())) > KNOWN:
            del self._seen[next(iter(self._seen))]
        return len(self._seen) > (tenant in self._seen)

    def is_shared(self, now: float) -> bool:
        """Whether more than one tenant had slots here lately."""
        return self.has_others("", now) and len(self._seen) > 1

    def _outside(self, now: float) -> set[str]:
        """Those that have given their slot up: of one tenant no more than half of them, where there are others."""
        most = self.total * OUTSIDE
        by: Counter[str] = Counter()
        found: set[str] = set()
        for run_id, one in self.performing.items():
            if now - one.since < self.stall or len(found) >= most:
                break
            target = self._targets.get(run_id)
            each = most // 2 if self.has_others(one.tenant, now) else most
            if target is not None and target.remote and by[one.tenant] < each:
                by[one.tenant] += 1
                found.add(run_id)
        return found
