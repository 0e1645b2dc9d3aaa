"""Creates runs for past instants, one each, as a bulk action that can be followed, paused and stopped.

Like run-now, such a run ignores the overlap policy and counts as open while it runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict, Invalid
from foliot.core.failure_fingerprint import host_in
from foliot.core.ids import RUN
from foliot.core.ports import Clock
from foliot.core.threads import REQUESTS
from foliot.db.database import Database, Transaction
from foliot.engine.model.ledger import VersionSpan
from foliot.engine.model.run import Origin
from foliot.engine.model.schedule import Overlap, Schedule, ScheduleSpec, ScheduleStatus
from foliot.engine.model.views import RunRequest
from foliot.engine.sql.runs import SqlRuns
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.backfills.model import (
    MOST_NAMED,
    MOST_RUNS,
    InstantRun,
    InstantSelection,
    InstantStatus,
    NewBackfill,
    chosen,
    instant_of,
    item_of,
    objection,
    read_backfill,
)
from foliot.features.bulk.model import BULK, BULKS_TOPIC, Bulk, BulkOperation
from foliot.features.bulk.sql import SqlBulks
from foliot.features.bulk.usecases import BulkView, begun
from foliot.features.schedules.usecases.instants import NOT_YET, TICK, InstantRecord, named, outcomes
from foliot.features.schedules.usecases.schedules import find_schedule
from foliot.wakeups.feed import RUNS_TOPIC, Feed

SAMPLE = 5
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BackfillEstimate:
    """What a backfill would do now."""

    instants: Sequence[datetime]
    named: int
    left_out: Mapping[str, int]
    sample: Sequence[InstantRecord]
    hosts: Sequence[str]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class _MissingInstants:
    """The instants to make up for."""

    schedule: Schedule
    seen: Sequence[InstantRecord]
    instants: Sequence[datetime]
    left_out: Counter[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfills:
    """Needs the permission to run a schedule, and the one to create bulk actions."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]

    @command(Verb.WRITE, Thing.BULK, BulkOperation.BACKFILL.needs)
    async def create(
        self, ctx: CommandContext, schedule_id: str, raw: object, once: IdempotentRequest = EACH_TIME
    ) -> BulkView | BackfillEstimate:
        """Fix which instants get a run; with `dry_run`, only report which those would be."""
        request = read_backfill(raw)
        if request.dry_run:
            async with ctx.read() as tx:
                return _trial(await self._gap(tx, ctx.caller, schedule_id, request), request)
        tx = await ctx.begin()
        gap = await self._gap(tx, ctx.caller, schedule_id, request)
        return BulkView(await self._make(ctx, gap, request))

    async def fill(self, ctx: CommandContext, bulk: Bulk, item: str) -> str:
        """Create the run of one instant. The schedule's row is locked: of two concurrent backfills, one creates it."""
        tx, caller = ctx.tx, ctx.caller
        details, at, now = bulk.details or {}, instant_of(item), self.clock.now()
        schedule = await find_schedule(tx, caller, str(details.get("schedule_id", "")), lock=True)
        _usable(schedule)
        made = await _made(tx, schedule.id, at, at + TICK, 1)
        refused = objection(InstantSelection(details["which"]), made.get(at, ()))
        if refused is not None:
            why, run = refused
            raise Conflict(f"{rfc3339(at)} is {why}" + ("" if run is None else f" by {run.run_id}: {run.state.value}"))
        self.limiter.run(caller, ctx.limits)
        spec, run_id = schedule.spec, self.new_id(RUN)
        request = RunRequest(
            id=run_id,
            tenant_id=caller.tenant_id,
            user_id=caller.user_id,
            kind=spec.kind,
            origin=Origin.MANUAL,
            queue=spec.queue,
            priority=spec.priority,
            max_attempts=spec.retry.max_attempts,
            timeout_seconds=spec.timeout_seconds,
            schedule_id=schedule.id,
            version=schedule.version,
            fills=at,
        )
        await SqlRuns(tx).add([request], now)
        became = {"run_id": run_id, "fills": rfc3339(at), "bulk_id": bulk.id}
        ctx.audit(AuditedChange("backfill", Thing.SCHEDULE, schedule.id, became=became))
        ctx.wake(RUNS_TOPIC)
        return run_id

    async def _gap(self, tx: Transaction, caller: Caller, schedule_id: str, request: NewBackfill) -> _MissingInstants:
        schedule, now = await find_schedule(tx, caller, schedule_id), self.clock.now()
        _usable(schedule)
        if request.to is not None and request.to > now:
            raise Invalid("to", "must not be in the future: later instants fire by themselves", got=rfc3339(request.to))
        # What is due and not settled yet is about to get its run.
        end = request.to or now + TICK
        end = min(end, schedule.next_at or end)
        spans = await SqlSchedules(tx).spans(schedule_id)
        born = spans[0].start if spans else now
        # An interval counts from the moment it was created, at which it does not fire.
        spans = [VersionSpan(_FIRST, born - TICK, schedule.version, active=False, reason=NOT_YET), *spans]
        specs = await SqlSchedules(tx).specs(schedule_id)
        # Thousands of instants take a while: computed in a thread, so that other requests need not wait.
        there = await REQUESTS.run(_look, spans, specs, request.from_, end)
        seen = await outcomes(tx, schedule, there)
        made = await _made(tx, schedule_id, request.from_, end, len(there))
        instants, left_out = chosen(
            request.which, [InstantStatus(one.at, one.outcome, one.on_purpose) for one in seen], made
        )
        return _MissingInstants(schedule, seen, instants, left_out)

    async def _make(self, ctx: CommandContext, gap: _MissingInstants, request: NewBackfill) -> Bulk:
        now, count = ctx.now, len(gap.instants)
        _bounded(count, request)
        details = {
            "schedule_id": gap.schedule.id,
            "schedule_name": gap.schedule.name,
            "from": rfc3339(request.from_),
            "to": rfc3339(request.to or now),
            "which": request.which.value,
        }
        bulk = begun(
            self.new_id(BULK), ctx.caller, now, count,
            act=BulkOperation.BACKFILL, filter=None, ids_given=0, order=request.order, rate=request.rate,
            stop_after=request.stop_after, details=details,
        )  # fmt: skip
        if count:
            await SqlBulks(ctx.tx).fix_ids(bulk, [item_of(at) for at in gap.instants])
        await SqlBulks(ctx.tx).add(bulk, now)
        became = {"action": bulk.act.value, "total": bulk.total, "rate": bulk.rate, **details}
        ctx.audit(AuditedChange("create", Thing.BULK, bulk.id, became=became))
        ctx.wake(BULKS_TOPIC)
        return bulk


def _usable(schedule: Schedule) -> None:
    if schedule.status is ScheduleStatus.DELETED:
        raise Conflict(f"schedule {schedule.id} is deleted")
    if schedule.fault is not None:
        raise Conflict(f"schedule {schedule.id} is damaged ({schedule.fault}): resume or replace it first")


def _look(
    spans: Sequence[VersionSpan], specs: Mapping[int, ScheduleSpec | str], start: datetime, end: datetime
) -> Sequence[tuple[VersionSpan, datetime]]:
    """The instants of [start, end), each with its span; before the first span, by the present trigger."""
    count = 0
    for span in spans:
        spec = specs.get(span.version)
        if isinstance(spec, ScheduleSpec):
            low, high = max(start, span.start + TICK), end if span.end is None else min(end, span.end + TICK)
            count += spec.trigger.count(low, high) if low < high else 0
    if count > MOST_NAMED:
        wrong = (
            f"names {count} instants up to 'to'; one backfill covers at most {MOST_NAMED}: choose a shorter time range"
        )
        raise Invalid("from", wrong, got=rfc3339(start))
    return list(named(spans, specs, start, end))


async def _made(
    tx: Transaction, schedule_id: str, start: datetime, end: datetime, limit: int
) -> Mapping[datetime, Sequence[InstantRun]]:
    found: defaultdict[datetime, list[InstantRun]] = defaultdict(list)
    for at, run_id, state in await SqlSchedules(tx).instants(schedule_id, start, end, max(limit, 1)):
        found[at].append(InstantRun(run_id, state, Origin.INSTANT))
    for at, run_id, state, origin in await SqlSchedules(tx).fills(schedule_id, start, end):
        found[at].append(InstantRun(run_id, state, origin))
    return found


def _bounded(count: int, request: NewBackfill) -> None:
    if count > request.limit:
        wrong = f"is less than the {count} runs that this would create: choose a shorter time range, or raise it"
        raise Invalid("limit", f"{wrong} (to {MOST_RUNS} at most)", got=request.limit)
    if request.expect is not None and request.expect != count:
        raise Conflict(f"it would create {count} runs now, not {request.expect}: check again before you backfill")


def _trial(gap: _MissingInstants, request: NewBackfill) -> BackfillEstimate:
    schedule, wanted = gap.schedule, set(gap.instants)
    sample = [one for one in gap.seen if one.at in wanted][:SAMPLE]
    host = host_in(str(schedule.action.get("url", "")))
    return BackfillEstimate(
        gap.instants, len(gap.seen), gap.left_out, sample, [host] if host and wanted else [], _warnings(gap, request)
    )


def _warnings(gap: _MissingInstants, request: NewBackfill) -> Sequence[str]:
    warnings, count = [], len(gap.instants)
    if count > request.limit:
        warnings.append(f"{count} runs are more than the limit of {request.limit}: this would be refused")
    if count and gap.schedule.status is ScheduleStatus.ACTIVE and gap.schedule.spec.overlap is not Overlap.ALLOW_ALL:
        policy = gap.schedule.spec.overlap.value
        warnings.append(f"while these runs are open, the overlap policy {policy} applies to instants that come due")
    if count > 1:
        lasts = timedelta(seconds=count // request.rate)
        warnings += [f"at {request.rate} per second it takes {lasts}"] if lasts >= timedelta(minutes=1) else []
    if gap.left_out["pruned"]:
        warnings.append(
            f"{gap.left_out['pruned']} ran long ago, and their outcome is no longer known: `all` includes them"
        )
    if skipped := gap.left_out["skipped on purpose"]:
        warnings.append(f"{skipped} skipped on purpose: `all` includes them")
    return warnings
