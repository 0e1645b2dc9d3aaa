"""The judge of chains: it must notice a follower too many, one that is lost, and one that follows a failure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from chaos.chains import rounds, violations
from chaos.history import Followed, History, Made, Tried

NOON = datetime(2027, 1, 4, 12, tzinfo=UTC)


def run(name: str, schedule: str, parent: str | None = None, state: str = "success", origin: str = "after") -> Made:
    return Made(name, schedule, None, state, 1, 3, NOON, parent=parent, origin=origin)


def judged(*runs: Made, every_one: bool = False) -> list[str]:
    followed = Followed("D", ("B", "C"), every_one) if every_one else Followed("B", ("A",), all=False)
    return list(violations(History(eras=(), runs=runs, followed=[followed])))


def test_each_success_has_one_follower() -> None:
    first, again = run("a1", "A", origin="instant"), run("a2", "A", "a0", origin="retry")
    lost = run("a0", "A", state="dead_letter", origin="instant")
    assert judged(first, lost, again, run("b1", "B", "a1"), run("b2", "B", "a2")) == []


def test_a_second_follower_a_lost_one_and_one_of_a_failure_are_noticed() -> None:
    parents = (run("a1", "A", origin="instant"), run("a2", "A", state="dead_letter", origin="instant"))
    assert judged(*parents, run("b1", "B", "a1"), run("b2", "B", "a1")) == ["G1: a1 was followed 2 times by B"]
    assert judged(*parents) == ["G2: a1 succeeded, and B has no run for it"]
    assert judged(*parents, run("b1", "B", "a1"), run("b2", "B", "a2")) == ["G2: B follows a2, which did not succeed"]


def test_a_success_before_the_follower_was_created_owes_nothing() -> None:
    lost: dict[bool, list[str]] = {True: [], False: ["G2: a1 succeeded, and B has no run for it"]}
    for before, expected in lost.items():
        at = NOON - timedelta(seconds=1) if before else NOON + timedelta(seconds=1)
        ended = Tried("a1", 1, 1, "w", "success", at, at)
        followed = [Followed("B", ("A",), all=False, since=NOON)]
        history = History(eras=(), runs=[run("a1", "A", origin="instant")], attempts=[ended], followed=followed)
        assert list(violations(history)) == expected


def test_all_together_run_no_more_often_than_the_rarest() -> None:
    each = (run("b1", "B"), run("b2", "B"), run("c1", "C"))
    assert judged(*each, run("d1", "D", "c1"), every_one=True) == []
    assert judged(*each, every_one=True) == ["G2: D has 0 runs, and its parents succeeded [2, 1] times"]
    found = judged(*each, run("d1", "D", "c1"), run("d2", "D", "b2"), every_one=True)
    assert found == ["G2: D has 2 runs, and its parents succeeded [2, 1] times"]


def test_the_report_counts_rounds() -> None:
    chain = [Followed("B", ("A",), all=False), Followed("C", ("A",), all=False), Followed("D", ("B", "C"), all=True)]
    good = (run("a1", "A", origin="instant"), run("b1", "B", "a1"), run("c1", "C", "a1"), run("d1", "D", "c1"))
    bad = (run("a2", "A", state="dead_letter", origin="instant"),)
    told = rounds(History(eras=(), runs=[*good, *bad], followed=chain))
    assert told == "1 rounds: 2 runs to follow, 2 followed; 1 behind both"
    assert rounds(History(eras=(), runs=good)) == ""
