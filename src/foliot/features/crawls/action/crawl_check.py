"""One look at one crawl, and what all looks of one round share."""

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
    """What all looks of one round share."""

    patience: timedelta
    budget: CopyBudget
    silent: dict[str, str] = field(default_factory=dict)
    """Nodes that fell silent on the way, and how: the others need not find out one after the other."""


@dataclass(slots=True)
class CrawlCheck:
    """One look at one crawl."""

    look: ParkedRun
    handle: CrawlHandle
    now: datetime
    job: ScrapydJob | None = None
    """None when Scrapyd does not know it."""
    got: CopiedPart = field(default_factory=CopiedPart)

    @property
    def over(self) -> bool:
        """Its process has ended: what it wrote is all there is."""
        return self.job is not None and self.job.state == "finished"

    def park(self, after: timedelta) -> Parked:
        return Parked(self.handle.as_dict(), after, tuple(self.got.items))


def enter(sight: CrawlCheck) -> None:
    """Note what Scrapyd says of it, and tell those who read along."""
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
    """How long until the next moment at which crawls are looked at: the same for all, so that one question serves many.

    At least `slower` polls from now, on the grid of polls.
    """
    step = poll.total_seconds()
    at = now.timestamp()
    return timedelta(seconds=max(math.ceil((at + step * slower) / step) * step - at, 0))
