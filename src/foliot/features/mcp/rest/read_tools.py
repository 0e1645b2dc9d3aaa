"""The tools that read."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from foliot.core.document import moment
from foliot.core.errors import Invalid
from foliot.core.time.zone import zone_info
from foliot.engine.model.schedule import Schedule
from foliot.engine.model.views import PageRequest
from foliot.features.explanations.model.asked_time import on_clock
from foliot.features.explanations.schema import ExplanationAnswer
from foliot.features.explanations.usecases import Explanations
from foliot.features.filters.usecases import Search
from foliot.features.insights.schema import AttentionItem
from foliot.features.insights.usecases.attention import Attention
from foliot.features.mcp import model
from foliot.features.mcp.rest.tool import Toolbox, ToolCall
from foliot.features.mcp.schema import LogText, RunSummary, ScheduleSummary, short
from foliot.features.plans.schema import PlanAnswer
from foliot.features.plans.usecases.plans import Plans
from foliot.features.runs.model.log import LEVELS, LogFilter
from foliot.features.runs.usecases.logs import LogPlace, Logs
from foliot.features.schedules.schema import SchedulePreview
from foliot.features.schedules.usecases.preview import Previews
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.search.usecases import ReferenceKind
from foliot.features.watches.schema.changes import ChangeDetail
from foliot.features.watches.usecases.history import PageHistory

READING = Toolbox()
MOST_CHANGES = 100
"""Changes of a plan that are listed."""
LONGEST_LINE = 1000
LONGEST_DIFF = 2000


@READING.tool(model.WhyArguments, Explanations.of_run, Explanations.of_schedule, title="Explain a run or a time")
async def why(call: ToolCall, asked: model.WhyArguments) -> Any:
    """Say why a run happened, waits or failed, or why a schedule did or did not run at a time: one paragraph, and the
    facts with what proves each of them. The same answer as `foliot why`."""
    target = asked.target.strip()
    if target.startswith("run_"):
        if asked.at is not None:
            raise Invalid("at", "belongs to a schedule; a run has its own time", got=asked.at)
        run_id = await call.resolve(ReferenceKind.RUN, target)
        found = await call.cases[Explanations].of_run(call.caller, run_id)
        return {**_shown(ExplanationAnswer.of(found)), "link": f"{call.base}/runs/{run_id}"}
    schedule_id = await call.resolve(ReferenceKind.SCHEDULE, target)
    at = None
    if asked.at is not None:
        schedule = await call.cases[Schedules].get(call.caller, schedule_id)
        zone = zone_info(schedule.spec.trigger.rule.zone)
        try:
            at = on_clock(asked.at, zone, call.cases[Explanations].clock.now()) or moment("at", asked.at)
        except ValueError as wrong:
            raise Invalid("at", str(wrong), got=asked.at) from None
    found = await call.cases[Explanations].of_schedule(call.caller, schedule_id, at)
    return {**_shown(ExplanationAnswer.of(found)), "link": f"{call.base}/schedules/{schedule_id}"}


@READING.tool(model.NoArguments, Attention.check, title="What needs attention")
async def attention(call: ToolCall, _asked: model.NoArguments) -> Any:
    """List what needs a person now, worst first: failing, late and missed schedules, dead letters, stalled queues."""
    found = await call.cases[Attention].check(call.caller)
    shown = found.items[: model.MOST_ITEMS]
    items = [{**_shown(AttentionItem.of(one)), "link": _attention_link(call, one)} for one in shown]
    return {"checked_at": found.at, "items": items, "more": len(found.items) - len(shown)}


@READING.tool(model.FindSchedulesArguments, Search.schedules, title="Find schedules")
async def find_schedules(call: ToolCall, asked: model.FindSchedulesArguments) -> Any:
    """List schedules by a filter, newest first."""
    search = call.cases[Search]
    found = await search.schedules(call.caller, PageRequest(asked.limit + 1), search.read_schedules(asked.q, field="q"))
    items = [schedule_summary(call, one) for one in found[: asked.limit]]
    return {"items": items, "more": len(found) > asked.limit}


@READING.tool(model.FindRunsArguments, Search.runs, title="Find runs")
async def find_runs(call: ToolCall, asked: model.FindRunsArguments) -> Any:
    """List runs by a filter, newest first, each with its error. For those before the last one, give its id as
    `before`."""
    before = None if asked.before is None else await call.resolve(ReferenceKind.RUN, asked.before)
    search = call.cases[Search]
    page = PageRequest(asked.limit + 1, before)
    found = await search.runs(call.caller, page, search.read_runs(asked.q, field="q"))
    items = [RunSummary.of(one, call.base) for one in found[: asked.limit]]
    return {"items": items, "more": len(found) > asked.limit}


@READING.tool(model.ReadLogArguments, Logs.page, title="Read or search a run's log")
async def read_log(call: ToolCall, asked: model.ReadLogArguments) -> Any:
    """The last lines of a run's log, or those that match."""
    if asked.level not in LEVELS:
        raise Invalid("level", f"must be one of {', '.join(LEVELS)}", got=asked.level)
    run_id = await call.resolve(ReferenceKind.RUN, asked.run)
    wanted = LogFilter(asked.grep.replace("\x00", ""), asked.level)
    found = await call.cases[Logs].page(call.caller, run_id, wanted, LogPlace(before=asked.before, limit=asked.limit))
    lines = [
        f"{one.seq} {one.at:%H:%M:%S} {one.level or 'info'} {short(one.message, LONGEST_LINE)}" for one in found.lines
    ]
    return LogText(
        run_id=run_id,
        lines=lines,
        total=found.total,
        matches=found.matches,
        before=found.before,
        link=f"{call.base}/runs/{run_id}",
    )


@READING.tool(model.PreviewTriggerArguments, Previews.preview, title="Preview a trigger")
async def preview_trigger(call: ToolCall, asked: model.PreviewTriggerArguments) -> Any:
    """The next times of a trigger, with remarks on clock changes. Nothing is stored. `words` understands English, as
    in "every weekday at 07:30"."""
    given = {each.name: getattr(asked, each.name) for each in fields(asked)}
    given = {name: value for name, value in given.items() if value is not None}
    kinds = {"cron_expr": "cron", "interval_seconds": "interval", "run_at": "oneoff"}
    if (named := next((kind for name, kind in kinds.items() if name in given), None)) and "words" not in given:
        given["type"] = named
    return SchedulePreview.of(await call.cases[Previews].preview(call.caller, given))


@READING.tool(model.PlanArguments, Plans.plan, title="Plan schedules")
async def plan(call: ToolCall, asked: model.PlanArguments) -> Any:
    """Compare schedules with what is stored, and forecast the load of the next seven days. Nothing is written; a person
    applies a plan by `foliot apply`."""
    raw = {"file": asked.file, "documents": {"schedules": asked.schedules}, "prune": asked.prune}
    answer = PlanAnswer.of(await call.cases[Plans].plan(call.caller, raw))
    differing = [one for one in answer.changes if one.act.value != "none"]
    peaks = {}
    if answer.simulation is not None:
        for name, queue in answer.simulation["queues"].items():
            peaks[name] = {"before": queue.peak_before.count, "after": queue.peak_after.count, "slots": queue.slots}
    return {
        "counts": answer.counts,
        "changes": differing[:MOST_CHANGES],
        "more": max(len(differing) - MOST_CHANGES, 0),
        "peaks": peaks,
        "skipped": [] if answer.simulation is None else answer.simulation["skipped"],
        "notes": [] if answer.simulation is None else answer.simulation["notes"],
        "link": f"{call.base}/schedules",
    }


@READING.tool(model.ChangesSinceArguments, PageHistory.changes, title="Changes of watched pages")
async def changes_since(call: ToolCall, asked: model.ChangesSinceArguments) -> Any:
    """Changes of watched pages. Remember `last_seq` and give it as `after` the next time: no change is missed and none
    comes twice."""
    history = call.cases[PageHistory]
    wanted = history.read_changes(asked.q)
    found = await history.changes(call.caller, wanted, asked.limit + 1, None, asked.after)
    shown = found[: asked.limit]
    items = []
    for one in shown:
        detail = ChangeDetail.of(one)
        detail.diff = short(detail.diff, LONGEST_DIFF)
        items.append({**_shown(detail), "link": f"{call.base}/watches/{detail.watch_id}"})
    last = max((one.change.seq for one in shown), default=asked.after)
    return {"items": items, "last_seq": last, "more": len(found) > asked.limit}


def schedule_summary(call: ToolCall, one: Schedule) -> ScheduleSummary:
    return ScheduleSummary(
        id=one.id,
        name=one.name,
        status=one.status.value,
        summary=one.spec.trigger.summary,
        timezone=one.spec.trigger.rule.zone,
        kind=one.spec.kind,
        next_run_at=one.next_at,
        last_run_at=one.last_run_at,
        paused_reason=one.paused_reason,
        tags=list(one.tags),
        link=f"{call.base}/schedules/{one.id}",
    )


def _shown(one: Any) -> dict[str, Any]:
    """The fields of a declared answer, to which a link is added."""
    return {each.name: getattr(one, each.name) for each in fields(one)}


def _attention_link(call: ToolCall, one: Any) -> str:
    if one.run_id is not None:
        return f"{call.base}/runs/{one.run_id}"
    return f"{call.base}/schedules/{one.schedule_id}" if one.schedule_id is not None else f"{call.base}/"
