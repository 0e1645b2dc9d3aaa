"""Who gets a slot: shares of targets and tenants, attempts that wait outside, and breakers. No clock runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from foliot.app.build import build
from foliot.config.settings import Settings
from foliot.engine.admission import BREAKER, SHARE, TARGET, Admission
from foliot.engine.model.breaker import Breaker, BreakerState, OpenBreakerReport
from foliot.engine.model.run import AttemptError, Cancelled, Failed, Fence, HandedBack, Outcome, Succeeded
from foliot.engine.model.views import ClaimedRun, PostponedRun
from foliot.engine.ports import AttemptTarget, target_of
from foliot.engine.slots import STALL, Slots
from foliot.features.webhooks.model import place
from tests.givens import NOON

SILENT = frozenset({"target_timeout", "target_unreachable"})
TIMED_OUT = Failed(AttemptError("target_timeout", "The target did not answer in time."))


@dataclass
class Bench:
    """Slots under a clock that a test moves."""

    total: int = 10
    now: float = 1000.0
    slots: Slots = field(init=False)
    made: int = 0

    def __post_init__(self) -> None:
        self.slots = Slots(total=self.total, failures=3, wait=30.0, clock=lambda: self.now)

    def admit(
        self,
        count: int,
        target: AttemptTarget | None,
        tenant: str = "acme",
        *,
        room: int | None = None,
        full: Sequence[str] = (),
    ) -> dict[str, PostponedRun | None]:
        """Ask for so many at once and start those that are admitted; what became of the others."""
        round_ = Admission(self.slots, self.slots.free if room is None else room, self.at, frozenset(full))
        asked = [self.claimed(tenant) for _ in range(count)]
        for one in asked:
            round_.ask(one, target)
        for one in asked:
            if one.fence.run_id not in round_.turned:
                self.slots.hold(one.fence.run_id, tenant, target)
        return round_.turned

    def claimed(self, tenant: str) -> ClaimedRun:
        self.made += 1
        return ClaimedRun(
            fence=Fence(f"run_{self.made}", 1, "tok"),
            tenant_id=tenant,
            schedule_id=None,
            kind="webhook",
            attempt=1,
            max_attempts=3,
            timeout_seconds=None,
            scheduled_for=None,
            ready_at=NOON,
            started_at=NOON,
            cancel_requested=False,
            spec=None,
            config={},
        )

    @property
    def at(self) -> datetime:
        return NOON + timedelta(seconds=self.now)

    def end(self, outcome: Outcome | None = None, *run_ids: str) -> None:
        for run_id in run_ids or list(self.slots.performing):
            self.slots.leave(run_id, outcome, self.at)

    def prove(self, *targets: AttemptTarget) -> None:
        for target in targets:
            self.admit(1, target)
            self.end(Succeeded(), list(self.slots.performing)[-1])


def host(name: str) -> AttemptTarget:
    return AttemptTarget(name, SILENT)


def codes(turned: dict[str, PostponedRun | None]) -> set[str | None]:
    return {None if wait is None else wait.code for wait in turned.values()}


def test_one_target_holds_at_most_half_of_the_slots() -> None:
    bench = Bench(total=20)
    bench.prove(host("a:80"))

    turned = bench.admit(20, host("a:80"))

    assert len(bench.slots.held) == 10
    # Others follow at once while it is quick: nothing is written about them.
    assert codes(turned) == {None}
    bench.now += 1
    assert codes(bench.admit(5, host("a:80"))) == {TARGET}
    assert bench.admit(5, AttemptTarget("b:80")) == {}


def test_a_target_that_has_not_answered_yet_is_tried_by_few() -> None:
    bench = Bench(total=100)

    bench.admit(50, host("new:80"))
    few = len(bench.slots.performing)
    bench.end(Succeeded(), next(iter(bench.slots.performing)))
    bench.admit(80, host("new:80"))

    assert few == 10
    assert len(bench.slots.performing) == 50


def test_attempts_that_wait_for_an_answer_give_their_slots_up_and_others_take_them() -> None:
    bench = Bench()
    bench.prove(host("a:80"))
    bench.admit(5, host("a:80"))
    before = bench.slots.free
    bench.now += STALL + 1

    assert before == 5
    assert bench.slots.free == 10
    assert bench.slots.outside == 5
    assert bench.slots.held == {}


def test_work_of_our_own_keeps_its_slots_however_long_it_takes() -> None:
    bench = Bench()
    bench.admit(10, AttemptTarget("task:long"))
    bench.now += 3600

    assert len(bench.slots.held) == 5
    assert bench.slots.free == 5
    assert codes(bench.admit(1, AttemptTarget("task:long"))) == {TARGET}


@pytest.mark.parametrize("hosts", [5, 20, 30])
def test_however_many_targets_hang_others_find_a_slot(hosts: int) -> None:
    """One after the other, each with more runs than there are slots, all of them known as good before."""
    bench = Bench(total=100)
    bad = [host(f"bad{number}:80") for number in range(hosts)]
    good = [host(f"good{number}:80") for number in range(hosts)]
    bench.prove(*bad, *good)
    for one in bad:
        bench.admit(100, one)
        # It takes a moment until it shows that this one hangs too.
        bench.now += STALL + 1

        assert bench.admit(1, good[0]) == {}
        bench.end(Succeeded(), list(bench.slots.performing)[-1])
    assert all(bench.admit(1, one) == {} for one in good[:5])
    assert len(bench.slots.performing) <= 400


def test_those_that_stall_share_what_one_of_them_had() -> None:
    bench = Bench(total=100)
    first, second = host("first:80"), host("second:80")
    bench.prove(first, second)
    bench.admit(30, first)
    bench.admit(30, second)
    bench.now += STALL + 1

    assert codes(bench.admit(1, first)) == {TARGET}
    # One answer, and it moves again.
    bench.end(Succeeded(), next(run for run, held in bench.slots.performing.items() if held.target == first.name))
    assert bench.admit(1, first) == {}


def test_a_slow_target_that_answers_now_and_then_does_not_stall() -> None:
    bench = Bench(total=100)
    slow = host("slow:80")
    bench.prove(slow)
    for _ in range(40):
        assert bench.admit(1, slow) == {}
        bench.now += 1
        if len(bench.slots.performing) > 20:
            bench.end(Succeeded(), next(iter(bench.slots.performing)))


def test_a_tenant_that_comes_new_to_a_full_target_is_let_in() -> None:
    bench = Bench(total=100)
    bench.prove(host("a:80"))
    bench.admit(60, host("a:80"), "greedy")
    bench.now += 1

    assert bench.admit(1, host("a:80"), "quiet") == {}
    assert codes(bench.admit(1, host("a:80"), "greedy")) == {TARGET}


def test_a_tenant_has_its_share_while_others_wait_and_leaves_some_to_those_who_were_there_lately() -> None:
    bench = Bench(total=8)
    assert bench.admit(8, None, "alone") == {}
    bench.end()
    bench.admit(1, None, "quiet")
    bench.end()

    assert codes(bench.admit(8, None, "greedy")) == {None}
    assert len(bench.slots.held) == 6
    bench.end()
    bench.admit(8, None, "greedy", full=("greedy", "quiet"))
    assert len(bench.slots.held) == 4
    bench.slots.brought = True
    assert codes(bench.admit(1, None, "greedy", full=("greedy", "quiet"))) == {SHARE}


def test_however_many_of_one_tenant_are_put_off_the_few_of_another_come_back_soon() -> None:
    bench = Bench(total=4)
    bench.slots.brought = True
    both = ("greedy", "quiet")
    flood = bench.admit(1000, None, "greedy", room=1000, full=both)
    few = bench.admit(4, None, "quiet", room=4, full=both)

    assert max(wait.until for wait in flood.values() if wait) > bench.at + timedelta(seconds=4)
    assert max(wait.until for wait in few.values() if wait) < bench.at + timedelta(seconds=0.1)


def test_no_more_are_admitted_than_there_is_room_for() -> None:
    bench = Bench()

    turned = bench.admit(9, None, room=4)

    assert len(bench.slots.held) == 4
    assert codes(turned) == {None}


# --- breakers ---------------------------------------------------------------------------------------------------------


def opened(bench: Bench, target: AttemptTarget) -> None:
    for _ in range(3):
        bench.admit(1, target)
        bench.now += 10
        bench.end(TIMED_OUT)


def test_a_breaker_opens_tries_once_and_closes_with_an_answer() -> None:
    bench, target = Bench(), host("a:80")
    opened(bench, target)
    (shown,) = bench.slots.open_breakers(bench.at)

    ((turned),) = bench.admit(1, target).values()
    assert turned is not None
    assert (turned.code, turned.until) == (BREAKER, bench.at + timedelta(seconds=30))
    assert "did not answer 3 attempts in a row (The target did not answer in time)" in turned.message
    assert (shown.state, shown.failures, shown.next_trial_at) == (BreakerState.OPEN, 3, turned.until)

    bench.now += 30
    # Two at once: one is the trial, the other waits for it.
    assert codes(bench.admit(2, target)) == {BREAKER}
    assert [one.state for one in bench.slots.open_breakers(bench.at)] == [BreakerState.HALF_OPEN]
    assert codes(bench.admit(1, target)) == {BREAKER}
    bench.end(Succeeded())
    assert bench.slots.open_breakers(bench.at) == []
    assert bench.admit(1, target) == {}


def test_a_trial_that_fails_doubles_the_wait_up_to_five_minutes() -> None:
    bench, target = Bench(), host("a:80")
    opened(bench, target)
    waits = []
    for _ in range(5):
        (one,) = bench.slots.open_breakers(bench.at)
        assert one.next_trial_at is not None
        waits.append((one.next_trial_at - bench.at).total_seconds())
        bench.now += waits[-1]
        assert bench.admit(1, target) == {}
        bench.end(TIMED_OUT)

    assert waits == [30, 60, 120, 240, 300]


def test_a_trial_that_somebody_stops_decides_nothing() -> None:
    bench, target = Bench(), host("a:80")
    opened(bench, target)
    bench.now += 30
    for outcome in (Cancelled(), HandedBack(), None):
        assert bench.admit(1, target) == {}
        bench.end(outcome)
    assert [one.state for one in bench.slots.open_breakers(bench.at)] == [BreakerState.OPEN]


def test_a_breaker_is_of_one_tenant_and_one_target() -> None:
    bench, target = Bench(), host("a:80")
    opened(bench, target)

    assert bench.admit(1, target, "other") == {}
    assert bench.admit(1, host("b:80")) == {}


def test_refusals_of_a_moment_open_nothing_and_an_answer_of_any_kind_ends_the_row() -> None:
    bench, target = Bench(), host("a:80")
    for _ in range(10):
        bench.admit(1, target)
        bench.end(Failed(AttemptError("target_unreachable", "refused")))
    assert bench.slots.open_breakers(bench.at) == []

    bench.now += 10
    bench.admit(1, target)
    bench.end(Failed(AttemptError("http_500", "The target answered 500.")))
    bench.now += 10
    bench.admit(1, target)
    bench.end(TIMED_OUT)
    assert bench.slots.open_breakers(bench.at) == []


def test_work_of_our_own_has_no_breaker() -> None:
    bench = Bench()
    opened(bench, AttemptTarget("task:slow"))

    assert bench.slots.breakers == {}


def test_a_breaker_whose_target_nobody_asks_for_is_forgotten() -> None:
    bench, target = Bench(), host("a:80")
    opened(bench, target)
    bench.now += 2 * 3600

    assert bench.slots.open_breakers(bench.at) == []
    assert bench.slots.breakers == {}


def test_what_two_processes_report_of_a_target_is_told_as_one() -> None:
    def told(breaker: Breaker, now: float) -> OpenBreakerReport:
        slots = Slots(clock=lambda: now)
        slots.breakers["acme", "a:80"] = breaker
        (found,) = slots.open_breakers(NOON)
        return OpenBreakerReport.from_dict(found.as_dict())

    first = told(Breaker(failures=3, why="late", opened_at=NOON - timedelta(minutes=5), trial_at=60.0, wait=30), 0.0)
    second = told(Breaker(failures=5, why="gone", opened_at=NOON, trial_at=20.0, wait=30), 0.0)
    trying = told(Breaker(failures=1, why="x", opened_at=NOON, trial_at=0.0, wait=30, trial="run_1"), 0.0)

    both = first.beside(second)
    assert (both.since, both.failures, both.why) == (NOON - timedelta(minutes=5), 8, "gone")
    assert both.next_trial_at == NOON + timedelta(seconds=20)
    assert (both.beside(trying).state, both.beside(trying).next_trial_at) == (BreakerState.HALF_OPEN, None)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://Example.com/a?b", "example.com:443"),
        ("http://user:pw@example.com/", "example.com:80"),
        ("http://example.com:8080", "example.com:8080"),
        ("http://[::1]:81/x", "[::1]:81"),
        ("http://[::1]/x", "[::1]:80"),
        ("nothing", None),
        (None, None),
    ],
)
def test_a_webhook_is_known_by_its_host_and_port(url: object, name: str | None) -> None:
    assert place(url) == name


@pytest.mark.parametrize(
    ("kind", "config", "name", "remote"),
    [
        ("webhook", {"url": "https://example.com/hook"}, "example.com:443", True),
        ("grpc", {"target_service": "billing"}, "grpc:billing", True),
        ("crawl", {"spider": "seo"}, "scrapyd", True),
        ("pipeline", {"pipeline": "news"}, "pipeline:news", False),
        ("task", {"task": "tidy"}, "task:tidy", False),
    ],
)
def test_every_action_that_can_hang_names_whom_it_waits_for(
    kind: str, config: dict[str, str], name: str, remote: bool, tmp_path: Path
) -> None:
    app = build(Settings.load({"FOLIOT_HOME": str(tmp_path)}), http=False, engine=True)
    assert app.engine is not None

    target = target_of(app.engine.actions.get(kind), config)

    assert target is not None
    assert (target.name, target.remote) == (name, remote)


def test_what_is_damaged_or_waits_for_nobody_has_no_target() -> None:
    assert target_of(None, {}) is None
