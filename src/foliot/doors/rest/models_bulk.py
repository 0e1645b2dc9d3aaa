"""What bulk actions take and answer."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from foliot.domain.bulk import MOST_IDS, Act, BulkState, Order
from foliot.domain.run import RunState
from foliot.doors.rest.bodies import Model


class BulkRequest(Model):
    """One action on many: cancel, retry, replay and discard act on runs, the others on schedules."""

    action: Act
    filter: str | None = Field(None, max_length=1000, description="Everything that this filter matches now.")
    ids: list[str] | None = Field(None, min_length=1, max_length=MOST_IDS, description="Or these.")
    rate: int = Field(5, ge=1, le=50, description="Items a second.")
    stop_after: int | None = Field(None, ge=1, description="Stop when so many failed.")
    order: Order = Order.OLDEST
    dry_run: bool = Field(default=False, description="Only say what would be done.")
    expect: int | None = Field(None, ge=0, description="Refuse (409) unless so many match now.")


class BulkFailure(Model):
    """A thing on which it could not act, and why."""

    id: str
    message: str


class Bulk(Model):
    """A bulk action as it stands. What it acts on was fixed when it was made."""

    id: str
    action: Act
    filter: str | None
    ids_given: int
    rate: int
    stop_after: int | None
    order: Order
    state: BulkState
    total: int
    done: int
    ok: int
    failed: int
    pending: int
    failures: list[BulkFailure]
    """The first 20."""
    outcomes: dict[RunState, int]
    """Where the runs are that it made."""
    user_id: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    reason: str
    """Why it is paused or was stopped."""


class Bulks(Model):
    """A page of bulk actions."""

    items: list[Bulk]
    next_cursor: str | None


class Sampled(Model):
    """One of those that it would act on."""

    id: str
    kind: str
    name: str | None
    state: str
    message: str


class Trial(Model):
    """What a bulk action would do."""

    dry_run: bool
    count: int
    sample: list[Sampled]
    hosts: list[str]
    """To which something would be sent, as far as the first 200 tell."""
    warnings: list[str]


REQUESTS = (BulkRequest,)
