"""What is asked of the store about crawls: who asked for the same, what came home, and the list of jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from foliot.domain.article import Counts
from foliot.domain.run import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlRequest:
    """A request for a crawl, on its way to become the one whose job others are given."""

    tenant_id: str
    fingerprint: str
    job_id: str
    """The id its job would have."""
    now: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class KnownJob:
    """The job that requests of this fingerprint are given."""

    job_id: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Items:
    """A part of what one attempt of a crawl brought home."""

    items: Sequence[Any]
    total: int
    """How many are kept."""
    not_kept: int = 0
    """How many more there were for which there was no room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job, whosever it is, with what it was told to do."""

    id: str
    tenant_id: str
    user_id: str
    schedule_id: str | None
    kind: str
    state: RunState
    attempt: int
    scheduled_for: datetime | None
    next_at: datetime | None
    """When its schedule fires next."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    event_seq: int
    """Grows with whatever happens to it."""
    handle: Mapping[str, Any] | None
    error: Mapping[str, Any] | None
    config: Mapping[str, Any]
    counts: Counts | None
    article_ids: Sequence[str] = ()


class Crawls(Protocol):
    """Requests for crawls, and their items."""

    async def all_jobs_after(self, kinds: Collection[str], run_id: str, limit: int) -> Sequence[str]:
        """As `jobs_after`, of all tenants."""
        ...

    async def job_views(self, run_ids: Sequence[str]) -> Sequence[JobView]:
        """These jobs, whosever they are, by id."""
        ...

    async def known(self, tenant_id: str, fingerprint: str, now: datetime) -> KnownJob | None:
        """The job of such a request if it was made lately and its job did not fail; changes nothing."""
        ...

    async def settle(self, request: CrawlRequest, *, anew: bool) -> KnownJob:
        """Whose job counts from now on: the known one, or the request's own. `anew` wants its own in any case.

        Whoever makes the same request next waits until this transaction ends.
        """
        ...

    async def claim(self, requests: Sequence[CrawlRequest]) -> set[str]:
        """The job ids of those that nobody has asked for: from now on others are given them. The rest changes nothing.

        Whoever makes the same request next waits until this transaction ends.
        """
        ...

    async def unclaim(self, tenant_id: str, fingerprints: Collection[str]) -> None:
        """Nobody has asked for these after all."""
        ...

    async def items(self, tenant_id: str, run_id: str, attempt: int, skip: int, limit: int) -> Items:
        """At most so many after the first `skip`; fewer when they are large, but never none while there are some."""
        ...

    async def jobs(
        self,
        tenant_id: str,
        kinds: Collection[str],
        states: Collection[RunState],
        limit: int,
        skip: int,
        *,
        noted: bool | None = None,
    ) -> tuple[list[str], int]:
        """Ids of runs of these kinds and states, newest first, and how many there are in all.

        `noted`: in place of the states of runs that wait, those of them whose articles are noted, or are not.
        """
        ...

    async def jobs_after(self, tenant_id: str, kinds: Collection[str], run_id: str, limit: int) -> list[str]:
        """Ids of runs of these kinds that were made after this one, the oldest first, whatever became of them."""
        ...
