"""Selects the past instants that a backfill creates runs for, so that none gets two however often it is repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from foliot.core.document import Fields, rfc3339
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillSpec:
    """A validated request for a backfill."""

    start: datetime
    end: datetime | None
    which: InstantSelection
    rate: int
    limit: int
    stop_after: int | None
    order: BulkOrder
    dry_run: bool
    expect: int | None


def read_backfill(raw: object) -> BackfillSpec:
    """Parse a request; `Invalid` names what is wrong with it."""
    fields = Fields.of("", raw)
    start = fields.moment("from")
    if start is None:
        raise Invalid("from", "is required: the first moment to make up for, such as 2027-01-01T00:00:00Z")
    request = BackfillSpec(
        start=start,
        end=fields.moment("to"),
        which=fields.choice("which", InstantSelection, InstantSelection.MISSING),
        rate=fields.integer("rate", USUAL_RATE, low=RATES[0], high=RATES[-1]),
        limit=fields.integer("limit", USUAL_RUNS, low=1, high=MOST_RUNS),
        stop_after=fields.integer("stop_after", 0, low=1, high=MOST_ITEMS) or None,
        order=fields.choice("order", BulkOrder, BulkOrder.OLDEST),
        dry_run=fields.flag("dry_run", default=False),
        expect=None if fields.value("expect") is None else fields.integer("expect", 0, low=0, high=2**31),
    )
    fields.finish()
    if request.end is not None and request.end <= request.start:
        raise Invalid("to", "must be later than 'from'", got=rfc3339(request.end))
    return request


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
            return "made up for", run
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
