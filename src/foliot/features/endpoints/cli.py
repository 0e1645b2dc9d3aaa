"""`foliot endpoints …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.features.bulk.view import show_bulk
from foliot.features.runs.view import RUN
from foliot.terminal.access import asks
from foliot.terminal.client import Client, connect
from foliot.terminal.group import CommandGroup, JsonObject, Table, print_answer
from foliot.terminal.options import DryRun, Json, Rate, SortEndpoints, Utc, Yes, usage
from foliot.terminal.output import confirm, count, note, print_json
from foliot.terminal.reference import Reference

group = CommandGroup(no_args_is_help=False, invoke_without_command=True)

Target = Annotated[str, typer.Argument(help="The target's URL, as foliot endpoints shows it.", metavar="URL")]


def _breaker(breaker: JsonObject) -> str:
    if breaker["state"] is None:
        return ""
    if breaker["state"] == "half_open":
        return "half open, trial in progress"
    return f"open, next trial {breaker.at('next_trial_at')}"


def _secrets(target: JsonObject) -> str:
    if target["secrets"] is None:
        return ""
    return (
        ", ".join(f"{secret['name']} {secret.at('since') or 'unknown'}" for secret in target.each("secrets")) or "none"
    )


def _note_rest(answer: JsonObject) -> None:
    if (rest := answer["total"] - len(answer["items"])) > 0:
        note(f"{count(rest, 'more target')} did not fit")
    if not answer["whole"]:
        note("only the newest 2,000 runs were counted: there are more")
    for breaker in answer.each("breakers"):
        note(
            f"the breaker of {breaker['target']} is {_breaker(breaker)}; since {breaker.at('since')}: {breaker['why']}"
        )


ENDPOINTS = Table(
    "url, calls, succeeded, ms p50 / p95?, responses?, failing since: @failing_since, breaker, secrets since?",
    computed={
        "succeeded": lambda target: f"{target['success_ratio']:.1%}",
        "ms p50 / p95": lambda target: f"{target['p50_ms']:g} / {target['p95_ms']:g}",
        "responses": lambda target: ", ".join(f"{code} {times}" for code, times in target["codes"].items()),
        "breaker": lambda target: _breaker(JsonObject(target["breaker"], target.utc)),
        "secrets since": _secrets,
    },
    empty="No webhook was called within the last 24 hours.",
    then=_note_rest,
)


@group.callback()
@asks
def endpoints(context: typer.Context, sort: SortEndpoints = None, as_json: Json = False, utc: Utc = None) -> None:
    """Show the health of webhook targets over the last 24 hours; failing ones first, or in another order."""
    if context.invoked_subcommand is not None:
        return
    with connect() as client:
        answer = client.get("/api/endpoints", sort=sort)
        print_answer(answer, ENDPOINTS, as_json=as_json, utc=utc)


def _show_test(run: JsonObject) -> None:
    RUN(run)
    note(f"see how it ends: foliot run logs -f {run['id']}")


@group.post("/api/endpoints/test", _show_test, name="test")
def send_test(
    url: Target,
    schedule_id: Annotated[
        str | None,
        typer.Option("--schedule", help="Use the settings of this schedule, which calls it (name or id)."),
        Reference("schedule"),
    ] = None,
) -> None:
    """Send one signed request now, marked as a test, to a target that a schedule calls."""


@group.command()
def recover(
    url: Target,
    *,
    since: Annotated[str, typer.Option(help="Runs created since: an age (24h), a date, or a time with its offset.")],
    rate: Rate = 5,
    dry_run: DryRun = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Send again what a target did not accept: its dead letters, and failed runs that left none.

    foliot endpoints recover https://example.com/hook --since 24h --dry-run
    """
    with connect() as client:
        created = f"{_filter(url)} since:{since}"
        failed = f"{created} state:failed -repeated:true -test:true"
        bulks = [
            _bulk(client, {"action": "replay", "filter": created, "rate": rate, "dry_run": dry_run}),
            _bulk(client, {"action": "retry", "filter": failed, "rate": rate, "dry_run": dry_run}),
        ]
        _print(bulks, as_json=as_json, utc=utc)


@group.command()
def disable(
    url: Target,
    *,
    yes: Yes = False,
    rate: Rate = 5,
    dry_run: DryRun = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Pause every active schedule that calls a target."""
    with connect() as client:
        body = {"action": "pause", "filter": _filter(url), "rate": rate}
        bulk = _bulk(client, {**body, "dry_run": True})
        if not dry_run and bulk["count"]:
            confirm(f"Pause {count(bulk['count'], 'schedule')}?", "nothing was paused", yes=yes)
            bulk = _bulk(client, {**body, "expect": bulk["count"], "dry_run": False})
        _print([bulk], as_json=as_json, utc=utc)


def _filter(url: str) -> str:
    """Matches its runs, and the schedules that call it."""
    if '"' in url:
        raise usage("URL: must not contain a quotation mark: a filter cannot express it")
    return f'target:"{url}"'


def _bulk(client: Client, body: dict[str, Any]) -> dict[str, Any]:
    return {"action": body["action"], **client.post("/api/bulk", body)}


def _print(bulks: list[dict[str, Any]], *, as_json: bool, utc: bool | None) -> None:
    if as_json:
        print_json({"items": bulks})
        return
    for bulk in bulks:
        show_bulk(bulk["action"], JsonObject(bulk, utc))
