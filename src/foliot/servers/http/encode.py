"""Things as JSON. Plain dicts and orjson, for lists are the hot path; `models.py` says the same to OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import orjson
from fastapi import Response

from foliot.core.document import rfc3339
from foliot.core.mask import shown
from foliot.core.time.preview import Preview
from foliot.engine.model.event import Event
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import AttemptView, DeadGroup, RunView
from foliot.features.dead_letters.model import DISCARDED
from foliot.features.dead_letters.usecases.dead_letters import Replayed
from foliot.features.mutes.model import Mute
from foliot.features.schedules.model.document import document
from foliot.features.schedules.usecases.instants import Instant
from foliot.servers.http.paging import Turn

T = TypeVar("T")


def answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(dumps(body), status, headers, "application/json")


def dumps(body: object) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)


def page(
    things: Sequence[T], wanted: Turn, render: Callable[[T], dict[str, Any]], place: Callable[[T], str]
) -> Response:
    """A list. One thing more than wanted was asked for: if it is there, so is a next page."""
    shown = things[: wanted.page.limit]
    following = wanted.cursors.seal(place(shown[-1])) if len(things) > wanted.page.limit else None
    return answer({"items": [render(thing) for thing in shown], "next_cursor": following})


def schedule(one: Schedule) -> dict[str, Any]:
    return {
        "id": one.id,
        "tenant_id": one.tenant_id,
        "user_id": one.user_id,
        **document(one),
        "status": one.status.value,
        "paused_reason": one.paused_reason,
        "paused_at": rfc3339(one.paused_at),
        "paused_by": one.paused_by,
        "skips": None if one.skip_at is None else {"at": rfc3339(one.skip_at), "by": one.skip_by},
        "fault": one.fault,
        "managed_by": one.managed_by.value,
        "summary": one.spec.trigger.summary,
        "next_run_at": rfc3339(one.next_run_at),
        "last_run_at": rfc3339(one.last_run_at),
        "version": one.version,
        "created_at": rfc3339(one.created_at),
        "updated_at": rfc3339(one.updated_at),
        "links": _schedule_links(one.id),
    }


def _schedule_links(schedule_id: str) -> dict[str, str]:
    base = f"/api/schedules/{schedule_id}"
    return {"self": base, "runs": f"{base}/runs", "instants": f"{base}/instants"}


def etag(one: Schedule) -> dict[str, str]:
    return {"ETag": f'"{one.version}"'}


def located(one: RunView) -> dict[str, str]:
    """Where a new run can be looked at."""
    return {"Location": f"/api/runs/{one.id}"}


def run(one: RunView) -> dict[str, Any]:
    return {
        "id": one.id,
        "tenant_id": one.tenant_id,
        "user_id": one.user_id,
        "schedule_id": one.schedule_id,
        "schedule_name": one.schedule_name,
        "schedule_version": one.version,
        "kind": one.kind,
        "origin": one.origin.value,
        "state": one.state.value,
        "buffered": one.buffered,
        "parked": one.parked,
        "cancel_requested": one.cancel_requested,
        "scheduled_for": rfc3339(one.scheduled_for),
        "fills": rfc3339(one.fills),
        "ready_at": rfc3339(one.ready_at),
        "waiting": one.waiting,
        "queue": one.queue,
        "priority": one.priority,
        "attempt": one.attempt,
        "max_attempts": one.max_attempts,
        "worker": one.worker,
        "created_at": rfc3339(one.created_at),
        "started_at": rfc3339(one.started_at),
        "finished_at": rfc3339(one.finished_at),
        "duration_ms": _milliseconds(one.started_at, one.finished_at),
        "lateness_ms": _lateness(one),
        "result": one.result,
        "error": one.error,
        "fingerprint": one.fingerprint,
        "parent_id": one.parent_id,
        "resolved_by": one.resolved_by,
        "action": None if one.action is None else shown(one.action),
        "attempts": [attempt(each) for each in one.attempts],
        "links": _run_links(one),
    }


def _run_links(one: RunView) -> dict[str, str | None]:
    base = f"/api/runs/{one.id}"
    return {
        "self": base,
        "events": f"{base}/events",
        "schedule": None if one.schedule_id is None else f"/api/schedules/{one.schedule_id}",
        "parent": None if one.parent_id is None else f"/api/runs/{one.parent_id}",
        # A letter that was discarded has no run to show for it.
        "resolved_by": None if one.resolved_by in {None, DISCARDED} else f"/api/runs/{one.resolved_by}",
    }


def _lateness(one: RunView) -> float | None:
    """From when the run was ready for its first start to that start, whatever its retries."""
    if one.started_at is None:
        return None
    # A run from before this was written down: a retry has moved `ready_at` past the start, the nominal time has not.
    due = one.due_at or min(one.ready_at, one.scheduled_for or one.created_at)
    return max(_milliseconds(due, one.started_at) or 0.0, 0.0)


def _milliseconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round((end - start).total_seconds() * 1000, 3)


def attempt(one: AttemptView) -> dict[str, Any]:
    return {
        "number": one.number,
        "epoch": one.epoch,
        "worker": one.worker,
        "outcome": one.outcome,
        "started_at": rfc3339(one.started_at),
        "ended_at": rfc3339(one.ended_at),
        "duration_ms": _milliseconds(one.started_at, one.ended_at),
        "error": one.error,
        "response": one.response,
        "retry_at": rfc3339(one.retry_at),
    }


def event(one: Event) -> dict[str, Any]:
    """Only what the event's type says: a state has no level, a log line no state."""
    told = {"state": one.state, "attempt": one.attempt, "level": one.level, "data": one.data}
    return {
        "seq": one.seq,
        "at": rfc3339(one.at),
        "type": one.type.value,
        **{name: value for name, value in told.items() if value is not None},
        "message": one.message,
    }


def instant(one: Instant) -> dict[str, Any]:
    return {"at": rfc3339(one.at), "outcome": one.outcome, "reason": one.reason, "run_id": one.run_id}


def preview(one: Preview) -> dict[str, Any]:
    fires = [{"at": rfc3339(fire.at), "local": fire.local} for fire in one.fires]
    trigger = one.trigger.as_dict()
    named = {name: trigger.get(name) for name in ("type", "cron_expr", "interval_seconds", "run_at", "timezone")}
    return {"summary": one.summary, **named, "next": fires, "notes": one.notes}


def group(one: DeadGroup) -> dict[str, Any]:
    return {
        "code": one.code,
        "message": one.message,
        "kind": one.kind,
        "count": one.count,
        "first_at": rfc3339(one.first_at),
        "last_at": rfc3339(one.last_at),
        "ids": list(one.ids),
    }


def mute(one: Mute) -> dict[str, Any]:
    return {
        "fingerprint": one.fingerprint,
        "user_id": one.user_id,
        "at": rfc3339(one.at),
        "until": rfc3339(one.until),
        "reason": one.reason,
    }


def replayed(one: Replayed) -> dict[str, Any]:
    return {"items": [run(each) for each in one.runs], "more": one.more}
