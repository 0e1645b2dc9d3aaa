"""`foliot endpoints …`: how the targets of webhooks fare, and what can be done about one."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from foliot.features.bulk.cli import print_trial, show_bulk
from foliot.features.runs.cli import show_run
from foliot.terminal.access import asks
from foliot.terminal.client import Client, asking
from foliot.terminal.options import CLIENT_VARIABLES, Json, Utc
from foliot.terminal.output import Exit, Failure, count, listing, moment, note, print_json

group = typer.Typer(invoke_without_command=True)

Target = Annotated[str, typer.Argument(help="The target's address, as foliot endpoints shows it.", metavar="URL")]
Rate = Annotated[int, typer.Option(min=1, max=50, help="So many a second.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


@group.callback()
@asks
def endpoints(context: typer.Context, as_json: Json = False, utc: Utc = False) -> None:
    """Show how the targets of webhooks fared within the last 24 hours; those that fail now first."""
    if context.invoked_subcommand is None:
        _show(as_json=as_json, utc=utc)


@group.command("test", epilog=CLIENT_VARIABLES)
@asks
def send_test(
    url: Target,
    schedule: Annotated[str | None, typer.Option(help="Whose settings to use, of those that call it (its id).")] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Send one signed request now, marked as a test, to a target that a schedule calls."""
    body = {"url": url} | ({} if schedule is None else {"schedule_id": schedule})
    with asking() as client:
        made = client.post("/api/endpoints/test", body)
        show_run(made, as_json=as_json, utc=utc)
        if not as_json:
            note(f"see how it ends: foliot run logs -f {made['id']}")


@group.command(epilog=CLIENT_VARIABLES)
@asks
def recover(
    url: Target,
    *,
    since: Annotated[str, typer.Option(help="Runs made since: so long ago (24h), a date, or a time with its offset.")],
    rate: Rate = 5,
    dry_run: DryRun = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Send again what a target did not take: its dead letters, and runs that failed and left none.

    foliot endpoints recover https://example.com/hook --since 24h --dry-run
    """
    with asking() as client:
        made = f"{_filter(url)} since:{since}"
        failed = f"{made} state:failed -repeated:true -test:true"
        bulks = [
            _bulk(client, {"action": "replay", "filter": made, "rate": rate}, dry_run=dry_run),
            _bulk(client, {"action": "retry", "filter": failed, "rate": rate}, dry_run=dry_run),
        ]
        _print(bulks, as_json=as_json, utc=utc)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def disable(
    url: Target,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Needed where there is no terminal.")] = False,
    rate: Rate = 5,
    dry_run: DryRun = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Pause every active schedule that calls a target."""
    with asking() as client:
        body = {"action": "pause", "filter": _filter(url), "rate": rate}
        trial = _bulk(client, body, dry_run=True)
        if dry_run or not trial["count"]:
            _print([trial], as_json=as_json, utc=utc)
            return
        if not yes:
            if not sys.stdin.isatty():
                told = "there is no terminal to ask for confirmation, so nothing was paused: give --yes"
                raise Failure(told, Exit.USAGE)
            typer.confirm(f"Pause {count(trial['count'], 'schedule')}?", abort=True)
        _print([_bulk(client, {**body, "expect": trial["count"]}, dry_run=False)], as_json=as_json, utc=utc)


def _filter(url: str) -> str:
    """What finds its runs, and the schedules that call it."""
    if '"' in url:
        raise Failure("URL: must not hold a quotation mark: no filter can say it", Exit.USAGE)
    return f'target:"{url}"'


def _bulk(client: Client, body: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
    made: dict[str, Any] = client.post("/api/bulk", body | {"dry_run": dry_run})
    return {"action": body["action"], **made}


def _print(bulks: list[dict[str, Any]], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json({"items": bulks})
        return
    for one in bulks:
        if one.get("dry_run"):
            print_trial(one["action"], one)
        else:
            show_bulk(one, utc=utc)


def _show(*, as_json: bool, utc: bool) -> None:
    with asking() as client:
        found = client.get("/api/endpoints")

        def row(one: dict[str, Any]) -> tuple[object, ...]:
            codes = ", ".join(f"{code} {times}" for code, times in one["codes"].items())
            took = f"{one['p50_ms']:g} / {one['p95_ms']:g}"
            since, breaker = moment(one["failing_since"], utc=utc), _breaker(one.get("breaker"), utc=utc)
            ratio, secrets = f"{one['success_ratio']:.1%}", _secrets(one, utc=utc)
            return one["url"], one["calls"], ratio, took, codes, since, breaker, secrets

        columns = (
            "url",
            "calls",
            "succeeded",
            "ms p50 / p95",
            "how they ended",
            "failing since",
            "breaker",
            "secrets since",
        )
        listing(found, columns, row, empty="No webhook was called within the last 24 hours.", as_json=as_json)
        if not as_json and found["total"] > len(found["items"]):
            note(f"{count(found['total'] - len(found['items']), 'target')} more had no room")
        if not as_json and not found["whole"]:
            note("only the newest 2,000 runs were looked at: there are more")
        for one in [] if as_json else found.get("breakers", ()):
            since = moment(one["since"], utc=utc)
            note(f"the breaker of {one['target']} is {_breaker(one, utc=utc)}; since {since}: {one['why']}")


def _breaker(one: dict[str, Any] | None, *, utc: bool) -> str:
    if one is None:
        return ""
    if one["state"] == "half_open":
        return "half open, trial under way"
    return f"open, next trial {moment(one['next_trial_at'], utc=utc)}"


def _secrets(one: dict[str, Any], *, utc: bool) -> str:
    if one["secrets"] is None:
        return ""
    told = [f"{each['name']} {moment(each['since'], utc=utc) or 'unknown'}" for each in one["secrets"]]
    return ", ".join(told) or "none"
