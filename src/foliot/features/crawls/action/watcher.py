"""Polls crawls in groups: one `listjobs` request per node and project, then new log lines and items of each crawl."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from foliot.core.ports import Clock
from foliot.engine.model.run import AttemptError, Cancelled, Failed, Outcome, Parked, Succeeded
from foliot.engine.ports import ParkedRun, StaleAttempt
from foliot.features.crawls.action.control import CrawlStarter, CrawlStopper, jobid_of
from foliot.features.crawls.action.copier import CopiedPart, CopyBudget, CrawlCopier
from foliot.features.crawls.action.handle import CrawlHandle, HandleUnreadable, advance, counted
from foliot.features.crawls.action.scrapyd_client import (
    NodeAnswerTooLarge,
    NodeFailed,
    NodeUnreachable,
    ScrapydClient,
    ScrapydJob,
)
from foliot.features.crawls.action.scrapyd_nodes import ScrapydNodes
from foliot.features.crawls.action.verdict import judge
from foliot.features.expectations.model.facts import EXPECT, DataFacts, seconds_between
from foliot.features.expectations.model.read import needs_items
from foliot.features.expectations.profile import ItemProfile
from foliot.features.expectations.usecases import DataJudge

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


AT_ONCE = 16
"""Maximum crawls whose files are requested concurrently."""
SLOWEST = 5
"""Upper bound of the factor by which a crawl without new lines is polled less often."""
NONE = timedelta(0)

log = structlog.get_logger("foliot.crawl")

Jobs = Mapping[str, ScrapydJob] | NodeFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlWatcher:
    """Polls parked crawls; stateless between polls, everything is in the handles."""

    nodes: ScrapydNodes
    clock: Clock
    data: DataJudge
    starter: CrawlStarter
    stopper: CrawlStopper
    copier: CrawlCopier = field(default_factory=CrawlCopier)
    poll: timedelta
    lost_after: timedelta

    async def look(self, looks: Sequence[ParkedRun]) -> Mapping[str, Outcome]:
        # Each request gets a quarter of the time, and none is sent in the second half.
        time = min(look.ctx.timeout for look in looks)
        until = asyncio.get_running_loop().time() + time.total_seconds() / 2
        tour = CheckRound(time / 4, CopyBudget(crawls=len(looks), until=until))
        handles = {look.ctx.run_id: _handle(look) for look in looks}
        jobs = await self._jobs([handle for handle in handles.values() if isinstance(handle, CrawlHandle)], tour)
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(look: ParkedRun) -> Outcome | None:
            handle = handles[look.ctx.run_id]
            if not isinstance(handle, CrawlHandle):
                return handle
            async with turns:
                try:
                    return await self._one(look, handle, jobs[handle.node, handle.project], tour)
                except StaleAttempt:
                    return None
                except Exception:
                    # An unexpected error of one crawl must not affect the others; this one is polled again later.
                    log.exception("a check of a crawl failed", action="crawl_look_failed", run_id=look.ctx.run_id)
                    return None

        outcomes = await asyncio.gather(*(one(look) for look in looks))
        return {look.ctx.run_id: outcome for look, outcome in zip(looks, outcomes, strict=True) if outcome is not None}

    async def _jobs(self, handles: Sequence[CrawlHandle], tour: CheckRound) -> dict[tuple[str, str], Jobs]:
        """The jobs of each node and project: one request each, however many crawls are polled."""
        groups: dict[tuple[str, str], list[str]] = defaultdict(list)
        for handle in handles:
            groups[handle.node, handle.project].append(handle.jobid)
        answers = await asyncio.gather(*(self._listed(*place, jobids, tour) for place, jobids in groups.items()))
        return dict(zip(groups, answers, strict=True))

    async def _listed(self, url: str, project: str, jobids: Sequence[str], tour: CheckRound) -> Jobs:
        scrapyd = self.nodes.at(url)
        if scrapyd is None:
            return NodeFailed("It is no longer one of the nodes in SCRAPYD_URL.")
        scrapyd = scrapyd.within(tour.patience)
        try:
            jobs: Jobs = await scrapyd.jobs(project)
        except NodeAnswerTooLarge:
            jobs = await _each(scrapyd, project, jobids)
        except NodeFailed as failure:
            jobs = failure
        if isinstance(jobs, NodeFailed):
            self.nodes.failed(url)
        else:
            self.nodes.answered(url)
        return jobs

    async def _one(self, look: ParkedRun, handle: CrawlHandle, jobs: Jobs, tour: CheckRound) -> Outcome:
        sight = CrawlCheck(look, handle, self.clock.now())
        scrapyd = self.nodes.at(handle.node)
        if isinstance(jobs, NodeFailed) or scrapyd is None:
            return self._silent(sight, str(jobs))
        sight.job = jobs.get(handle.jobid) or (FINISHED if handle.state == "finished" else None)
        if reason := tour.silent.get(handle.node):
            return self._silent(sight, reason)
        try:
            return await self._seen(sight, scrapyd.within(tour.patience), tour.budget)
        except NodeUnreachable as failure:
            tour.silent[handle.node] = str(failure)
            return self._silent(sight, str(failure))
        except NodeFailed as failure:
            return self._silent(sight, str(failure))

    async def _seen(self, sight: CrawlCheck, scrapyd: ScrapydClient, budget: CopyBudget) -> Outcome:
        look, handle, job, now = sight.look, sight.handle, sight.job, sight.now
        if look.ended:
            return await self.stopper.let_go(handle, job, scrapyd, now)
        enter(sight)
        trouble = await self._copy(sight, scrapyd, budget)
        if advance(handle, now):
            look.ctx.progress(**handle.progress)
        if job is not None and job.state != "finished":
            stopped = await self.stopper.stop(look, handle, job, scrapyd, now)
            if isinstance(stopped, Cancelled):
                return stopped
            return sight.park(stopped) if stopped is not None and not sight.got.more else self._again(sight)
        if trouble is not None:
            return self._unreadable(sight, trouble)
        return await self._over(sight, scrapyd)

    async def _over(self, sight: CrawlCheck, scrapyd: ScrapydClient) -> Outcome:
        """The outcome of a crawl that does not run any more, as far as its node knows."""
        if sight.got.size or sight.got.more:
            # What was just read must be stored before the run ends: a final outcome carries no items.
            return sight.park(NONE)
        if sight.job is not None or sight.handle.reading.ended:
            return await self._ended(sight, forgotten=sight.job is None)
        return await self._unknown(sight, scrapyd)

    async def _copy(self, sight: CrawlCheck, scrapyd: ScrapydClient, budget: CopyBudget) -> NodeFailed | None:
        """Copies what is new; returns the failure when the node knows the crawl and cannot serve its files."""
        handle, job, got = sight.handle, sight.job, sight.got
        try:
            if job is None or job.state != "pending":
                await self._copy_files(sight, scrapyd, budget)
        except NodeFailed as failure:
            if job is None or isinstance(failure, NodeUnreachable):
                raise
            if handle.trouble_since is None:
                sight.look.ctx.log(f"The files of the crawl cannot be read. {failure}", level="warning")
            handle.trouble_since = handle.trouble_since or sight.now
            return failure
        if job is not None or got.size or got.more:
            handle.trouble_since = None
        return None

    async def _copy_files(self, sight: CrawlCheck, scrapyd: ScrapydClient, budget: CopyBudget) -> None:
        handle, job, got = sight.handle, sight.job, sight.got
        got.missing = True
        if job is None or job.has_log:
            read = await self.copier.copy_log(scrapyd, handle, sight.look.ctx.log, budget, sight.now, ended=sight.over)
            got.missing = read.missing
            got.add(read)
        if job is None or job.has_items:
            got.add(await self.copier.copy_items(scrapyd, handle, budget))
        if got.size or got.more:
            handle.idle = 0

    def _again(self, sight: CrawlCheck) -> Parked:
        """At once while there is more; else after the poll interval, with back-off while nothing is new."""
        if sight.got.more:
            return sight.park(NONE)
        return sight.park(together(sight.now, self.poll, 1) if sight.got.size else self._rest(sight.handle))

    def _rest(self, handle: CrawlHandle) -> timedelta:
        """Delay after a poll that copied nothing: back-off by 1.5, up to `SLOWEST`."""
        slower = min(1.5**handle.idle, SLOWEST)
        handle.idle = min(handle.idle + 1, 10)
        return together(self.clock.now(), self.poll, slower)

    async def _ended(self, sight: CrawlCheck, *, forgotten: bool) -> Outcome:
        look, handle = sight.look, sight.handle
        outcome = judge(handle, look.ctx.config, forgotten=forgotten, missing=sight.got.missing)
        if left_out := handle.items.left_out:
            look.ctx.log(f"{left_out} items could not be kept: too large, or not JSON", level="warning")
        if isinstance(outcome, Failed) and handle.stopping is not None:
            return self.stopper.stopped(handle, look.ctx.limit)
        if isinstance(outcome, Succeeded) and (expect := look.ctx.config.get(EXPECT)):
            outcome = await self._judged(sight, outcome, expect)
        message, level = _closing_line(outcome)
        look.ctx.log(message, level=level)
        return outcome

    async def _judged(self, sight: CrawlCheck, outcome: Succeeded, expect: Mapping[str, Any]) -> Succeeded:
        """The outcome with the verdict on its items, all of which are stored by now."""
        look, handle = sight.look, sight.handle
        counts, seconds = counted(handle), seconds_between(handle.since or look.started_at, sight.now)
        facts = DataFacts(items=counts["items"], errors=counts["errors"], seconds=seconds)
        if needs_items(expect):
            profile = ItemProfile(expect)
            async for item in self.data.items(look.ctx.tenant_id, look.ctx.run_id):
                profile.add(item)
            facts = profile.facts(errors=counts["errors"], seconds=seconds)
        verdict = await self.data.judge(look.ctx.tenant_id, look.ctx.schedule_id, expect, facts)
        return replace(outcome, result=verdict.into(outcome.result), degraded=verdict.problem)

    async def _unknown(self, sight: CrawlCheck, scrapyd: ScrapydClient) -> Outcome:
        """For a crawl that Scrapyd does not know: it was never started, or Scrapyd was restarted."""
        look, handle, now = sight.look, sight.handle, sight.now
        if handle.state == "starting" and sight.got.missing:
            if look.cancel and now - handle.asked_at > self.starter.certain:
                return Cancelled("cancelled on request, before Scrapyd had started it")
            return await self.starter.again(look.ctx, handle, scrapyd, now, self._wait(now))
        if handle.state != "unknown":
            handle.state = "unknown"
            look.ctx.log(f"{handle.name} no longer knows the crawl; following its log", level="warning")
        handle.trouble_since = handle.trouble_since or now
        if now - handle.trouble_since < self.lost_after:
            return sight.park(self._wait(now))
        return await self._ended(sight, forgotten=True)

    def _unreadable(self, sight: CrawlCheck, reason: NodeFailed) -> Outcome:
        """For a crawl that has ended and whose files cannot be read."""
        since = sight.handle.trouble_since or sight.now
        if sight.now - since < self.lost_after:
            return sight.park(self._wait(sight.now))
        problem = AttemptError(
            "log_unreadable", f"The crawl has ended, but its outcome is unknown: its files cannot be read. {reason}"
        )
        sight.look.ctx.log(problem.message, level="error")
        return Failed(problem, permanent=True)

    def _silent(self, sight: CrawlCheck, reason: str) -> Outcome:
        """For a crawl whose node gives no usable answer: parks it, and fails it as lost after `lost_after`."""
        look, handle, now = sight.look, sight.handle, sight.now
        if handle.trouble_since is None:
            handle.trouble_since = now
            look.ctx.log(f"{handle.name} did not answer about the crawl. {reason}", level="warning")
        if now - handle.trouble_since < self.lost_after:
            return sight.park(min(self._rest(handle), self.lost_after))
        seconds = round((now - handle.trouble_since).total_seconds())
        message = f"{handle.name} has not answered for {seconds} s: the crawl is lost. {reason}"
        look.ctx.log(message, level="error")
        if look.cancel or look.ended:
            return Cancelled(f"cancelled on request; it may still run, because {handle.name} does not answer")
        return Failed(AttemptError("node_lost", message))

    def _wait(self, now: datetime) -> timedelta:
        return min(together(now, self.poll, 1), self.lost_after)


def _handle(look: ParkedRun) -> CrawlHandle | Failed | Cancelled:
    """Parses the handle; if that fails, the outcome of the run."""
    try:
        return CrawlHandle.of(look.handle)
    except HandleUnreadable as error:
        log.exception("a crawl cannot be found again", action="crawl_handle_unreadable", run_id=look.ctx.run_id)
        if look.cancel or look.ended:
            return Cancelled(
                "cancelled on request; it may still run, because the data needed to find it cannot be read"
            )
        problem = AttemptError(
            "handle_unreadable",
            f"The data needed to find the crawl again cannot be read ({error}). If Scrapyd still runs it, under the "
            f"name {jobid_of(look.ctx.run_id, look.ctx.attempt)}, stop it there.",
        )
        look.ctx.log(problem.message, level="error")
        return Failed(problem, permanent=True)


async def _each(scrapyd: ScrapydClient, project: str, jobids: Sequence[str]) -> Jobs:
    """Requests each crawl by itself, when the list exceeds the size limit."""
    jobs: dict[str, ScrapydJob] = {}
    try:
        for jobid in jobids:
            job = await scrapyd.state(project, jobid)
            if job is not None:
                jobs[jobid] = job
    except NodeFailed as failure:
        return failure
    return jobs


def _closing_line(outcome: Succeeded | Failed) -> tuple[str, str]:
    if isinstance(outcome, Failed):
        return outcome.problem.message, "error"
    result = outcome.result
    return f"Finished: {result['pages']} pages, {result['items']} items, {result['errors']} errors", "info"
