"""Rules about schedules that follow others: each success of a parent has one follower."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from chaos.history import Followed, History, Made

AFTER = "after"
REPEATED = frozenset({"retry", "replay"})
CHAIN: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("B", ("A",), False),
    ("C", ("A",), False),
    ("D", ("B", "C"), True),
)
"""Name, parents, and whether it waits for all of them. A is a schedule of the campaign."""


def document(name: str, parents: Iterable[str], url: str, *, every_one: bool) -> dict[str, object]:
    return {
        "name": f"Chain {name}",
        "type": "after",
        "after": {"schedule": list(parents), "all": every_one},
        "action": {"kind": "webhook", "url": url},
        "retry_policy": {"strategy": "fixed", "max_retries": 50, "delay_seconds": 0.2, "jitter": 0},
        "overlap": "allow_all",
        "catchup": {"mode": "all", "max_runs": 1000},
    }


def violations(history: History) -> Iterable[str]:
    runs = {run.id: run for run in history.runs}
    for one in history.followed:
        ended = {root(run, runs) for run in history.runs if run.schedule in one.parents and run.state == "success"}
        made = [run for run in history.runs if run.schedule == one.child and run.origin == AFTER]
        parents = [runs[run.parent] for run in made if run.parent is not None and run.parent in runs]
        followed = Counter(root(parent, runs) for parent in parents)
        twice = sorted(run for run, count in followed.items() if count > 1)
        yield from (f"G1: {run} was followed {followed[run]} times by {one.child}" for run in twice)
        yield from (f"G2: {one.child} follows {run}, which did not succeed" for run in sorted(followed.keys() - ended))
        if one.all:
            yield from _all(one, history, runs, len(made))
        else:
            lost = sorted(run for run in ended - followed.keys() if run not in early(one, history, runs))
            yield from (f"G2: {run} succeeded, and {one.child} has no run for it" for run in lost)


def early(one: Followed, history: History, runs: Mapping[str, Made]) -> set[str]:
    """Runs that succeeded before the schedule that follows was created: on a slow machine, the first instants do."""
    if one.since is None:
        return set()
    ends = {tried.run: tried.ended for tried in history.attempts if tried.outcome == "success"}
    return {root(runs[run], runs) for run, at in ends.items() if at <= one.since and run in runs}


def _all(one: Followed, history: History, runs: Mapping[str, Made], made: int) -> Iterable[str]:
    """No more than the parent that succeeded least, and one at least where each has succeeded."""
    each = [
        len({root(run, runs) for run in history.runs if run.schedule == parent and run.state == "success"})
        for parent in one.parents
    ]
    if made > min(each) or (min(each) and not made):
        yield f"G2: {one.child} has {made} runs, and its parents succeeded {each} times"


def rounds(history: History) -> str:
    """How often the parents succeeded, and how many runs followed; empty where there was no chain."""
    if not history.followed:
        return ""
    runs = {run.id: run for run in history.runs}
    ended = {(run.schedule, root(run, runs)) for run in history.runs if run.state == "success"}
    good = Counter(schedule for schedule, _ in ended)
    made = Counter(run.schedule for run in history.runs if run.origin == AFTER)
    every, each = ([one for one in history.followed if one.all is all_] for all_ in (True, False))
    wanted = sum(good[parent] for one in each for parent in one.parents)
    followed, both = (sum(made[one.child] for one in some) for some in (each, every))
    return f"{wanted // 2} rounds: {wanted} runs to follow, {followed} followed; {both} behind both"


def root(run: Made, runs: Mapping[str, Made]) -> str:
    """The run that a run repeats, directly or not."""
    while run.origin in REPEATED and run.parent is not None and run.parent in runs:
        run = runs[run.parent]
    return run.id
