"""Admission: which of the runs about to be claimed get a slot now, which are claimed ahead, and which wait unclaimed.

No target holds more than its share of the slots, no tenant more than its own while others wait, and nothing goes to a
target whose breaker is open. A run that is turned away is not an attempt.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import rfc3339
from foliot.engine.claimed_ahead import MOST, ClaimedAhead
from foliot.engine.model.breaker import Breaker, BreakerState
from foliot.engine.model.run import is_test
from foliot.engine.model.views import ClaimedRun, PostponedRun
from foliot.engine.ports import AttemptTarget
from foliot.engine.slots import Slots, pace_name

QUICK = 0.25
"""Seconds: to a target whose oldest attempt has waited shorter, others follow so soon that they need not be put off."""
PAUSE = 1.0
"""Seconds for which a run is put off at least."""
SOON = 0.05
"""The same where only its tenant's share of the slots is used up, and its attempts are short."""
TRYING = 10.0
"""The same while a trial is under way."""
EACH = 0.005
"""Seconds between two of a tenant that were put off: so many a second are looked at again, however many there are."""
LONGEST = 60.0

BREAKER = "waiting_breaker"
TARGET = "waiting_target"
SHARE = "waiting_share"


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """This run gets no slot now."""

    wait: PostponedRun | None = None
    """None: it stays ready as it is."""


_NO_SLOT = NotAdmitted()


def _counts() -> defaultdict[Any, int]:
    """One is made in every turn of the loop in which an attempt ends; a Counter takes several times as long to make."""
    return defaultdict(int)


@dataclass(slots=True)
class Admission:
    """One round: what it admits counts for those that come after."""

    slots: Slots
    room: int
    at: datetime
    crowded: frozenset[str] = frozenset()
    """Tenants that want slots, where more are wanted than there are."""
    now: float = field(init=False)
    starts: bool = False
    """Whether it asks for runs that were claimed ahead: those are not put off."""
    ahead_room: int = 0
    """How many may be claimed ahead."""
    waiting: ClaimedAhead = field(default_factory=ClaimedAhead)
    """Those that were claimed ahead before."""
    turned: dict[str, PostponedRun | None] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    """Admitted ahead of a slot: the name of their pace by run."""
    _stalled: set[str] = field(init=False)
    _untried: int = field(init=False)
    _by_tenant: dict[str, int] = field(init=False)
    _to: dict[str, int] = field(default_factory=_counts)
    _of: dict[tuple[str, str], int] = field(default_factory=_counts)
    _trying: set[tuple[str, str]] = field(default_factory=set)
    _ahead_of: dict[str, int] = field(default_factory=_counts)

    def __post_init__(self) -> None:
        slots = self.slots
        self.now = now = slots.clock()
        self._stalled = {name for name, line in slots.lines.items() if line.silent(now) > slots.stall}
        untried = [line for name, line in slots.lines.items() if line.remote and name not in slots.known]
        self._untried = sum(line.begun(now - slots.stall) for line in untried)
        others = len(self.crowded) > 1 or slots.is_shared(now)
        self._by_tenant = _counts()
        if others:
            for held in slots.held.values():
                self._by_tenant[held.tenant] += 1

    def ask(self, claimed: ClaimedRun, target: AttemptTarget | None) -> None:
        """Admit it, now or ahead of a slot, or note why not."""
        turned = self._ask(claimed, target)
        if turned is not None and not self._ask_ahead(claimed, target, turned):
            self.turned[claimed.fence.run_id] = turned.wait

    def admits(self, claimed: ClaimedRun, target: AttemptTarget | None) -> bool:
        """Whether one that was claimed ahead may start now."""
        return self._ask(claimed, target) is None

    def _ask(self, claimed: ClaimedRun, target: AttemptTarget | None) -> NotAdmitted | None:
        if self.room <= 0:
            return _NO_SLOT
        turned = None
        if target is not None:
            turned = self._ask_breaker(claimed, target) or self._ask_target(claimed.tenant_id, target)
        turned = turned or self._ask_tenant(claimed.tenant_id)
        if turned is not None:
            return turned
        self.room -= 1
        self._by_tenant[claimed.tenant_id] += 1
        if target is not None:
            self._to[target.name] += 1
            self._untried += target.remote and target.name not in self.slots.known
            self._of[claimed.tenant_id, target.name] += 1
            self._trying.add((claimed.tenant_id, target.name))
        return None

    def _ask_ahead(self, claimed: ClaimedRun, target: AttemptTarget | None, turned: NotAdmitted) -> bool:
        """Whether it is expected to start soon enough to be claimed now."""
        # A crash must not use up the last attempt of a run that has not started.
        if not self.ahead_room or turned.wait is not None or claimed.attempt >= claimed.max_attempts:
            return False
        name, tenant, waiting = pace_name(claimed.kind, target), claimed.tenant_id, self.waiting
        if waiting.by_target[name] + self._ahead_of[name] >= self.slots.ahead(name):
            return False
        share = MOST // max(len(self.crowded), 2 if self.slots.has_others(tenant, self.now) else 1)
        if waiting.by_tenant[tenant] + self._ahead_of[tenant] >= share:
            return False
        self.ahead_room -= 1
        self._ahead_of[name] += 1
        self._ahead_of[tenant] += 1
        self.later[claimed.fence.run_id] = name
        return True

    def _ask_breaker(self, claimed: ClaimedRun, target: AttemptTarget) -> NotAdmitted | None:
        key = claimed.tenant_id, target.name
        breaker = self.slots.breakers.get(key)
        if breaker is None or breaker.state is BreakerState.CLOSED or is_test(claimed.kind, claimed.config):
            return None
        if not breaker.admits(self.now) or key in self._trying:
            return NotAdmitted(self._until(breaker, claimed.tenant_id, target))
        return None

    def _until(self, breaker: Breaker, tenant: str, target: AttemptTarget) -> PostponedRun:
        seconds = breaker.trial_at - self.now
        trying = breaker.trial is not None or seconds <= 0
        until = self._later(tenant, min(TRYING, self.slots.wait) if trying else seconds)
        then = "A trial is in progress" if trying else f"The next trial is due at {rfc3339(until)}"
        why = breaker.why.rstrip(".")
        message = f"{target.name} did not answer {breaker.failures} attempts in a row ({why}). {then}."
        return PostponedRun(until, BREAKER, message)

    def _ask_target(self, tenant: str, target: AttemptTarget) -> NotAdmitted | None:
        line, cap = self.slots.lines.get(target.name), self.slots.cap(target)
        there = self._to[target.name] + (0 if line is None else len(line.since))
        ours = self._of[tenant, target.name] + (0 if line is None else line.tenants[tenant])
        most = max(1, cap // len(self._stalled)) if target.name in self._stalled else cap
        # A tenant that has none there yet is not kept out by the others, as far as there are slots left.
        if (there < most and self._may_be_tried(target, there)) or (not ours and there < most + most // 2):
            return None
        quick = line is None or line.waited(self.now) < QUICK
        if quick and not self.slots.brought:
            return _NO_SLOT
        message = f"{there} runs are already waiting for {target.name}, which is its share of a process's slots."
        return NotAdmitted(PostponedRun(self._later(tenant, PAUSE), TARGET, message))

    def _may_be_tried(self, target: AttemptTarget, there: int) -> bool:
        """A target that has not answered yet gets few attempts at a time, and all such targets half of the slots."""
        slots, name = self.slots, target.name
        if not there or not target.remote or slots.share >= 1 or (name in slots.known and name not in self._stalled):
            return True
        line = slots.lines.get(name)
        begun = self._to[name] + (0 if line is None else line.begun(self.now - slots.stall))
        return begun < max(1, slots.total // 10) and self._untried < max(1, slots.total // 2)

    def _ask_tenant(self, tenant: str) -> NotAdmitted | None:
        slots, held = self.slots, self._by_tenant[tenant]
        if len(self.crowded) > 1:
            most = max(1, slots.total // len(self.crowded))
        elif slots.total > 1 and slots.has_others(tenant, self.now):
            most = max(1, slots.total * 3 // 4)
        else:
            return None
        if held < most:
            return None
        if not slots.brought:
            return _NO_SLOT
        message = "Your other runs use your share of a process's slots, and other tenants are waiting too."
        return NotAdmitted(PostponedRun(self._later(tenant, self._until_free(tenant)), SHARE, message))

    def _until_free(self, tenant: str) -> float:
        """As long as the tenant's oldest attempt has taken so far, within bounds: a guess at when a slot is free."""
        oldest = next((one.since for one in self.slots.performing.values() if one.tenant == tenant), self.now)
        return min(PAUSE, max(SOON, self.now - oldest))

    def _later(self, tenant: str, seconds: float) -> datetime:
        """Each tenant's runs come back one after the other, whatever is put off for other tenants."""
        back_at = self.now if self.starts else self.slots.put_off(tenant, self.now, EACH)
        return self.at + timedelta(seconds=max(seconds, min(back_at - self.now, LONGEST)))
