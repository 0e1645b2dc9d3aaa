"""Stops crawls: by the signal for a graceful shutdown, again, then by KILL; their logs are copied meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.engine.model.run import AttemptError, Cancelled, Failed, Parked
from foliot.engine.ports import ParkedRun
from foliot.features.crawls.action.handle import CrawlHandle, StopRequest
from foliot.features.crawls.action.scrapyd_client import START_PATIENCE, ScrapydClient, ScrapydJob

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
