"""Selects the past instants that a backfill creates runs for, so that none gets two however often it is repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from annotated_types import Interval

from foliot.core.declaration import Missing, declared, read
from foliot.core.document import rfc3339
from foliot.core.errors import Invalid
from foliot.engine.model.ledger import LedgerKind
from foliot.engine.model.run import OPEN, Origin, RunState
from foliot.features.bulk.model import MOST_ITEMS, RATES, USUAL_RATE, BulkOrder
from foliot.features.schedules.model.health import GOOD

USUAL_RUNS = 1000
MOST_RUNS = 10_000
MOST_NAMED = 20_000
"""Instants that one backfill considers."""


class InstantSelection(StrEnum):
    """Which instants of the period get a run."""

    MISSING = "missing"
    """Those without success: of their own run, of one that repeated it, or of an earlier backfill. Instants that a user
    skipped on purpose are not missing."""
    ALL = "all"
    """Also those that succeeded or were skipped; but none that a backfill has already made up for."""


@declared
class NewBackfill:
    """A request for a backfill: which instants, and at what rate."""

    from_: Annotated[datetime, Missing("is required: the start of the time range, such as 2027-01-01T00:00:00Z")]
    to: datetime | None = None
    """Exclusive, and not in the future; without it, now."""
    which: InstantSelection = InstantSelection.MISSING
    rate: Annotated[int, Interval(ge=RATES[0], le=RATES[-1])] = USUAL_RATE
    """Runs a second."""
    limit: Annotated[int, Interval(ge=1, le=MOST_RUNS)] = USUAL_RUNS
    """Refuse (422) to make more runs than this."""
    stop_after: Annotated[int | None, Interval(ge=1, le=MOST_ITEMS)] = None
    """Stop when so many failed."""
    order: BulkOrder = BulkOrder.OLDEST
    dry_run: bool = False
    """Only say what would be done."""
    expect: Annotated[int | None, Interval(ge=0, le=2**31)] = None
    """Refuse (409) unless it would make so many runs now."""


def read_backfill(raw: object) -> NewBackfill:
    """Parse a request; `Invalid` names what is wrong with it."""
    asked = read(NewBackfill, raw)
    if asked.to is not None and asked.to <= asked.from_:
        raise Invalid("to", "must be later than 'from'", got=rfc3339(asked.to))
    return asked


@dataclass(frozen=True, slots=True)
class InstantStatus:
    """An instant, and its outcome in the ledger."""

    at: datetime
    outcome: str = ""
    on_purpose: bool = False
    """Whether a user asked to skip this instant."""


@dataclass(frozen=True, slots=True)
class InstantRun:
    """A run for an instant: its own, one that repeated that, or a backfill's."""

    run_id: str
    state: RunState
    origin: Origin


def objection(
    which: InstantSelection, made: Iterable[InstantRun], look: InstantStatus | None = None
) -> tuple[str, InstantRun | None] | None:
    """Why an instant gets no run, with the run that prevents it; None when it gets one."""
    runs = list(made)
    for run in runs:
        if run.state in OPEN:
            return "under way", run
    # Manual runs are among these only if a backfill created them; a run that repeated one may have succeeded since.
    filled = any(run.origin is Origin.MANUAL for run in runs)
    for run in runs:
        if run.state in GOOD and which is InstantSelection.MISSING:
            return "succeeded", run
        if run.state in GOOD and filled and run.origin is not Origin.INSTANT:
            return "already backfilled", run
    if which is InstantSelection.MISSING and look is not None:
        if look.outcome == LedgerKind.PRUNED:
            return "pruned", None
        # Unless a run was asked for since: then a success may be missing after all.
        if look.on_purpose and not runs:
            return "skipped on purpose", None
    return None


def chosen(
    which: InstantSelection, instants: Sequence[InstantStatus], made: Mapping[datetime, Sequence[InstantRun]]
) -> tuple[list[datetime], Counter[str]]:
    """The instants that get a run; and why the others get none."""
    instants_to_run, left_out = [], Counter[str]()
    for look in instants:
        refused = objection(which, made.get(look.at, ()), look)
        if refused is None:
            instants_to_run.append(look.at)
        else:
            left_out[refused[0]] += 1
    return instants_to_run, left_out


def item_of(instant: datetime) -> str:
    """An instant as an item of a bulk action; such texts sort by time."""
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def instant_of(item: str) -> datetime:
    return datetime.fromisoformat(item)
