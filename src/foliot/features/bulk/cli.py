"""`foliot bulk …`: one action on many runs or schedules, followed to its end."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.features.dead_letters.cli import Patch, Settings, terms
from foliot.terminal.client import asking, segment
from foliot.terminal.options import Cursor, Json, Limit, Utc
from foliot.terminal.output import Exit, Failure, count, facts, listing, moment, note, print_json, table

group = typer.Typer(help="Act on everything that matches a filter, and follow it.", no_args_is_help=True)

BulkId = Annotated[str, typer.Argument(help="The bulk action's id (blk_…).", metavar="BULK")]


@group.command()
def start(  # noqa: PLR0913 -- a command has as many arguments as flags
    action: Annotated[
        str,
        typer.Argument(help="On runs: cancel, retry, replay, discard. On schedules: pause, resume, run, tag, delete."),
    ],
    ids: Annotated[list[str] | None, typer.Argument(help="Ids, instead of a filter.", metavar="[ID]...")] = None,
    *,
    q: Annotated[
        str | None, typer.Option("--query", "-q", help="Everything this filter matches; '' means all it can act on.")
    ] = None,
    rate: Annotated[int, typer.Option(min=1, max=50, help="So many a second.")] = 5,
    stop_after: Annotated[int | None, typer.Option(min=1, help="Stop when so many failed.")] = None,
    newest: Annotated[bool, typer.Option("--newest-first", help="Begin with the newest.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    expect: Annotated[int | None, typer.Option(min=0, help="Refuse unless so many match now.")] = None,
    add_tag: Annotated[list[str] | None, typer.Option(help="With tag: one to add; may be repeated.")] = None,
    remove_tag: Annotated[list[str] | None, typer.Option(help="With tag: one to take away; may be repeated.")] = None,
    as_of: Settings = None,
    patch: Patch = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Act on many: what it acts on is fixed now, each is acted on once, also across restarts.

    foliot bulk start replay -q 'fingerprint:ab12 since:24h' --rate 5 --stop-after 3 --dry-run
    """
    body: dict[str, Any] = {"action": action, "rate": rate, "dry_run": dry_run}
    body |= {"ids": ids} if ids else {"filter": q}
    body |= {"order": "newest"} if newest else {}
    body |= {name: value for name, value in (("stop_after", stop_after), ("expect", expect)) if value is not None}
    body |= {name: tags for name, tags in (("add_tags", add_tag), ("remove_tags", remove_tag)) if tags}
    with asking() as client:
        if bool(ids) == (q is not None):
            raise Failure("give either ids, or --query with a filter", Exit.USAGE)
        made = client.post("/api/bulk", body | terms(as_of, patch))
        if as_json:
            print_json(made)
        elif made.get("dry_run"):
            print_trial(action, made)
        else:
            show_bulk(made, utc=utc)


@group.command("list")
def list_(limit: Limit = 50, cursor: Cursor = None, as_json: Json = False) -> None:
    """List bulk actions, newest first."""
    with asking() as client:

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            progress = f"{each['done']}/{each['total']}"
            about = each["filter"] if each.get("filter") is not None else count(each["ids_given"], "id")
            return each["id"], each["action"], each["state"], progress, each["failed"], about, each["user_id"]

        columns = ("id", "action", "state", "done", "failed", "on", "by")
        found = client.get("/api/bulk", limit=limit, cursor=cursor)
        listing(found, columns, row, empty="No bulk actions.", as_json=as_json)


@group.command()
def show(bulk: BulkId, as_json: Json = False, utc: Utc = False) -> None:
    """Show how far a bulk action is, and what failed."""
    with asking() as client:
        found = client.get(f"/api/bulk/{segment(bulk)}")
        print_json(found) if as_json else show_bulk(found, utc=utc)


@group.command()
def pause(bulk: BulkId, as_json: Json = False, utc: Utc = False) -> None:
    """Act on nothing more until it is resumed."""
    _turn(bulk, "pause", as_json=as_json, utc=utc)


@group.command()
def resume(bulk: BulkId, as_json: Json = False, utc: Utc = False) -> None:
    """Go on where it was paused."""
    _turn(bulk, "resume", as_json=as_json, utc=utc)


@group.command()
def stop(bulk: BulkId, as_json: Json = False, utc: Utc = False) -> None:
    """Stop for good; what was done stays done."""
    _turn(bulk, "stop", as_json=as_json, utc=utc)


def _turn(bulk: str, verb: str, *, as_json: bool, utc: bool) -> None:
    with asking() as client:
        found = client.post(f"/api/bulk/{segment(bulk)}/{verb}")
        print_json(found) if as_json else show_bulk(found, utc=utc)


def print_trial(action: str, trial: dict[str, Any]) -> None:
    """What a bulk action would do."""
    typer.echo(f"{action} would act on {trial['count']}")
    if trial["hosts"]:
        typer.echo(f"sends to {', '.join(trial['hosts'])}")
    if told := trial.get("rehearsal"):
        _print_rehearsal(told)
    for warning in trial["warnings"]:
        note(warning)
    rows = [(each["id"], each.get("name"), each["kind"], each["state"], each["message"]) for each in trial["sample"]]
    table(("id", "name", "kind", "state", "what"), rows, empty="Nothing matches.")


def _print_rehearsal(told: dict[str, Any]) -> None:
    """What replaying would do, as far as the first of them tell."""
    typer.echo(
        f"of {told['looked_at']} looked at: {told['changed']} told something else than when they failed, "
        f"{told['duplicates']} do what another does, {told['edited']} edited, {told['refused']} refused; "
        f"replayed before at most {told['replays_most']} times (the most is {told['replays_cap']})"
    )
    for each in told["refusals"]:
        note(f"{each['id']}: {each['message']}")


def show_bulk(bulk: dict[str, Any], *, utc: bool) -> None:
    outcomes = ", ".join(f"{number} {state}" for state, number in bulk["outcomes"].items())
    facts(
        [
            ("id", bulk["id"]),
            ("action", bulk["action"]),
            ("filter", bulk.get("filter")),
            ("state", bulk["state"]),
            ("reason", bulk.get("reason")),
            ("done", f"{bulk['done']} of {bulk['total']}: {bulk['ok']} ok, {bulk['failed']} failed"),
            ("runs", outcomes),
            ("rate", f"{bulk['rate']} a second"),
            ("details", bulk.get("details")),
            ("by", bulk["user_id"]),
            ("created", moment(bulk.get("created_at"), utc=utc)),
            ("finished", moment(bulk.get("finished_at"), utc=utc)),
        ]
    )
    rows = [(each["id"], each["message"]) for each in bulk["failures"]]
    if rows:
        table(("id", "why it failed"), rows, empty="")
