"""The tools that change something: the same permissions, limits and audit entries as their routes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from foliot.core.errors import Invalid
from foliot.features.bulk.usecases import BulkEstimate, Bulks, BulkView
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.mcp import model
from foliot.features.mcp.model import DraftTerms
from foliot.features.mcp.rest.read_tools import schedule_summary
from foliot.features.mcp.rest.tool import Confirmed, Toolbox, ToolCall
from foliot.features.mcp.schema import Draft, RunSummary, short
from foliot.features.schedules import schema as schedules_schema
from foliot.features.schedules.usecases.draft import ScheduleDrafts
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.search.usecases import ReferenceKind
from foliot.features.watches.usecases.preview import PreviewedPage, WatchPreviews
from foliot.features.watches.usecases.watches import Watches, WatchView

WRITING = Toolbox()
NEXT_TIMES = 5
LONGEST_TEXT = 4000


@WRITING.tool(model.CreateScheduleArguments, Schedules.create, title="Create a schedule")
async def create_schedule(call: ToolCall, asked: model.CreateScheduleArguments) -> Any:
    """Create a schedule in two steps. The first call checks it and answers a draft with its next times; show that to
    the person, and call again with `confirm` to create it."""
    terms = DraftTerms("create_schedule", call.caller.tenant_id, {"schedule": asked.schedule})

    async def draft() -> Draft:
        one = await call.cases[ScheduleDrafts].draft(call.caller, asked.schedule)
        after, times = call.cases[Schedules].clock.now(), list[datetime]()
        while len(times) < NEXT_TIMES and (following := one.spec.trigger.next_run_after(after)) is not None:
            times.append(following)
            after = following
        shown = schedules_schema.Schedule.of(one)
        document = {
            name: getattr(shown, name)
            for name in ("name", "action", "timezone", "overlap", "catchup", "retry_policy", "queue", "status")
        }
        return Draft(draft={"summary": shown.summary, "next_times": times, **document}, confirm="", notes=[])

    async def create(confirmed: Confirmed) -> Any:
        return summary(await call.cases[Schedules].create(call.caller, asked.schedule, confirmed.once(summary)))

    def summary(one: Any) -> Any:
        return schedule_summary(call, one)

    return await call.drafted(terms, asked.confirm, draft, create)


@WRITING.tool(model.RunNowArguments, Schedules.run_now, title="Run a schedule now")
async def run_now(call: ToolCall, asked: model.RunNowArguments) -> Any:
    """Start a run of a schedule now, beside its own times."""
    schedule_id = await call.resolve(ReferenceKind.SCHEDULE, asked.schedule)
    raw = None if asked.payload is None else {"payload": asked.payload}
    return RunSummary.of(await call.cases[Schedules].run_now(call.caller, schedule_id, raw), call.base)


@WRITING.tool(model.PauseArguments, Schedules.pause, Schedules.resume, title="Pause or resume a schedule")
async def pause(call: ToolCall, asked: model.PauseArguments) -> Any:
    """Pause a schedule, with the reason, or resume it. Paused time is never caught up."""
    schedule_id = await call.resolve(ReferenceKind.SCHEDULE, asked.schedule)
    schedules = call.cases[Schedules]
    if not asked.resume:
        return schedule_summary(call, await schedules.pause(call.caller, schedule_id, {"reason": asked.reason}))
    if asked.reason:
        raise Invalid("reason", "belongs to a pause", got=asked.reason)
    return schedule_summary(call, await schedules.resume(call.caller, schedule_id))


@WRITING.tool(model.ReplayArguments, Bulks.create, DeadLetters.replay, title="Replay dead letters")
async def replay(call: ToolCall, asked: model.ReplayArguments) -> Any:
    """Replay dead letters in two steps. The first call is a trial: how many match, to which hosts they would be sent,
    and what would be refused; call again with `confirm` to replay them. One is sent first, the others when it has
    succeeded."""
    chosen = {"filter": asked.q} if asked.ids is None else {"ids": list(asked.ids)}
    if asked.ids is not None and asked.q is not None:
        raise Invalid("q", "cannot be beside 'ids': give one of the two")
    if asked.ids is None and asked.q is None:
        raise Invalid("ids", "or 'q' must be given: one of the two; an empty filter means all")
    request = {"action": "replay", **chosen}
    terms = DraftTerms("replay", call.caller.tenant_id, request)

    async def trial() -> Draft:
        found = await call.cases[Bulks].create(call.caller, {**request, "dry_run": True})
        return Draft(draft=_estimated(found), confirm="", notes=list(getattr(found, "warnings", ())))

    async def send(confirmed: Confirmed) -> Any:
        return begun(await call.cases[Bulks].create(call.caller, request, confirmed.once(begun)))

    def begun(made: Any) -> Any:
        return _begun(call, made)

    return await call.drafted(terms, asked.confirm, trial, send)


@WRITING.tool(model.WatchPageArguments, Watches.create, title="Watch a page")
async def watch_page(call: ToolCall, asked: model.WatchPageArguments) -> Any:
    """Watch a page for changes, in two steps. The first call visits it once and answers what was found; call again
    with `confirm` to create the watch."""
    document: dict[str, Any] = {"urls": [asked.url]}
    given = {"select": asked.select, "fields": asked.fields, "when": asked.when}
    document |= {name: value for name, value in given.items() if value is not None}
    whole = {
        **document,
        "name": asked.name or short(asked.url, 120),
        "schedule": {"type": "interval", "interval_seconds": asked.every_seconds},
    }
    terms = DraftTerms("watch_page", call.caller.tenant_id, whole)

    async def preview() -> Draft:
        found = await call.cases[WatchPreviews].preview(call.caller, document)
        pages = [_previewed(one) for one in found.pages]
        return Draft(draft={"watch": whole, "pages": pages, "when": found.when}, confirm="", notes=list(found.problems))

    async def create(confirmed: Confirmed) -> Any:
        return watched(await call.cases[Watches].create(call.caller, whole, confirmed.once(watched)))

    def watched(view: WatchView) -> Any:
        return {
            "id": view.watch.id,
            "name": view.watch.settings.name,
            "next_visit_at": view.next_visit_at,
            "link": f"{call.base}/watches/{view.watch.id}",
        }

    return await call.drafted(terms, asked.confirm, preview, create)


def _estimated(found: BulkView | BulkEstimate) -> dict[str, Any]:
    """What a trial found."""
    if isinstance(found, BulkView):
        raise TypeError("a dry run creates nothing")
    rehearsal = found.rehearsal
    refused = [] if rehearsal is None else [{"id": run_id, "why": short(why)} for run_id, why in rehearsal.reasons]
    return {
        "matches": found.count,
        "sample": [one.id for one in found.sample],
        "hosts": list(found.hosts),
        "duplicates": 0 if rehearsal is None else rehearsal.duplicates,
        "changed_since": 0 if rehearsal is None else rehearsal.changed,
        "refused": 0 if rehearsal is None else rehearsal.refused,
        "refusals": refused,
    }


def _begun(call: ToolCall, made: BulkView | BulkEstimate) -> dict[str, Any]:
    """The bulk action that replays them."""
    if isinstance(made, BulkEstimate):
        raise TypeError("only a dry run estimates")
    bulk = made.bulk
    return {"id": bulk.id, "state": bulk.state, "total": bulk.total, "link": f"{call.base}/bulk/{bulk.id}"}


def _previewed(page: PreviewedPage) -> dict[str, Any]:
    text = None if page.text is None else short(page.text, LONGEST_TEXT)
    return {
        "url": page.url,
        "state": page.state,
        "fields": page.fields,
        "missing": page.missing,
        "hints": page.hints,
        "problem": page.problem,
        "text": text,
    }
