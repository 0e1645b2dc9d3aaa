"""What bulk actions take and answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from foliot.engine.model.run import RunState
from foliot.features.bulk.model.bulk import MOST_IDS, Act, BulkState, Order
from foliot.features.runs.model.replay import AsOf
from foliot.servers.http.bodies import AS_OF, PATCH, Model, Tags


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
    add_tags: Tags = Field(default_factory=list, description="With `tag`: these are added.")
    remove_tags: Tags = Field(default_factory=list, description="With `tag`: these are taken away.")
    as_of: AsOf = Field(AsOf.NOW, description=f"Of replay. {AS_OF}")
    patch: dict[str, Any] | None = Field(None, description=f"Of replay. {PATCH}")


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
    details: dict[str, Any] | None
    """What the action needs to know besides, such as `as_of` and `patch` of a replay."""


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
    version: int | None = None
    """Of its schedule, which it followed."""
    follows: int | None = None
    """The version that its replay would follow."""
    replays: int | None = None
    """How often it was replayed before."""


class Refusal(Model):
    """One that would be refused, and why."""

    id: str
    message: str


class Rehearsal(Model):
    """What a replay would do, as far as the first 500 tell."""

    looked_at: int
    duplicates: int
    """How many would do exactly what another of them does."""
    changed: int
    """How many would be told something else than they were then, because their schedule has changed."""
    stay: int
    """How many would do what they did then, though the settings of now were wanted; `warnings` say why."""
    edited: int
    """How many the patch would change."""
    refused: int
    refusals: list[Refusal]
    """The first 5 of them."""
    replays_most: int
    """How often one of them was replayed before, at most."""
    replays_cap: int
    """So often one is replayed; then it is refused."""


class Trial(Model):
    """What a bulk action would do."""

    dry_run: bool
    count: int
    sample: list[Sampled]
    hosts: list[str]
    """To which something would be sent, as far as the first 500 tell."""
    warnings: list[str]
    rehearsal: Rehearsal | None
    """Of a replay."""


REQUESTS = (BulkRequest,)
