"""Starts crawls idempotently on the least loaded node, and stops them: by a graceful signal, then by KILL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import structlog

from foliot.core.egress import EgressFailed, EgressRefused
from foliot.core.ports import Clock
from foliot.engine.model.run import AttemptError, Cancelled, Failed, Outcome, Parked
from foliot.engine.ports import ActionContext, ParkedRun
from foliot.features.crawls.action.config import CrawlTargets, argument
from foliot.features.crawls.action.handle import FROM_HERE, CrawlHandle, StopRequest
from foliot.features.crawls.action.scrapyd_client import (
    START_PATIENCE,
    NodeFailed,
    NodeRefused,
    ScrapydClient,
    ScrapydJob,
)
from foliot.features.crawls.action.scrapyd_nodes import ScrapydNodes
from foliot.features.fetching.model import host_of

log = structlog.get_logger("foliot.crawl")

MOST_STARTS = 3
CACHE_SCOPE = "FOLIOT_CACHE_SCOPE"
"""The setting that says who shares the pages of `foliot.scrapy`'s cache."""
HOST_DELAY = "FOLIOT_HOST_DELAY"
"""The setting with the delay that `foliot.scrapy.PolitenessMiddleware` falls back on."""
LOOKUP_SECONDS = 30
"""Time limit of the name lookups of a crawl, for all hosts together."""
_LOOKUPS = 16


HostDelay = Callable[[Sequence[str]], Awaitable[timedelta]]
"""The longest interval between requests to any of these hosts, now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlStarter:
    """Sends the start request, after the handle with the node was committed."""

    nodes: ScrapydNodes
    targets: CrawlTargets
    clock: Clock
    poll: timedelta
    certain: timedelta = START_PATIENCE
    """After this long, a start request without an answer cannot be in flight any more."""
    delay_of: HostDelay | None = None
    """The longest interval of these hosts now: what a spider keeps while it can get no turns."""

    async def start(self, ctx: ActionContext) -> Outcome:
        refusal = await self._refused(ctx)
        if refusal is not None:
            ctx.log(f"Not started: {refusal.problem.message}", level="error")
            return refusal
        if ctx.attempt > 1 and (found := await self._still_there(ctx)) is not None:
            return found
        said: list[str] = []
        for scrapyd in await self.nodes.by_load(ctx.run_id):
            try:
                return await self._start_on(scrapyd, ctx)
            except NodeRefused as refused:
                said.append(f"{scrapyd.node.name} says: {refused}")
                ctx.log(said[-1], level="error")
        if said and len(said) >= len(self.nodes):
            return Failed(AttemptError("crawl_refused", f"The crawl could not be started. {said[-1]}"), permanent=True)
        problem = AttemptError("no_node", f"There is no Scrapyd for the crawl: {self._why_none(said)}.")
        ctx.log(problem.message, level="error")
        return Failed(problem)

    def _why_none(self, said: Sequence[str]) -> str:
        many = len(self.nodes)
        if said:
            return f"{many - len(said)} of {many} did not answer, and {said[-1].removesuffix('.')}"
        return (
            "SCRAPYD_URL names none" if not many else "it does not answer" if many == 1 else f"none of {many} answers"
        )

    async def again(
        self, ctx: ActionContext, handle: CrawlHandle, scrapyd: ScrapydClient, now: datetime, wait: timedelta
    ) -> Parked | Failed:
        """Repeats a start that may have been lost, once the first request cannot be in flight any more."""
        if now - handle.asked_at <= self.certain:
            return Parked(handle.as_dict(), wait)
        if handle.starts >= MOST_STARTS:
            problem = AttemptError(
                "not_started", f"{handle.name} was asked {handle.starts} times and did not start the crawl."
            )
            return Failed(problem)
        handle.starts += 1
        handle.asked_at = now
        # Fenced: an attempt that has lost its lease starts nothing.
        await ctx.note(handle.as_dict())
        try:
            await self._schedule(scrapyd, ctx, handle)
        except NodeRefused as refused:
            return Failed(AttemptError("crawl_refused", f"{handle.name} says: {refused}"), permanent=True)
        ctx.log(f"Started on {handle.name} as {handle.jobid}")
        return Parked(handle.as_dict(), wait)

    async def _start_on(self, scrapyd: ScrapydClient, ctx: ActionContext) -> Parked:
        handle = self._handle(ctx, scrapyd, jobid_of(ctx.run_id, ctx.attempt))
        await ctx.note(handle.as_dict())
        try:
            await self._schedule(replace(scrapyd, patience=START_PATIENCE), ctx, handle)
        except NodeRefused:
            raise
        except NodeFailed as failure:
            self.nodes.failed(scrapyd.node.url)
            said = f"{handle.name} was asked to start the crawl. {failure} Checking whether it did"
            ctx.log(said, level="warning")
            return Parked(handle.as_dict(), self.poll)
        self.nodes.sent(handle.node)
        ctx.log(f"Started on {handle.name} as {handle.jobid}")
        log.info("a crawl was started", action="crawl_started", run_id=ctx.run_id, node=handle.node, jobid=handle.jobid)
        return Parked(handle.as_dict(), timedelta(0))

    def _handle(self, ctx: ActionContext, scrapyd: ScrapydClient, jobid: str) -> CrawlHandle:
        return CrawlHandle(
            node=scrapyd.node.url,
            name=scrapyd.node.name,
            project=str(ctx.config["project"]),
            spider=str(ctx.config["spider"]),
            jobid=jobid,
            asked_at=self.clock.now(),
        )

    async def _still_there(self, ctx: ActionContext) -> Parked | None:
        """Adopts the crawl of an earlier attempt that counted as lost and still runs, instead of starting a second."""
        earlier = {jobid_of(ctx.run_id, attempt) for attempt in range(1, ctx.attempt)}
        for scrapyd in await self.nodes.by_load(ctx.run_id):
            try:
                jobs = await scrapyd.jobs(str(ctx.config["project"]))
            except NodeFailed:
                continue
            for jobid in sorted(earlier & jobs.keys()):
                if jobs[jobid].state != "finished":
                    handle = self._handle(ctx, scrapyd, jobid)
                    handle.log.known = FROM_HERE if jobs[jobid].state == "running" else 0
                    await ctx.note(handle.as_dict())
                    ctx.log(f"The crawl {jobid} of an earlier attempt is still running on {handle.name}: following it")
                    return Parked(handle.as_dict(), timedelta(0))
        return None

    async def _schedule(self, scrapyd: ScrapydClient, ctx: ActionContext, handle: CrawlHandle) -> None:
        arguments, settings = asked(ctx.config)
        # The cache of spiders is scoped by tenant.
        settings[CACHE_SCOPE] = ctx.tenant_id
        if self.delay_of is not None and HOST_DELAY not in settings:
            hosts = sorted({host_of(url) for url in ctx.config["start_urls"]})
            settings[HOST_DELAY] = f"{(await self.delay_of(hosts)).total_seconds():g}"
        await scrapyd.schedule((handle.project, handle.spider, handle.jobid), arguments, settings)

    async def _refused(self, ctx: ActionContext) -> Failed | None:
        """Checks the addresses again: DNS may have changed since the request (rebinding)."""
        places = {
            urlsplit(url)._replace(path="/", query="", fragment="").geturl(): url for url in ctx.config["start_urls"]
        }
        turns = asyncio.Semaphore(_LOOKUPS)

        async def ask(url: str) -> Failed | None:
            async with turns:
                try:
                    await self.targets.admit(url, ctx.tenant_id)
                except EgressRefused as refusal:
                    return Failed(
                        AttemptError("address_refused", f"A crawl may not go to {url[:200]}: {refusal}"), permanent=True
                    )
                except EgressFailed as failure:
                    return Failed(AttemptError(failure.code, f"A crawl cannot go to {url[:200]}: {failure.message}"))
                return None

        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                answers = await asyncio.gather(*(ask(url) for url in places.values()))
        except TimeoutError:
            said = f"The hosts of start_urls could not all be looked up within {LOOKUP_SECONDS} s."
            return Failed(AttemptError("target_unreachable", said))
        return next((answer for answer in answers if answer is not None), None)


def jobid_of(run_id: str, attempt: int) -> str:
    """The job id at Scrapyd of an attempt."""
    return run_id if attempt == 1 else f"{run_id}-{attempt}"


def asked(config: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Arguments of the spider and settings of Scrapy."""
    arguments = {name: argument(f"params.{name}", value) for name, value in (config.get("params") or {}).items()}
    settings = {}
    if config["start_urls"]:
        # Separated by commas, which are also valid in URLs.
        arguments["start_urls"] = ",".join(str(url).replace(",", "%2C") for url in config["start_urls"])
    depth = config.get("depth")
    if depth is not None:
        arguments["depth"] = str(depth)
        # For Scrapy 0 means no limit; here it means the start pages only.
        settings["DEPTH_LIMIT"] = str(depth or -1)
    return arguments, settings


PATIENCE = timedelta(seconds=10)
"""How long a spider may take to close after each signal. The second makes Scrapy drop its requests; then it is
killed."""
_SIGNALS = (None, None, "KILL")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlStopper:
    """Sends the next signal when the time for the last one is over."""

    poll: timedelta
    patience: timedelta = PATIENCE
    certain: timedelta = START_PATIENCE
    """After this long, a start request without an answer cannot be in flight any more."""

    async def stop(
        self, look: ParkedRun, handle: CrawlHandle, job: ScrapydJob, scrapyd: ScrapydClient, now: datetime
    ) -> timedelta | Cancelled | None:
        """Stops a crawl that is cancelled or exceeds its time limit; returns the delay until the next poll.

        None: it may continue.
        """
        why = _why(look, handle, now)
        if why is None:
            return None
        first = handle.stopping is None
        previous = await self._signal(handle, why, scrapyd, now)
        if previous == "pending" and job.state == "pending" and why == "cancel":
            return Cancelled("cancelled on request, before it had begun")
        if first:
            look.ctx.log(_said(why, look.ctx.limit), level="warning")
        return self._soon

    def stopped(self, handle: CrawlHandle, limit: timedelta | None) -> Cancelled | Failed:
        """The outcome of a crawl that ended because of a signal."""
        assert handle.stopping is not None  # noqa: S101 -- asked of such crawls only
        if handle.stopping.why == "cancel":
            return Cancelled("cancelled on request; Scrapyd has stopped the crawl")
        return Failed(AttemptError("timeout", f"{_said('limit', limit)}; it was stopped"), permanent=True)

    async def let_go(
        self, handle: CrawlHandle, job: ScrapydJob | None, scrapyd: ScrapydClient, now: datetime
    ) -> Parked | Cancelled:
        """Stops a crawl whose run has ended already."""
        if job is None and self._may_begin(handle, now):
            return Parked(handle.as_dict(), self._soon)
        if job is None or job.state == "finished":
            return Cancelled()
        await self._signal(handle, "cancel", scrapyd, now)
        return Parked(handle.as_dict(), self._soon)

    def _may_begin(self, handle: CrawlHandle, now: datetime) -> bool:
        """It was not seen yet, and Scrapyd may still be about to start it."""
        return handle.state == "starting" and handle.stopping is None and now - handle.asked_at <= self.certain

    async def _signal(self, handle: CrawlHandle, why: str, scrapyd: ScrapydClient, now: datetime) -> str | None:
        stopping = handle.stopping
        if stopping is not None and now - stopping.at < self.patience:
            return None
        calls = 0 if stopping is None else stopping.calls
        previous = await scrapyd.cancel(handle.project, handle.jobid, _SIGNALS[min(calls, len(_SIGNALS) - 1)])
        handle.stopping = StopRequest(why if stopping is None else stopping.why, calls + 1, now)
        return previous

    @property
    def _soon(self) -> timedelta:
        return min(self.poll, timedelta(seconds=1))


def _why(look: ParkedRun, handle: CrawlHandle, now: datetime) -> str | None:
    if handle.stopping is not None:
        return handle.stopping.why
    if look.cancel:
        return "cancel"
    limit = look.ctx.limit
    return "limit" if limit is not None and handle.since is not None and now - handle.since >= limit else None


def _said(why: str, limit: timedelta | None) -> str:
    if why == "cancel":
        return "Asked Scrapyd to stop the crawl"
    seconds = 0 if limit is None else limit.total_seconds()
    return f"The crawl ran longer than its time limit of {seconds:g} s"
