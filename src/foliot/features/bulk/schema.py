"""Requests and answers about bulk actions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NotRequired

from pydantic import with_config
from typing_extensions import TypedDict

from foliot.core.declaration import declared
from foliot.engine.model.run import RunState
from foliot.features.bulk.model import BulkOperation, BulkOrder, BulkState
from foliot.servers.http.schema import CLOSED


@declared
class BulkFailure:
    """An item on which it could not act, and why."""

    id: str
    message: str


@declared
class BulkAction:
    """A bulk action with its progress. What it acts on was fixed when it was created."""

    id: str
    action: BulkOperation
    filter: str | None
    ids_given: int
    rate: int
    stop_after: int | None
    order: BulkOrder
    state: BulkState
    total: int
    done: int
    ok: int
    failed: int
    pending: int
    failures: list[BulkFailure]
    """The first 20."""
    outcomes: dict[RunState, int]
    """The number of runs that it created, by state."""
    user_id: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    reason: str
    """Why it waits, is paused or was stopped."""
    details: dict[str, Any] | None
    """Further parameters of the operation, such as `as_of`, `patch` and `canary` of a replay."""


@declared
class BulkActionPage:
    """A page of bulk actions."""

    items: list[BulkAction]
    next_cursor: str | None


@with_config(CLOSED)
class BulkSample(TypedDict):
    """One of the things that it would act on."""

    id: str
    kind: str
    name: str | None
    state: str
    message: str
    version: NotRequired[int | None]
    """The version of its schedule that it followed."""
    follows: NotRequired[int | None]
    """The version that its replay would follow."""
    replays: NotRequired[int | None]
    """How often it was replayed before."""


@declared
class BulkRefusal:
    """One that would be refused, and why."""

    id: str
    message: str


@declared
class ReplayDryRun:
    """What a replay would do, judged by the first 500."""

    looked_at: int
    duplicates: int
    """How many would do exactly what another of them does."""
    changed: int
    """How many would do something else than they did then, because their schedule has changed."""
    stay: int
    """How many would follow their old settings, though the present ones were asked for; `warnings` say why."""
    edited: int
    """How many the patch would change."""
    refused: int
    refusals: list[BulkRefusal]
    """The first 5 of them."""
    replays_most: int
    """How often one of them was replayed before, at most."""
    replays_cap: int
    """A dead letter is replayed this many times at most; then it is refused."""


@declared
class BulkDryRun:
    """What a bulk action would do."""

    dry_run: bool
    count: int
    sample: list[BulkSample]
    hosts: list[str]
    """Hosts to which something would be sent, judged by the first 500."""
    warnings: list[str]
    rehearsal: ReplayDryRun | None
    """For a replay."""
