"""State of one poll of one crawl, and of a poll round."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from foliot.engine.model.run import Parked
from foliot.engine.ports import ParkedRun
from foliot.features.crawls.action.copier import CopiedPart, CopyBudget
from foliot.features.crawls.action.handle import CrawlHandle
from foliot.features.crawls.action.scrapyd_client import ScrapydJob

FINISHED = ScrapydJob("finished")


@dataclass(frozen=True, slots=True)
class CheckRound:
    """State that all polls of one round share: time limit, copy budget, unreachable nodes."""

    patience: timedelta
    budget: CopyBudget
    silent: dict[str, str] = field(default_factory=dict)
    """Nodes that became unreachable in this round, and why: other crawls need not wait for the timeout again."""


@dataclass(slots=True)
class CrawlCheck:
    """One poll of one crawl."""

    look: ParkedRun
    handle: CrawlHandle
    now: datetime
    job: ScrapydJob | None = None
    """None when Scrapyd does not know it."""
    got: CopiedPart = field(default_factory=CopiedPart)

    @property
    def over(self) -> bool:
        """Its process has ended: its files do not grow any more."""
        return self.job is not None and self.job.state == "finished"

    def park(self, after: timedelta) -> Parked:
        return Parked(self.handle.as_dict(), after, tuple(self.got.items))


def enter(sight: CrawlCheck) -> None:
    """Stores the state that Scrapyd reports, and logs a change of it."""
    look, handle, job = sight.look, sight.handle, sight.job
    if job is None:
        return
    if job.state == handle.state:
        return
    if job.state == "pending":
        look.ctx.log(f"Waiting on {handle.name} for a free process")
    if job.state == "running":
        look.ctx.log(f"Running on {handle.name} as {handle.jobid}")
    if job.state != "pending" and handle.since is None:
        handle.since = sight.now
    handle.state = job.state
    handle.idle = 0


def together(now: datetime, poll: timedelta, slower: float) -> timedelta:
    """Delay until the next poll, on a grid that all crawls share, so that one request to a node serves many.

    At least `slower` polls from now, on the grid of polls.
    """
    step = poll.total_seconds()
    at = now.timestamp()
    return timedelta(seconds=max(math.ceil((at + step * slower) / step) * step - at, 0))
