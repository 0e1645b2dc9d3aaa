"""The rows of new and changed schedules: schedule, version and span, column by column for batch statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foliot.core.ids import new_id
from foliot.db.batch_statements import Change
from foliot.db.sealer import Sealer
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.sql import stored_bytes
from foliot.engine.sql.tables import schedules, spans, versions


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A locked schedule with what its next version refers to."""

    schedule: Schedule
    body_of: int | None
    """The version that holds its action."""
    span_id: str | None
    """Its open span."""


@dataclass(frozen=True, slots=True)
class ScheduleTurn:
    """A schedule that gets a new version."""

    was: StoredSchedule
    became: Schedule

    def sealed(self, sealer: Sealer) -> ScheduleTurn:
        action = sealer.seal(self.became.tenant_id, self.became.action)
        return replace(self, became=replace(self.became, action=action))


def turn_rows(turns: Sequence[ScheduleTurn], same_as: Mapping[str, int | None]) -> list[Change]:
    """The new versions, the rows of the schedules, the end of the spans and the next ones, and the stored bytes."""
    became = [turn.became for turn in turns]
    ids, specs = [one.id for one in became], [one.spec.dump() for one in became]
    bodies = [dict(one.action) for one in became]
    kept = [{} if same_as[one.id] is not None else body for one, body in zip(became, bodies, strict=True)]
    versions_made = {
        "schedule_id": ids,
        "version": [one.version for one in became],
        "tenant_id": [one.tenant_id for one in became],
        "spec": specs,
        "action": kept,
        "anchor": [one.spec.anchor for one in became],
        "created_at": [one.updated_at for one in became],
        "digest": [stored_bytes.digest(body) for body in bodies],
        "same_as": [same_as[one.id] for one in became],
    }
    rows = [columns_of(one) for one in became]
    # The next ledger entry belongs to the new version: it merges with nothing.
    cleared = dict.fromkeys(("gap_first", "gap_reason", "fault_next_at"), [None] * len(turns))
    columns = {name: [row[name] for row in rows] for name in rows[0] if name != "tenant_id"} | cleared
    keys = {"id": ids, "tenant_id": [one.tenant_id for one in became]}
    ended = [turn for turn in turns if turn.was.span_id is not None]
    begun = [one for one in became if one.status in {ScheduleStatus.ACTIVE, ScheduleStatus.PAUSED}]
    size = sum(
        stored_bytes.size(turn.became.action)
        + 2 * len(spec.encode())
        + stored_bytes.size(body)
        - stored_bytes.size(turn.was.schedule.action)
        - len(turn.was.schedule.spec.dump().encode())
        for turn, spec, body in zip(turns, specs, kept, strict=True)
    )
    changes = [Change(versions, {}, versions_made), Change(schedules, keys, columns)]
    if ended:
        closed = {"end_at": [turn.became.updated_at for turn in ended], "open_of": [None] * len(ended)}
        changes.append(Change(spans, {"id": [turn.was.span_id for turn in ended]}, closed))
    if begun:
        changes.append(Change(spans, {}, _open_spans(begun)))
    return [*changes, stored_bytes.grown(became[0].tenant_id, size)]


def _open_spans(begun: Sequence[Schedule]) -> dict[str, list[Any]]:
    ids = [one.id for one in begun]
    return {
        "id": [new_id("spa") for _ in begun],
        "schedule_id": ids,
        "open_of": ids,
        "tenant_id": [one.tenant_id for one in begun],
        "start_at": [one.updated_at for one in begun],
        "version": [one.version for one in begun],
        "active": [one.status is ScheduleStatus.ACTIVE for one in begun],
        "reason": [one.paused_reason if one.status is ScheduleStatus.PAUSED else "" for one in begun],
    }


def columns_of(schedule: Schedule) -> dict[str, Any]:
    """The columns of a schedule that edits change."""
    return {
        "tenant_id": schedule.tenant_id,
        "user_id": schedule.user_id,
        "name": schedule.name,
        "description": schedule.description,
        "tags": _tags_out(schedule.tags),
        "type": schedule.spec.type.value,
        "kind": schedule.spec.kind,
        "status": schedule.status.value,
        "version": schedule.version,
        "spec": schedule.spec.dump(),
        "action": dict(schedule.action),
        "anchor": schedule.spec.anchor,
        "next_at": schedule.next_at,
        "last_run_at": schedule.last_run_at,
        "fired": schedule.fired,
        "paused_reason": schedule.paused_reason,
        "paused_at": schedule.paused_at,
        "paused_by": schedule.paused_by,
        "skip_at": schedule.skip_at,
        "skip_by": schedule.skip_by,
        "fault": schedule.fault,
        "updated_at": schedule.updated_at,
    }


def _tags_out(tags: tuple[str, ...]) -> str:
    return "\n" + "".join(f"{tag}\n" for tag in tags) if tags else ""


def new_rows(added: Sequence[Schedule], sealer: Sealer | None) -> tuple[list[Change], int]:
    """The rows of schedules that are created at one moment, and how many stored bytes they are."""
    if sealer is not None:
        added = [replace(one, action=sealer.seal(one.tenant_id, one.action)) for one in added]
    rows = [columns_of(one) for one in added]
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    columns["id"] = [one.id for one in added]
    columns["managed_by"] = [one.managed_by.value for one in added]
    columns["created_at"] = [one.created_at for one in added]
    bodies: dict[str, list[Any]] = {
        "schedule_id": columns["id"],
        **{name: columns[name] for name in ("version", "tenant_id", "spec", "action", "anchor", "created_at")},
        "digest": [stored_bytes.digest(row["action"]) for row in rows],
    }
    # Each is stored twice: as it stands, and as its first version.
    size = 2 * sum(stored_bytes.size(row["action"]) + len(row["spec"].encode()) for row in rows)
    changes = [Change(schedules, {}, columns), Change(versions, {}, bodies), Change(spans, {}, _open_spans(added))]
    return changes, size
