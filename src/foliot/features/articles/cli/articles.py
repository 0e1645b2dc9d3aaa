"""`foliot articles …`: have pages scraped, watch it, and read what they say."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from foliot.features.articles.cli.diff import show_changes
from foliot.features.articles.cli.progress import summary, watch
from foliot.features.articles.cli.submission import read_wanted
from foliot.features.crawls.cli.output import pour, print_safely, save
from foliot.terminal.access import asks
from foliot.terminal.client import Client, asking, segment
from foliot.terminal.options import CLIENT_VARIABLES, STATUS_FLAGS, Json, Limit, Utc
from foliot.terminal.output import Exit, Failure, facts, moment, note, print_json, table

group = typer.Typer(help="Have articles scraped, watch it, and read what they say.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(help="The job's id (run_…).", metavar="JOB")]
Skip = Annotated[int, typer.Option(min=0, help="How many to leave out first.")]


class Format(StrEnum):
    """How results are written."""

    JSONL = "jsonl"
    CSV = "csv"
    TABLE = "table"


_ACCEPT = {Format.JSONL: "application/x-ndjson", Format.CSV: "text/csv"}


@group.command(epilog=CLIENT_VARIABLES)
@asks
def submit(  # noqa: PLR0913 -- a command has as many arguments as flags
    wanted: Annotated[
        list[str],
        typer.Argument(help="URLs; files of JSON, or with a URL a line; - reads from here.", metavar="WHAT..."),
    ],
    *,
    priority: Annotated[int | None, typer.Option(min=1, max=10, help="1 is most urgent.", show_default="5")] = None,
    source: Annotated[str | None, typer.Option(help="Whose articles they are.")] = None,
    category: Annotated[str | None, typer.Option(help="What they are about.")] = None,
    ignore_cache: Annotated[bool, typer.Option("--ignore-cache", help="Fetch also what was fetched lately.")] = False,
    max_age: Annotated[
        int | None, typer.Option(min=0, help="Fetch what is older than so many seconds.", show_default="the server's")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Stay until the last article is over; exit 1 if one has failed.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; with --follow, where the job stands in the end.")
    ] = (False),
) -> None:
    """Have articles scraped, each page once for everybody who wants it.

    --priority, --source and --category hold for those that say nothing else in their file.

    foliot articles submit examples/sample_articles.json --priority 1 --follow
    """
    with asking() as client:
        said = {"priority": priority, "source": source, "category": category}
        body = read_wanted(wanted, {name: value for name, value in said.items() if value is not None})
        body |= {"ignore_cache": True} if ignore_cache else {}
        body |= {} if max_age is None else {"max_age_seconds": max_age}
        made = client.post("/jobs/submit", body)
        if follow:
            note(f"{made['job_id']}: {made['message']}")
            _follow(client, made, as_json=as_json)
        elif as_json:
            print_json(made)
        else:
            _show_made(made)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def status(job: JobId, as_json: Json = False, utc: Utc = False) -> None:
    """Show how far a job has come."""
    with asking() as client:
        found = client.get(f"/jobs/{segment(job)}/status")
        if as_json:
            print_json(found)
            return
        facts(
            [
                ("job", found["job_id"]),
                ("status", found["status"]),
                ("articles", found["total_articles"]),
                ("completed", found["completed"]),
                ("from the cache", found["cached"]),
                ("failed", found["failed"]),
                ("pending", found["pending"]),
                ("created", moment(found["created_at"], utc=utc)),
                ("finished", moment(found["finished_at"], utc=utc)),
                ("error", (found.get("error") or {}).get("message")),
            ]
        )


@group.command(epilog=CLIENT_VARIABLES)
@asks
def results(
    job: JobId,
    form: Annotated[Format, typer.Option("--format", help="All as JSON lines or CSV, or a page as a table.")] = (
        Format.JSONL
    ),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all of it into this file, once it is there whole.")
    ] = None,
    limit: Limit = 50,
    skip: Skip = 0,
    utc: Utc = False,
) -> None:
    """Print what the articles say, as far as they are read. --limit and --skip choose the page of a table."""
    with asking() as client:
        path = f"/jobs/{segment(job)}/results"
        if form is Format.TABLE:
            if output is not None:
                raise Failure("--output: takes all results, as jsonl or csv; a table is printed", Exit.USAGE)
            _show_results(client.get(path, limit=limit, skip=skip), skip, utc=utc)
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
def diff(
    job: JobId,
    article: Annotated[
        str | None, typer.Argument(help="Its URL or its id (art_…); else all that have changed.", metavar="[ARTICLE]")
    ] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Show what changed in pages since they were read before: lines that went begin with -, lines that came with +."""
    with asking() as client:
        show_changes(client, job, article, as_json=as_json, utc=utc)


@group.command("list", epilog=CLIENT_VARIABLES)
@asks
def list_(
    status: Annotated[
        str | None, typer.Option(*STATUS_FLAGS, help="PENDING, IN_PROGRESS, COMPLETED, FAILED or CANCELLED.")
    ] = None,
    limit: Limit = 50,
    skip: Skip = 0,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List jobs of articles, newest first."""
    with asking() as client:
        found = client.get("/jobs/", status_filter=status, kind="articles", limit=limit, skip=skip)
        if as_json:
            print_json(found)
            return
        rows = [
            (each["job_id"], each["status"], moment(each["created_at"], utc=utc), summary(each))
            for each in found["jobs"]
        ]
        table(("id", "status", "created", "progress"), rows, empty="No jobs of articles.")
        _say_rest(found["total"] - skip - len(rows), skip + len(rows))


@group.command(epilog=CLIENT_VARIABLES)
@asks
def cancel(job: JobId, as_json: Json = False) -> None:
    """Cancel a job; what others want too is still fetched for them."""
    with asking() as client:
        told = client.delete(f"/jobs/{segment(job)}")
        if as_json:
            print_json(told)
        else:
            typer.echo(told["message"])


def _show_made(made: dict[str, Any]) -> None:
    facts([("job", made["job_id"]), ("to fetch", made["new_articles"]), ("from the cache", made["cached_articles"])])
    note(f"foliot articles status {made['job_id']} shows how far it is")


def _follow(client: Client, made: dict[str, Any], *, as_json: bool) -> None:
    """Every article as it ends, across cut connections; then the end as the exit code tells it."""
    from foliot.terminal.follow import follow_run

    watch(follow_run(client, made["job_id"], 0), made, quiet=as_json)
    ended = client.get(f"/jobs/{segment(made['job_id'])}/status")
    if as_json:
        print_json(ended)
    else:
        note(f"{ended['status']}: {summary(ended)}")
        if ended["failed"]:
            note(f"foliot articles results {made['job_id']} --format table says why")
    well = ended["status"] == "COMPLETED" and not ended["failed"]
    raise typer.Exit(Exit.DONE if well else Exit.FAILED)


def _show_results(found: dict[str, Any], skip: int, *, utc: bool) -> None:
    read, failed = found["results"], found["failed_articles"]
    table(
        ("url", "title", "words", "scraped", "cached"),
        [
            (
                each["url"],
                each["title"],
                len((each["content"] or "").split()),
                moment(each["scraped_at"], utc=utc),
                "yes" if each["cached"] else "",
            )
            for each in read
        ],
        empty="No article has been read." if not found["successful"] else "No more of them.",
    )
    if failed:
        rows = [(each["url"], each["error"], moment(each["attempted_at"], utc=utc)) for each in failed]
        table(("url", "why it could not be read", "tried"), rows, empty="")
    if changed := sum(1 for each in read if each.get("previous_scraped_at")):
        note(f"{changed} of these said something else before: foliot articles diff {found['job_id']}")
    shown = max(len(read), len(failed))
    _say_rest(max(found["successful"], found["failed"]) - skip - shown, skip + shown)


def _say_rest(rest: int, skip: int) -> None:
    if rest > 0:
        note(f"there are {rest} more: --skip {skip}")
