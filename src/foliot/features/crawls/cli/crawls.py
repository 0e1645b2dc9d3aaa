"""`foliot crawl …`: ask for crawls, follow them, read what they brought home."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from foliot.features.crawls.cli.output import (
    pour,
    print_safely,
    progress_of,
    save,
    say_end,
    show_deployed,
    show_made,
    show_status,
)
from foliot.terminal import flag_values as drafting
from foliot.terminal.access import asks, needs
from foliot.terminal.client import Client, asking, segment
from foliot.terminal.group import StartsByDefault
from foliot.terminal.options import CLIENT_VARIABLES, STATUS_FLAGS, Json, Limit, Utc
from foliot.terminal.output import Exit, Failure, moment, note, one_line_errors, print_json, table

group = typer.Typer(
    cls=StartsByDefault,
    help="Crawl: foliot crawl URL… begins one; the commands look at crawls, follow them and cancel them.",
    no_args_is_help=True,
)

JobId = Annotated[str, typer.Argument(help="The job's id (run_…, or sch_… of a planned one).", metavar="JOB")]
Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Stay and print the log until the crawl has ended; exit 1 if badly.")
]


class Format(StrEnum):
    """How results are written."""

    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"


_ACCEPT = {Format.NDJSON: "application/x-ndjson", Format.CSV: "text/csv"}


@group.command(epilog=CLIENT_VARIABLES)
@asks
def start(  # noqa: PLR0913 -- a command has as many arguments as flags
    urls: Annotated[list[str], typer.Argument(help="Where the spider begins.", metavar="URL...")],
    *,
    spider: Annotated[str, typer.Option(help="Which spider.")] = "seo",
    depth: Annotated[int | None, typer.Option(min=0, help="How many links deep.")] = None,
    project: Annotated[str | None, typer.Option(help="The spider's project.", show_default="the server's")] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="name=value for the spider; JSON where it is JSON. May be repeated.")
    ] = None,
    min_items: Annotated[int | None, typer.Option(min=0, help="With fewer items the crawl has failed.")] = None,
    max_errors: Annotated[int | None, typer.Option(min=0, help="With more errors the crawl has failed.")] = None,
    user: Annotated[str | None, typer.Option(help="Whom it is for.", show_default="you")] = None,
    priority: Annotated[int | None, typer.Option(min=1, max=10, help="1 is most urgent.", show_default="5")] = None,
    at: Annotated[str | None, typer.Option(help="Once, then: 2027-01-01T09:00:00Z.")] = None,
    cron: Annotated[str | None, typer.Option(help="Again and again: '0 9 * * *'.")] = None,
    every: Annotated[str | None, typer.Option(help="Again and again: 30m, 4h, 1d.")] = None,
    timezone: Annotated[str | None, typer.Option(help="The zone of --cron.")] = None,
    ignore_cache: Annotated[
        bool, typer.Option("--ignore-cache", help="Crawl anew even if the same was asked for a moment ago.")
    ] = False,
    follow: Follow = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Crawl, now or as --at, --cron or --every say. `start` itself may be left out.

    foliot crawl https://example.com --spider seo --depth 2 --follow
    """
    with asking() as client:
        _check_urls(urls)
        wanted: dict[str, Any] = {
            "spider": spider,
            "start_urls": urls,
            "depth": depth,
            "project": project,
            "params": dict(drafting.parameter("--param", text) for text in param or []) or None,
            "min_items": min_items,
            "max_errors": max_errors,
            "user_id": user,
            "priority": priority,
            "ignore_cache": ignore_cache or None,
            **_when(at, cron, every, timezone),
        }
        if follow and any(one is not None for one in (at, cron, every)):
            raise Failure("--follow: a planned crawl has not begun; follow it later by its id", Exit.USAGE)
        made = client.post("/crawl", {name: value for name, value in wanted.items() if value is not None})
        if follow:
            _announce(made)
            _follow(client, made["job_id"], as_json=as_json, utc=utc)
        elif as_json:
            print_json(made)
        else:
            show_made(made, utc=utc)


@group.command("list", epilog=CLIENT_VARIABLES)
@asks
def list_(
    status: Annotated[
        str | None, typer.Option(*STATUS_FLAGS, help="pending, running, finished, error or cancelled.")
    ] = None,
    limit: Limit = 50,
    skip: Annotated[int, typer.Option(min=0, help="How many to leave out first.")] = 0,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List crawls, newest first. Planned ones: foliot schedule list --kind crawl."""
    with asking() as client:
        found = client.get("/jobs/", status_filter=status, kind="crawl", limit=limit, skip=skip)
        if as_json:
            print_json(found)
            return
        table(
            ("id", "status", "created", "finished", "progress", "error"),
            [
                (
                    each["job_id"],
                    each["status"],
                    moment(each["created_at"], utc=utc),
                    moment(each["finished_at"], utc=utc),
                    progress_of(each),
                    (each.get("error") or {}).get("message"),
                )
                for each in found["jobs"]
            ],
            empty="No crawls.",
        )
        rest = found["total"] - skip - len(found["jobs"])
        if rest > 0:
            note(f"there are {rest} more: --skip {skip + len(found['jobs'])}")


@group.command(epilog=CLIENT_VARIABLES)
@asks
def status(job: JobId, as_json: Json = False, utc: Utc = False) -> None:
    """Show where a crawl stands, or a planned one with its newest run."""
    with asking() as client:
        show_status(client.get(f"/jobs/{segment(job)}/status"), as_json=as_json, utc=utc)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def logs(
    job: JobId,
    follow: Follow = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    utc: Utc = False,
) -> None:
    """Print a crawl's log; with -f as it grows, resuming where a cut connection left off."""
    from foliot.features.crawls.cli.log import Live
    from foliot.terminal.follow import stored_events

    with asking() as client:
        if follow:
            _follow(client, job, as_json=as_json, utc=utc)
            return
        run_id = client.get(f"/jobs/{segment(job)}/status")["run_id"]
        if run_id is not None:
            Live(as_json, utc).tell(stored_events(client, run_id, 0))


@group.command(epilog=CLIENT_VARIABLES)
@asks
def results(
    job: JobId,
    form: Annotated[Format, typer.Option("--format", help="All as JSON lines or a table, or a page as JSON.")] = (
        Format.NDJSON
    ),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all of it into this file, once it is there whole.")
    ] = None,
    limit: Limit = 50,
    skip: Annotated[int, typer.Option(min=0, help="Of a page: how many to leave out first.")] = 0,
) -> None:
    """Print what a crawl has brought home so far."""
    with asking() as client:
        path = f"/jobs/{segment(job)}/results"
        if form is Format.JSON:
            if output is not None:
                raise Failure("--output: takes all results, as ndjson or csv; a page as json is printed", Exit.USAGE)
            print_json(client.get(path, limit=limit, skip=skip))
            return
        pieces = client.download(path, _ACCEPT[form])
        if output is not None:
            save(output, pieces)
        elif sys.stdout.isatty():
            print_safely(pieces)
        else:
            pour(pieces)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def cancel(job: JobId, as_json: Json = False) -> None:
    """Cancel a crawl, also where it runs; a planned one is deleted."""
    with asking() as client:
        told = client.delete(f"/jobs/{segment(job)}")
        if as_json:
            print_json(told)
        else:
            typer.echo(told["message"])


@group.command()
@needs()
def deploy(
    directory: Annotated[Path, typer.Argument(help="A Scrapy project: where its scrapy.cfg is.")] = Path(),
    node: Annotated[
        list[str] | None,
        typer.Option(help="A Scrapyd, such as http://127.0.0.1:6800. May be repeated.", show_default="SCRAPYD_URL"),
    ] = None,
    project: Annotated[str | None, typer.Option(help="Its name there.", show_default="as in scrapy.cfg")] = None,
    version: Annotated[str | None, typer.Option(help="Its version.", show_default="the moment")] = None,
    as_json: Json = False,
) -> None:
    """Build a Scrapy project as an egg and bring it to every Scrapyd of SCRAPYD_URL. Exit 1 if one does not take it."""
    from foliot.config.settings import Settings
    from foliot.db.clock import wall
    from foliot.features.crawls.cli.deploy import deploy as bring

    with one_line_errors():
        nodes = node or [url.reveal() for url in Settings.load(os.environ).scrapyd_urls]
        told = bring(directory, nodes, now=wall(), project=project, version=version)
        show_deployed(told, as_json=as_json)
        if any(each.error is not None for each in told):
            raise typer.Exit(Exit.FAILED)


def _check_urls(urls: list[str]) -> None:
    """Said here, for the first word may be a command that was misspelt."""
    for url in urls:
        if not url.lower().startswith(("http://", "https://")):
            named = (one.name or getattr(one.callback, "__name__", "") for one in group.registered_commands)
            known = ", ".join(sorted(str(name) for name in named))
            raise Failure(f"{url!r} is neither an http or https URL nor a command: {known}", Exit.USAGE)


def _when(at: str | None, cron: str | None, every: str | None, timezone: str | None) -> dict[str, Any]:
    given = [flag for flag, value in (("--at", at), ("--cron", cron), ("--every", every)) if value is not None]
    if len(given) > 1:
        raise drafting.usage(f"{' and '.join(given)} exclude each other: a crawl has one trigger")
    interval = cron if every is None else drafting.duration("--every", every)
    return {"schedule_at": at, "interval": interval, "timezone": timezone}


def _announce(made: dict[str, Any]) -> None:
    if made["cached"]:
        note(f"{made['job_id']} was asked for before and is followed; --ignore-cache begins a new one")
    else:
        note(f"{made['job_id']} has begun")


def _follow(client: Client, job: str, *, as_json: bool, utc: bool) -> None:
    """The log until the end, then the end as the exit code tells it."""
    from foliot.features.crawls.cli.log import Live, summary
    from foliot.terminal.follow import follow_run

    path = f"/jobs/{segment(job)}/status"
    run_id = client.get(path)["run_id"]
    if run_id is None:
        raise Failure(f"{job} has not run yet: there is nothing to follow")
    live = Live(as_json, utc)
    live.tell(follow_run(client, run_id, 0))
    # Of that very run: its schedule may have a newer one by now.
    ended = client.get(f"/jobs/{segment(run_id)}/status")
    say_end(ended, summary(live.progress))
    raise typer.Exit(Exit.DONE if ended["status"] == "finished" else Exit.FAILED)
