"""`foliot run …`, `foliot dead-letter …` and `foliot health`: what happened, and why."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.cli.access import asks
from foliot.cli.client import asking, segment
from foliot.cli.options import STATUS_FLAGS, Cursor, Filter, Json, Limit, RunId, Utc
from foliot.cli.printing import Exit, Failure, count, facts, listing, moment, note, print_json, printable, table

group = typer.Typer(help="Look at runs, follow their logs, cancel and retry them.", no_args_is_help=True)
dead_letters = typer.Typer(help="Runs that gave up, and how to send them again.", no_args_is_help=True)


@group.command("list")
def list_(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    status: Annotated[
        str | None, typer.Option(*STATUS_FLAGS, help="Only this state, or several separated by commas.")
    ] = None,
    schedule: Annotated[str | None, typer.Option(help="Only runs of this schedule (its id).")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of action, such as webhook.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only runs of this queue.")] = None,
    q: Filter = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List runs, newest first.

    foliot run list -q 'state:failed,dead_letter schedule:nightly* since:24h'
    """
    with asking() as client:
        chosen = {"status": status, "schedule_id": schedule, "kind": kind, "queue": queue, "q": q}
        show_runs(client.get("/api/runs", **chosen, limit=limit, cursor=cursor), as_json=as_json, utc=utc)


@group.command("count")
def count_(q: Filter = None, as_json: Json = False) -> None:
    """Count runs, altogether and by state; exactly."""
    with asking() as client:
        found = client.get("/api/runs/count", q=q)
        if as_json:
            print_json(found)
            return
        by_state = sorted(found["by_state"].items(), key=lambda one: -one[1])
        typer.echo(found["count"])
        facts(by_state)


@group.command()
def show(run: RunId, as_json: Json = False, utc: Utc = False) -> None:
    """Show a run with its attempts."""
    with asking() as client:
        show_run(client.get(f"/api/runs/{segment(run)}"), as_json=as_json, utc=utc)


@group.command()
def logs(  # noqa: PLR0913 -- a command has as many arguments as flags
    run: RunId,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Stay until the run has ended.")] = False,
    after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
    grep: Annotated[str | None, typer.Option(help="Only log lines that say this, in any case.")] = None,
    level: Annotated[
        str | None, typer.Option(help="Only log lines at least so severe: debug, info, warning, error or critical.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    utc: Utc = False,
) -> None:
    """Print a run's events and log lines; with -f as they happen, resuming where a cut connection left off."""
    from foliot.cli.following import follow_run, found_lines, stored_events

    with asking() as client:
        if grep is None and level is None:
            events = follow_run(client, run, after) if follow else stored_events(client, run, after)
        elif follow:
            raise Failure("--follow shows every line: leave out --grep and --level", Exit.USAGE)
        else:
            events = found_lines(client, run, after, grep=grep, level=level)
        for event in events:
            print_event(event, as_json=as_json, utc=utc)


@group.command()
def cancel(run: RunId, as_json: Json = False, utc: Utc = False) -> None:
    """Cancel a run: a waiting one at once, a running one within seconds."""
    with asking() as client:
        show_run(client.post(f"/api/runs/{segment(run)}/cancel"), as_json=as_json, utc=utc)


@group.command()
def retry(run: RunId, as_json: Json = False, utc: Utc = False) -> None:
    """Make a new run of the same work, linked to this one."""
    with asking() as client:
        show_run(client.post(f"/api/runs/{segment(run)}/retry"), as_json=as_json, utc=utc)


@dead_letters.command("list")
def list_dead(
    schedule: Annotated[str | None, typer.Option(help="Only those of this schedule (its id).")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of action, such as webhook.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List dead letters, grouped by what went wrong."""
    with asking() as client:
        found = client.get("/api/dead-letters", schedule_id=schedule, kind=kind, limit=limit, cursor=cursor)

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            newest = (each.get("ids") or [""])[0]
            last = moment(each.get("last_at"), utc=utc)
            return each["count"], each.get("code"), each.get("message"), each.get("kind"), last, newest

        columns = ("count", "code", "what", "kind", "last", "run")
        listing(found, columns, row, empty="No dead letters.", as_json=as_json)


@dead_letters.command("groups")
def groups(q: Filter = None, limit: Limit = 50, cursor: Cursor = None, as_json: Json = False, utc: Utc = False) -> None:
    """List dead letters by what went wrong, whatever the numbers and ids in their messages."""
    with asking() as client:
        found = client.get("/api/dead-letters/groups", q=q, limit=limit, cursor=cursor)

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            names = ", ".join(one["name"] for one in each.get("schedules", ()))
            last = moment(each.get("last_at"), utc=utc)
            return each["count"], each["fingerprint"], each.get("message"), each.get("host"), names, last

        columns = ("count", "fingerprint", "what", "host", "schedules", "last")
        listing(found, columns, row, empty="No dead letters.", as_json=as_json)


@dead_letters.command()
def replay(
    runs: Annotated[list[str] | None, typer.Argument(help="Ids of dead runs.", metavar="[RUN]...")] = None,
    schedule: Annotated[str | None, typer.Option(help="All of this schedule (its id).")] = None,
    kind: Annotated[str | None, typer.Option(help="All of this kind of action.")] = None,
    code: Annotated[str | None, typer.Option(help="All with this error code.")] = None,
    as_json: Json = False,
) -> None:
    """Send dead letters again, each as a new run; the letter stays until the new run succeeds."""
    with asking() as client:
        wanted = {"schedule_id": schedule, "kind": kind, "code": code}
        chosen = {name: value for name, value in wanted.items() if value is not None}
        if bool(runs) == bool(chosen):
            raise Failure("give either ids of runs, or --schedule, --kind or --code to choose them by", Exit.USAGE)
        body: dict[str, Any] = {"ids": runs} if runs else {"filter": chosen}
        made = client.post("/api/dead-letters/replay", body)
        if as_json:
            print_json(made)
            return
        rows = [(each["id"], each["state"], each.get("parent_id")) for each in made.get("items", [])]
        table(("run", "state", "replays"), rows, empty="No dead letters were found to replay.")
        if made.get("more"):
            note("there are more that match: give the same command again")


@asks
def health(as_json: Json = False, utc: Utc = False) -> None:
    """Ask a running server how it is, part by part. Exit 1 when something it needs is down."""
    with asking() as client:
        status, found = client.send("GET", "/health/detailed")
        if status not in (200, 503) or not isinstance(found, dict):
            raise client.failure(status, found)
        if as_json:
            print_json(found)
        else:
            _print_health(found, utc=utc)
        raise typer.Exit(Exit.DONE if status == 200 else Exit.FAILED)


def show_runs(found: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    def row(each: dict[str, Any]) -> tuple[object, ...]:
        return (
            each["id"],
            each["state"],
            each.get("kind"),
            moment(each.get("scheduled_for") or each.get("created_at"), utc=utc),
            f"{each.get('attempt')}/{each.get('max_attempts')}",
            _took(each.get("duration_ms")),
            (each.get("error") or {}).get("message"),
        )

    columns = ("id", "state", "kind", "due", "attempt", "took", "error")
    listing(found, columns, row, empty="No runs.", as_json=as_json)


def show_run(run: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(run)
        return
    facts(
        [
            ("id", run["id"]),
            ("schedule", run.get("schedule_id")),
            ("kind", run.get("kind")),
            ("state", run["state"]),
            ("due", moment(run.get("scheduled_for"), utc=utc)),
            ("created", moment(run.get("created_at"), utc=utc)),
            ("started", moment(run.get("started_at"), utc=utc)),
            ("finished", moment(run.get("finished_at"), utc=utc)),
            ("took", _took(run.get("duration_ms"))),
            ("late", _took(run.get("lateness_ms"))),
            ("queue", f"{run.get('queue')}, priority {run.get('priority')}"),
            ("attempt", f"{run.get('attempt')} of {run.get('max_attempts')}"),
            ("worker", run.get("worker")),
            ("repeats", run.get("parent_id")),
            ("resolved by", run.get("resolved_by")),
            ("result", run.get("result")),
            ("error", run.get("error")),
        ]
    )
    if attempts := run.get("attempts"):
        rows = [
            (
                each.get("number"),
                each.get("outcome"),
                moment(each.get("started_at"), utc=utc),
                moment(each.get("ended_at"), utc=utc),
                (each.get("response") or {}).get("status"),
                (each.get("error") or {}).get("message"),
            )
            for each in attempts
        ]
        table(("attempt", "outcome", "started", "ended", "status", "error"), rows, empty="")


def print_event(event: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(event, indent=None)
        return
    from foliot.domain.transcript import transcript_line

    typer.echo(transcript_line(moment(event.get("at") or event.get("ts"), utc=utc), event))


def _print_health(found: dict[str, Any], *, utc: bool) -> None:
    database = found.get("database") or {}
    typer.echo(f"{found.get('status')}, version {found.get('version')}")
    for problem in found.get("problems") or []:
        typer.echo(printable(f"  {problem}"))
    rows = [
        ("database", database.get("status"), database.get("error") or f"answers in {database.get('latency_ms')} ms")
    ]
    if feed := found.get("feed"):
        rows.append(("feed", "ok" if feed["connected"] else "away", feed.get("error") or feed["kind"]))
    rows += [
        (f"{node['role']} {node['id']}", "ok", f"seen {moment(node.get('seen_at'), utc=utc)}")
        for node in found.get("nodes") or []
    ]
    rows += [
        (f"queue {each['queue']}", "", f"{count(each['depth'], 'run')} waiting") for each in found.get("queues") or []
    ]
    rows += [(f"schedule {each['schedule_id']}", "damaged", each["fault"]) for each in found.get("damaged") or []]
    table(("part", "status", "detail"), rows, empty="")


def _took(milliseconds: object) -> str:
    if not isinstance(milliseconds, int | float):
        return ""
    return f"{milliseconds:.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:.1f} s"
