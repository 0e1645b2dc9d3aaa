"""Makes the runs that follow others, in the transaction that ends those: set-based, whatever the size of the group.

Locks are taken in one order: runs that end, then the schedules that follow them by id, so a chain is locked from its
beginning to its end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from foliot.core.errors import Invalid
from foliot.core.time.trigger import After, FollowOutcome
from foliot.db.dialects import Dialect
from foliot.engine.model.follow import FollowPlan, FollowUp, ParentEnd, refused, settle_ends
from foliot.engine.model.follow import follows as is_followed
from foliot.engine.model.run import REPEATS, Origin, RunState
from foliot.engine.model.schedule import Overlap, ScheduleSpec, ScheduleStatus, load_spec
from foliot.engine.model.settle import DueSchedule
from foliot.engine.sql import settled_rows
from foliot.engine.sql.follow_tables import follow_ups, follows
from foliot.engine.sql.tables import runs, schedules

MOST_REPEATS = 1000
"""How often a run may have been repeated, one after the other, before the search for the first ends."""

FOLLOWED = exists().where(follows.c.parent_id == runs.c.schedule_id).correlate(runs).label("followed")
"""Whether schedules follow the run's: a column of the statement that reads the runs anyway."""

Cancel = Callable[..., Awaitable[int]]
"""`cancel_runs`, which calls this module itself."""

_CHILD = (
    schedules.c.id,
    schedules.c.tenant_id,
    schedules.c.user_id,
    schedules.c.version,
    schedules.c.spec,
    schedules.c.anchor,
    schedules.c.fired,
    schedules.c.gap_first,
    schedules.c.gap_reason,
    schedules.c.last_run_at,
    schedules.c.status,
    schedules.c.fault,
    schedules.c.updated_at,
)


def ended(row: Any, state: RunState, at: datetime, *, changed: bool = False) -> ParentEnd:
    """The end of a run whose row was read with `FOLLOWED`. A repeat counts as the run that it repeats."""
    root = row.parent_id if row.origin in REPEATS and row.parent_id is not None else row.id
    return ParentEnd(row.id, root, row.tenant_id, row.schedule_id, state, at, changed)


def _read_end(row: Any) -> ParentEnd:
    return ended(row, RunState(row.state), row.finished_at, changed=bool(row.changed))


async def follow(
    conn: AsyncConnection, dialect: Dialect, ends: Sequence[ParentEnd], now: datetime, cancel: Cancel
) -> int:
    """Account for the ends in every schedule that follows them; returns how many runs that made.

    A schedule that is paused, deleted or edited by a transaction that was first accounts for them as `changed`.
    """
    if not ends:
        return 0
    ends = await _rooted(conn, dialect, ends)
    by_child = await _followers(conn, dialect, ends)
    if not by_child:
        return 0
    children = await _lock(conn, dialect, by_child)
    known = await _known(conn, dialect, by_child, ends)
    fresh = {
        child_id: [end for end in _once(by_child[child_id]) if (child_id, end.root_id) not in known]
        for child_id in children
    }
    return await settle(
        conn, dialect, [(row, fresh[row.id]) for row in children.values() if fresh[row.id]], now, cancel
    )


async def settle(
    conn: AsyncConnection,
    dialect: Dialect,
    children: Sequence[tuple[Any, Sequence[ParentEnd]]],
    now: datetime,
    cancel: Cancel,
) -> int:
    """Write what these ends make of these schedules, which are locked, and for which they are new."""
    read = [_ReadChild.of(row, ends) for row, ends in children]
    judged = [child.due.id for child in read if child.spec is not None and child.spec.overlap is not Overlap.ALLOW_ALL]
    open_runs = await settled_rows.open_runs(conn, dialect, judged)
    waiting = await _waiting(conn, dialect, [child.due.id for child in read if child.waits])
    plans = [
        follow_plan
        for child in read
        for follow_plan in child.plans(now, open_runs.get(child.due.id, ()), waiting.get(child.due.id, ()))
    ]
    return await _write(conn, dialect, plans, now, cancel) if plans else 0


async def unaccounted(
    conn: AsyncConnection, dialect: Dialect, child_id: str, rule: After, within: tuple[datetime, datetime], limit: int
) -> list[ParentEnd]:
    """Ends within the two moments that this rule follows and the schedule has not accounted for."""
    done = follow_ups.c.run_id == runs.c.id, follow_ups.c.schedule_id == child_id
    query = select(
        *(runs.c.id, runs.c.tenant_id, runs.c.schedule_id, runs.c.origin, runs.c.parent_id),
        *(runs.c.state, runs.c.finished_at, runs.c.changed),
    ).where(
        dialect.among(runs.c.schedule_id, rule.parents),
        runs.c.finished_at > within[0],
        runs.c.finished_at <= within[1],
        runs.c.state.in_(
            [state.value for state in RunState if state.final and rule.outcome.wants(state.value, changed=True)]
        ),
        *((runs.c.changed,) if rule.outcome is FollowOutcome.CHANGED else ()),
        ~exists().where(*done).correlate(runs),
    )
    rows = (await conn.execute(query.order_by(runs.c.id).limit(limit))).all()
    ends = await _rooted(conn, dialect, [_read_end(row) for row in rows])
    known = await _known(conn, dialect, [child_id], ends) if ends else set()
    return _once([one for one in ends if (child_id, one.root_id) not in known])


async def sweep(conn: AsyncConnection, dialect: Dialect, child_id: str, now: datetime, cancel: Cancel) -> int:
    """Follow what ended when a schedule had just begun to follow it, by a transaction that could not see that yet."""
    row = (await _lock(conn, dialect, [child_id])).get(child_id)
    spec = None if row is None else _spec(row)
    rule = None if spec is None else spec.trigger.follows
    if rule is None:
        return 0
    mine = (follows.c.child_id == child_id, follows.c.active_until.is_(None))
    begun = {one.parent_id: one.active_from for one in await conn.execute(select(follows).where(*mine))}
    if not begun:
        return 0
    ends = await unaccounted(conn, dialect, child_id, rule, (min(begun.values()), now), MOST_REPEATS)
    ends = [one for one in ends if one.schedule_id in begun and one.at > begun[one.schedule_id]]
    return await settle(conn, dialect, [(row, ends)], now, cancel) if ends else 0


@dataclass(frozen=True, slots=True)
class _ReadChild:
    """A locked schedule, the ends that it follows, and those that it followed until it was changed."""

    due: DueSchedule
    spec: ScheduleSpec | None
    followed: Sequence[ParentEnd]
    changed: Sequence[ParentEnd]

    @classmethod
    def of(cls, row: Any, ends: Sequence[ParentEnd]) -> _ReadChild:
        due = DueSchedule(
            row.id,
            row.tenant_id,
            row.user_id,
            row.version,
            row.spec,
            row.anchor,
            min(end.at for end in ends),
            row.fired,
            row.gap_first,
            row.gap_reason,
            row.last_run_at,
        )
        spec = _spec(row)
        if spec is None:
            return cls(due, None, (), ends)
        rule = spec.trigger.follows
        mine = [end for end in ends if is_followed(rule, end) and spec.trigger.admits(end.at)]
        return cls(due, spec, mine, [end for end in ends if _was_followed(rule, end, row.updated_at)])

    @property
    def waits(self) -> bool:
        rule = None if self.spec is None else self.spec.trigger.follows
        return rule is not None and rule.all

    def plans(self, now: datetime, open_runs: Sequence[Any], waiting: Sequence[ParentEnd]) -> list[FollowPlan]:
        """One for the ends that it follows; the others are accounted for first."""
        due, plans = self.due, []
        if self.changed:
            plans.append(refused(due, self.changed))
            due = replace(due, gap_first=plans[0].plan.gap_first, gap_reason=plans[0].plan.gap_reason)
        if self.spec is not None and self.followed:
            plans.append(settle_ends(due, self.spec, self.followed, now, open_runs, waiting))
        return plans


def _was_followed(rule: After | None, end: ParentEnd, edited_at: datetime) -> bool:
    """Whether an end that is not followed may have been by the version before."""
    if rule is None or end.schedule_id not in rule.parents:
        return True
    return not rule.outcome.wants(end.state.value, changed=end.changed) and end.at <= edited_at


def _spec(row: Any) -> ScheduleSpec | None:
    """None for a schedule that follows nothing now."""
    if row.status != ScheduleStatus.ACTIVE or row.fault is not None:
        return None
    try:
        return load_spec(row.spec, row.anchor)
    except Invalid:
        return None


async def _rooted(conn: AsyncConnection, dialect: Dialect, ends: Sequence[ParentEnd]) -> list[ParentEnd]:
    """The same with the first run of each series of repeats; ends of runs that repeat nothing need no statement."""
    first = await first_runs(conn, dialect, {end.root_id for end in ends if end.root_id != end.run_id})
    return [replace(end, root_id=first[end.root_id]) if end.root_id in first else end for end in ends]


async def first_runs(conn: AsyncConnection, dialect: Dialect, run_ids: Collection[str]) -> dict[str, str]:
    """The first run of the series of repeats that each of these belongs to; those that repeat nothing are left out."""
    above: dict[str, str] = {}
    unknown = set(run_ids)
    for _ in range(MOST_REPEATS):
        if not unknown:
            break
        query = select(runs.c.id, runs.c.parent_id).where(
            dialect.among(runs.c.id, sorted(unknown)), runs.c.origin.in_(sorted(REPEATS)), runs.c.parent_id.is_not(None)
        )
        found: dict[str, str] = {row.id: row.parent_id for row in await conn.execute(query)}
        above |= found
        unknown = set(found.values()) - above.keys()
    first = {}
    for run_id in run_ids:
        root = run_id
        while root in above:
            root = above[root]
        if root != run_id:
            first[run_id] = root
    return first


async def _followers(conn: AsyncConnection, dialect: Dialect, ends: Sequence[ParentEnd]) -> dict[str, list[ParentEnd]]:
    """The ends by the schedules that may follow them."""
    parents: dict[str, list[ParentEnd]] = {}
    for end in ends:
        parents.setdefault(end.schedule_id, []).append(end)
    query = select(follows).where(dialect.among(follows.c.parent_id, sorted(parents)))
    by_child: dict[str, list[ParentEnd]] = {}
    for row in await conn.execute(query):
        # By the time of the end: a worker may have held it for as long as the database was away.
        until = row.active_until
        mine = [
            end for end in parents[row.parent_id] if end.at > row.active_from and (until is None or end.at <= until)
        ]
        if mine:
            by_child.setdefault(row.child_id, []).extend(mine)
    return by_child


async def _lock(conn: AsyncConnection, dialect: Dialect, child_ids: Collection[str]) -> dict[str, Any]:
    query = select(*_CHILD).where(dialect.among(schedules.c.id, sorted(child_ids))).order_by(schedules.c.id)
    return {row.id: row for row in await conn.execute(dialect.lock(query))}


async def _known(
    conn: AsyncConnection, dialect: Dialect, child_ids: Collection[str], ends: Sequence[ParentEnd]
) -> set[tuple[str, str]]:
    """Which ends are accounted for already: those of runs that were repeated. Read after the schedules are locked."""
    roots = sorted({end.root_id for end in ends})
    query = select(follow_ups.c.schedule_id, follow_ups.c.root_id).where(
        dialect.among(follow_ups.c.schedule_id, sorted(child_ids)), dialect.among(follow_ups.c.root_id, roots)
    )
    return {(schedule_id, root_id) for schedule_id, root_id in await conn.execute(query)}


def _once(ends: Sequence[ParentEnd]) -> list[ParentEnd]:
    """A run and its repeat that end in one group count once: the first that ended."""
    firsts: dict[str, ParentEnd] = {}
    for end in sorted(ends, key=lambda end: (end.at, end.run_id)):
        firsts.setdefault(end.root_id, end)
    return list(firsts.values())


async def _waiting(conn: AsyncConnection, dialect: Dialect, child_ids: Sequence[str]) -> dict[str, list[ParentEnd]]:
    """Ends that schedules hold until all their parents have one."""
    if not child_ids:
        return {}
    query = select(follow_ups).where(dialect.among(follow_ups.c.waiting_of, sorted(child_ids)))
    found: dict[str, list[ParentEnd]] = {}
    for row in await conn.execute(query.order_by(follow_ups.c.at)):
        end = ParentEnd(row.run_id, row.root_id, row.tenant_id, row.parent_id, RunState.SUCCESS, row.at)
        found.setdefault(row.schedule_id, []).append(end)
    return found


async def _write(
    conn: AsyncConnection, dialect: Dialect, plans: Sequence[FollowPlan], now: datetime, cancel: Cancel
) -> int:
    made = [
        (one.plan.due, one.plan.spec, up.run, up.end) for one in plans for up in one.ups if one.plan.spec and up.run
    ]
    ids: dict[tuple[str, str], str] = {}
    if made:
        columns = settled_rows.created([(due, spec, run) for due, spec, run, _ in made], now)
        columns["scheduled_for"] = [None] * len(made)
        columns["origin"] = [Origin.AFTER.value] * len(made)
        columns["parent_id"] = [end.run_id for _, _, _, end in made]
        ids = {(due.id, end.run_id): run_id for (due, _, _, end), run_id in zip(made, columns["id"], strict=True)}
        await dialect.insert(conn, runs, columns)
    await _account(conn, dialect, plans, ids)
    await _advance(conn, dialect, plans)
    await settled_rows.complete(conn, dialect, [one.plan for one in plans])
    asked = [run_id for one in plans for run_id in one.plan.cancel]
    stop = [run_id for one in plans for run_id in one.plan.terminate]
    if asked or stop:
        await cancel(conn, dialect, asked, now, "replaced by a later run of its parent", at_once=stop)
    # Last: a transaction that holds a count waits for no run.
    await settled_rows.account(conn, dialect, [one.plan for one in plans])
    return len(made)


async def _account(
    conn: AsyncConnection, dialect: Dialect, plans: Sequence[FollowPlan], ids: Mapping[tuple[str, str], str]
) -> None:
    """A row for each new end; an end that waited, and is complete now, gets its outcome."""
    became: dict[tuple[str, str], FollowUp] = {}
    for one in plans:
        became |= {(one.plan.due.id, end.root_id): up for end, up in one.consumed}
    fresh = [
        (one.plan.due, up.end, became.pop((one.plan.due.id, up.end.root_id), up)) for one in plans for up in one.ups
    ]
    outcomes = [_outcome(due.id, up, ids) for due, _, up in fresh]
    columns: dict[str, list[Any]] = {
        "schedule_id": [due.id for due, _, _ in fresh],
        "root_id": [end.root_id for _, end, _ in fresh],
        "run_id": [end.run_id for _, end, _ in fresh],
        "tenant_id": [due.tenant_id for due, _, _ in fresh],
        "parent_id": [end.schedule_id for _, end, _ in fresh],
        "version": [due.version for due, _, _ in fresh],
        "at": [end.at for _, end, _ in fresh],
        **{name: [outcome[name] for outcome in outcomes] for name in _OUTCOME},
    }
    await dialect.insert(conn, follow_ups, columns)
    if became:
        rest = [(key, _outcome(key[0], up, ids)) for key, up in sorted(became.items())]
        keys = {"schedule_id": [key[0] for key, _ in rest], "root_id": [key[1] for key, _ in rest]}
        await dialect.update(conn, follow_ups, keys, {name: [one[name] for _, one in rest] for name in _OUTCOME})


_OUTCOME = ("made", "fate", "reason", "waiting_of")


def _outcome(child_id: str, up: FollowUp, ids: Mapping[tuple[str, str], str]) -> dict[str, str | None]:
    made = ids.get((child_id, up.end.run_id)) if up.run is not None else None
    waits = up.run is None and up.fate is None
    return {
        "made": made,
        "fate": None if up.fate is None else up.fate.value,
        "reason": None if up.reason is None else up.reason.value,
        "waiting_of": child_id if waits else None,
    }


async def _advance(conn: AsyncConnection, dialect: Dialect, plans: Sequence[FollowPlan]) -> None:
    """The rows of the schedules; of two plans for one of them, the later is how it stands."""
    last = {one.plan.due.id: one.plan for one in plans}
    values: dict[str, list[Any]] = {
        "fired": [plan.fired for plan in last.values()],
        "last_run_at": [plan.last_run_at for plan in last.values()],
        "gap_first": [plan.gap_first for plan in last.values()],
        "gap_reason": [plan.gap_reason for plan in last.values()],
    }
    await dialect.update(conn, schedules, {"id": list(last)}, values)
    done = [plan.due.id for plan in last.values() if plan.status is ScheduleStatus.COMPLETED]
    if done:
        mine = dialect.among(schedules.c.id, done)
        await conn.execute(update(schedules).where(mine).values(status=ScheduleStatus.COMPLETED.value))
        ended = {"active_until": [plan.span_end for plan in last.values() if plan.due.id in done]}
        await dialect.update(conn, follows, {"child_id": done}, ended)
