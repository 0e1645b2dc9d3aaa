"""Rules about runs that repeat others or make up for instants, and about work that goes on outside Foliot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from chaos.chains import AFTER
from chaos.history import History, Made

OWN = 1
"""A pipeline without a schedule runs once by itself."""


def violations(history: History) -> list[str]:
    return [*_repeated(history), *_filled(history), *_started(history)]


def unnamed(history: History, run: Made) -> bool:
    """Whether its request was answered without its id: by a bulk action, a backfill, or a pipeline file."""
    if run.parent is not None:
        return run.parent in history.repeats
    return run.kind == "pipeline" or (run.fills is not None and run.schedule in history.backfilled)


def _repeated(history: History) -> Iterable[str]:
    """Each run is repeated as often as that was asked for: no more, no less."""
    asked = Counter(history.repeats)
    made = Counter(run.parent for run in history.runs if run.parent is not None and run.origin != AFTER)
    for run in sorted({*asked, *made}):
        if made[run] != asked[run]:
            yield f"G14: {run} was to be repeated {asked[run]} times, and was {made[run]} times"
    own = [run.id for run in history.runs if run.kind == "pipeline" and run.id not in history.manual]
    if len(own) > OWN:
        yield f"G1: the pipeline ran {len(own)} times unasked, not {OWN}"


def _filled(history: History) -> Iterable[str]:
    """An instant is made up for once at most, and never when its own run succeeded."""
    good = {"success", "partial"}
    own = {(run.schedule, run.at) for run in history.runs if run.at is not None and run.state in good}
    filled = Counter(
        (run.schedule, run.fills)
        for run in history.runs
        if run.fills is not None and run.parent is None and run.state in good
    )
    for (schedule, instant), count in filled.items():
        if count > 1 or (schedule, instant) in own:
            yield f"G14: {schedule}: the instant {instant} was made up for {count} times, though it had a success"


def _started(history: History) -> Iterable[str]:
    """A spider is started once for each attempt (G7): the job's id is looked up before it is started again."""
    jobs = Counter(history.spiders)
    yield from (f"G7: the spider {job} was started {count} times" for job, count in jobs.items() if count > 1)
    attempts = {run.id: run.attempt for run in history.runs if run.kind == "crawl"}
    started = Counter(job.rpartition("-")[0] if job.count("-") else job for job in jobs)
    for run, count in started.items():
        if count > attempts.get(run, 0):
            yield f"G7: {run} started {count} spiders in {attempts.get(run, 0)} attempts"
