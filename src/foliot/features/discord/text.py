"""Formats the bot's messages. Names and errors are escaped as code: they can mention no one and hold no links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from foliot.core.errors import FoliotError, Invalid, InvalidMany, NotFound, TooMany, Unavailable
from foliot.core.time.preview import TriggerOutlook
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import RunView
from foliot.features.pipelines.usecases.pipelines import PipelineStatus

LONGEST = 1900
"""Maximum length of a message, with a margin: Discord allows 2,000."""
NAME = 100
STEPS = 12

_SIGNS = {
    RunState.QUEUED: "…",
    RunState.RUNNING: "▶",
    RunState.RETRYING: "↻",
    RunState.SUCCESS: "✓",
    RunState.PARTIAL: "✓",
    RunState.DEGRADED: "!",
    RunState.FAILED: "✕",
    RunState.DEAD_LETTER: "✕",
    RunState.CANCELLED: "■",
}
_STATES = {
    RunState.QUEUED: "is waiting for a worker",
    RunState.RUNNING: "is running",
    RunState.RETRYING: "failed and will be retried",
    RunState.SUCCESS: "succeeded",
    RunState.PARTIAL: "finished, but some items failed",
    RunState.DEGRADED: "finished, but its data broke an expectation",
    RunState.FAILED: "failed",
    RunState.DEAD_LETTER: "failed for good",
    RunState.CANCELLED: "was cancelled",
}


def code(text: object, most: int = NAME) -> str:
    """As inline code: mentions, links and markup in it have no effect."""
    plain = "".join(sign if sign.isprintable() else " " for sign in str(text)).replace("`", "'").strip()
    return f"`{_cut(plain, most) or ' '}`"


def plain(text: object, most: int) -> str:
    """A sentence of ours that may hold text of others: escaped, so that markup has no effect."""
    shown = "".join(sign if sign.isprintable() else " " for sign in str(text))
    for sign in "\\`*_~|>#[<@":
        shown = shown.replace(sign, f"\\{sign}")
    return _cut(shown, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def moment(at: datetime | None, form: str = "f") -> str:
    """A timestamp that Discord shows in the reader's own zone."""
    return "never" if at is None else f"<t:{int(at.timestamp())}:{form}>"


def seconds(run: RunView) -> str:
    if run.started_at is None or run.finished_at is None:
        return ""
    took = (run.finished_at - run.started_at).total_seconds()
    return f" in {took:.1f} s" if took < 100 else f" in {took / 60:.0f} min"


def run_message(what: str, run: RunView, progress: Mapping[str, Any] | None) -> str:
    """The message of a run, rendered again as it goes on."""
    final = run.result if isinstance(run.result, Mapping) else {}
    lines = [f"{_SIGNS[run.state]} {code(what)} {_STATES[run.state]}{seconds(run)}{_counts(final)} · {code(run.id)}"]
    lines += _steps(final.get("steps") or (progress or {}).get("steps") or ())
    error = (run.error or {}).get("message")
    if error and run.state is not RunState.SUCCESS:
        lines.append(plain(error, 500))
    return _cut("\n".join(lines), LONGEST)


def _counts(result: Mapping[str, Any]) -> str:
    if "items" not in result:
        return ""
    failed = result.get("failed") or 0
    return f": {result['items']} items" + (f", {failed} failed" if failed else "")


def _steps(steps: Sequence[Any]) -> list[str]:
    shown = []
    for step in list(steps)[:STEPS]:
        if isinstance(step, Mapping):
            failed = f", {step['failed']} failed" if step.get("failed") else ""
            shown.append(f"-# {code(step.get('name', '?'), 60)} {step.get('in', 0)} → {step.get('out', 0)}{failed}")
    if len(steps) > STEPS:
        shown.append(f"-# and {len(steps) - STEPS} more steps")
    return shown


def job_line(schedule: Schedule) -> str:
    """A schedule, which the bot's commands call a job."""
    if schedule.fault is not None:
        return f"- {code(schedule.name)} is damaged · {code(schedule.id)}"
    when = (
        f"next {moment(schedule.next_run_at, 'R')}"
        if schedule.status is ScheduleStatus.ACTIVE
        else str(schedule.status)
    )
    return f"- {code(schedule.name)} {plain(schedule.spec.trigger.summary, 200)} · {when} · {code(schedule.id)}"


def pipeline_line(standing: PipelineStatus, when: Sequence[str]) -> str:
    """A pipeline: when it runs, and how its last run ended."""
    kept, last = standing.kept, standing.last
    if kept.fault is not None:
        return f"- {code(kept.name)} ✕ {plain(kept.fault, 200)}"
    went = "" if last is None else f" · {_SIGNS[last.state]} {moment(last.finished_at or last.created_at, 'R')}"
    return f"- {code(kept.name)} {'; '.join(when) or 'not scheduled'}{went}"


def listed(title: str, lines: Sequence[str], more: int, where: str) -> str:
    """As many lines as fit in a message; the rest is counted."""
    fitting, budget = [title], LONGEST - len(title) - 100
    for line in lines:
        budget -= len(line) + 1
        if budget < 0:
            break
        fitting.append(line)
    left = more + len(lines) - (len(fitting) - 1)
    return "\n".join([*fitting, *([f"and {left} more: {where}"] if left else [])])


def fires(seen: TriggerOutlook) -> str:
    """The next instants, in the schedule's zone and in the reader's."""
    zone = [f"{fire.local[:10]} {fire.local[11:16]} ({moment(fire.at, 'R')})" for fire in seen.fires]
    return "\n".join(zone) or "never"


def refusal(error: Exception) -> str:
    """The error, and what to do about it."""
    return f"✕ {plain(_said(error), 1200)}"


def is_surprise(error: Exception) -> bool:
    """Whether it is a bug of ours, which must be logged."""
    return not isinstance(error, FoliotError | TimeoutError)


def _said(error: Exception) -> str:
    match error:
        case Unavailable():
            message = f"{error.told}; nothing was changed, try again in a moment"
        case NotFound():
            message = f"there is no {'job' if error.kind == 'schedule' else error.kind} {error.key!r}"
        case InvalidMany():
            message = "; ".join(one.message for one in error.errors[:3])
        case Invalid():
            message = error.message
        case TooMany() if error.retry_after is not None:
            message = f"{error}; try again in {error.retry_after:.0f} s"
        case FoliotError():
            message = str(error)
        case TimeoutError():
            message = "no answer in time; /jobs and /status show whether it was done"
        case _:
            message = "an internal error occurred; Foliot's log has the details"
    return message
