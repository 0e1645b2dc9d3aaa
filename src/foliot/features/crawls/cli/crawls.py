"""`foliot crawl …`.

Prints the log of a crawl as it happens, with a progress line below it on a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from foliot.terminal.access import needs
from foliot.terminal.client import Client, connect, segment
from foliot.terminal.follow import follow_run, stored_events, write
from foliot.terminal.group import CommandGroup, DefaultCommandGroup, Facts, JsonObject, Table, print_answer
from foliot.terminal.options import (
    STATUS_FLAGS,
    JobId,
    Json,
    JsonLines,
    Limit,
    Output,
    Priority,
    Skip,
    SortRuns,
    Utc,
    duration,
    parameter,
    usage,
)
from foliot.terminal.output import (
    Exit,
    Failure,
    count,
    moment,
    note,
    note_skipped,
    one_line_errors,
    print_json,
    printable,
)
from foliot.terminal.reference import resolve

group = CommandGroup(
    "Crawl a site: foliot crawl URL… starts a crawl; the commands show, follow and cancel crawls.",
    cls=DefaultCommandGroup,
)

Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Print the log until the crawl has ended; exit 1 unless it succeeds.")
]


class CrawlFormat(StrEnum):
    """How a crawl's results are written."""

    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"


_ACCEPT = {CrawlFormat.NDJSON: "application/x-ndjson", CrawlFormat.CSV: "text/csv"}


def _progress(job: JsonObject) -> str:
    return summary(job["progress"] or {})


def _host(job: JsonObject) -> str:
    """`example.com`, `example.com and 2 more URLs`."""
    more = (job["about.count"] or 1) - 1
    return f"{job['about.host'] or ''}" + (f" and {count(more, 'more URL')}" if more else "")


def _show_started(job: JsonObject) -> None:
    STARTED(job)
    if not job["scheduled"]:
        note(f"foliot crawl logs {job['job_id']} --follow shows what it does")


STARTED = Facts(
    "job: job_id, planned, next: @next_run, requested before",
    computed={
        "planned": lambda job: "yes" if job["scheduled"] else None,
        "requested before": lambda job: job.at("cached_at") if job["cached"] else None,
    },
)
CRAWLS = Table(
    "id: job_id, host, spider: about.spider, status, created: @created_at, finished?: @finished_at, progress?, "
    "error?: error.message",
    computed={"progress": _progress, "host": _host},
    empty="No crawls.",
    items="jobs",
    then=lambda answer: note_skipped(answer["total"], answer.sent["skip"], len(answer["jobs"])),
)
CRAWL = Facts(
    "job: job_id, status, state, run, created: @created_at, started: @started_at, finished: @finished_at, "
    "next: @next_run, at Scrapyd: spider_job_id, progress, error: error.message",
    computed={"run": lambda job: job["run_id"] if job["run_id"] != job["job_id"] else None, "progress": _progress},
)
DEPLOYED = Table(
    "node, project, version, answer",
    computed={"answer": lambda node: node["error"] or f"accepted, with {count(node['spiders'], 'spider')}"},
)


@group.command()
def start(  # noqa: PLR0913 -- a command has as many arguments as flags
    context: typer.Context,
    urls: Annotated[list[str], typer.Argument(help="Where the spider starts.", metavar="URL...")],
    *,
    spider: Annotated[str, typer.Option(help="The spider to run.")] = "seo",
    depth: Annotated[int | None, typer.Option(min=0, help="How many links deep to follow.")] = None,
    project: Annotated[str | None, typer.Option(help="The spider's project.", show_default="the server's")] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="name=value for the spider; JSON if it parses as JSON. May be repeated.")
    ] = None,
    min_items: Annotated[int | None, typer.Option(min=0, help="Fail the crawl if it finds fewer items.")] = None,
    max_errors: Annotated[int | None, typer.Option(min=0, help="Fail the crawl if it logs more errors.")] = None,
    user: Annotated[str | None, typer.Option(help="The user it is for.", show_default="you")] = None,
    priority: Priority = None,
    at: Annotated[str | None, typer.Option(help="Crawl once at this time: 2027-01-01T09:00:00Z.")] = None,
    cron: Annotated[str | None, typer.Option(help="Crawl repeatedly: '0 9 * * *'.")] = None,
    every: Annotated[str | None, typer.Option(help="Crawl repeatedly: 30m, 4h, 1d.")] = None,
    timezone: Annotated[str | None, typer.Option(help="The time zone of --cron.")] = None,
    ignore_cache: Annotated[
        bool, typer.Option("--ignore-cache", help="Start a new crawl even if an identical one was just requested.")
    ] = False,
    follow: Follow = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Start a crawl now, or schedule it with --at, --cron or --every. The word `start` may be left out.

    foliot crawl https://example.com --spider seo --depth 2 --follow
    """
    with connect() as client:
        _check_urls(context, urls)
        body: dict[str, Any] = {
            "spider": spider,
            "start_urls": urls,
            "depth": depth,
            "project": project,
            "params": dict(parameter("--param", text) for text in param or ()) or None,
            "min_items": min_items,
            "max_errors": max_errors,
            "user_id": user,
            "priority": priority,
            "ignore_cache": ignore_cache or None,
            **_trigger(at, cron, every, timezone),
        }
        if follow and any(flag is not None for flag in (at, cron, every)):
            raise usage("--follow: a planned crawl has not started; follow it later by its id")
        job = client.request("POST", "/crawl", body)
        if follow:
            _announce(job)
            _follow(client, job["job_id"], as_json=as_json, utc=utc)
        else:
            print_answer(job, _show_started, as_json=as_json, utc=utc)


@group.get("/jobs/", CRAWLS)
def list_(
    status: Annotated[
        str | None, typer.Option(*STATUS_FLAGS, help="pending, running, finished, error or cancelled.")
    ] = None,
    limit: Limit = 50,
    skip: Skip = 0,
    sort: SortRuns = None,
) -> dict[str, object]:
    """List crawls, newest first or in another order. Planned ones: foliot schedule list --kind crawl."""
    return {"status_filter": status, "kind": "crawl", "limit": limit, "skip": skip, "sort": sort}


@group.get("/jobs/{job}/status", CRAWL)
def status(job: JobId) -> None:
    """Show the status of a crawl, or of a planned one with its newest run."""


@group.command()
def logs(job: JobId, follow: Follow = False, as_json: JsonLines = False, utc: Utc = None) -> None:
    """Print a crawl's log; with -f as it grows, resuming when the connection is cut."""
    with connect() as client:
        job = resolve(client, "job", job)
        if follow:
            _follow(client, job, as_json=as_json, utc=utc)
            return
        run_id = client.get(f"/jobs/{segment(job)}/status")["run_id"]
        if run_id is not None:
            LogPrinter(as_json, utc).print(stored_events(client, run_id, 0))


@group.command()
def results(
    job: JobId,
    form: Annotated[
        CrawlFormat, typer.Option("--format", help="All results as JSON lines or CSV, or one page as JSON.")
    ] = CrawlFormat.NDJSON,
    output: Output = None,
    limit: Limit = 50,
    skip: Skip = 0,
) -> None:
    """Print the results of a crawl so far. --limit and --skip choose the page of --format json."""
    with connect() as client:
        path = f"/jobs/{segment(resolve(client, 'job', job))}/results"
        if form is not CrawlFormat.JSON:
            write(client.download(path, _ACCEPT[form]), output)
        elif output is not None:
            raise usage("--output: takes all results, as ndjson or csv; a page as json is printed")
        else:
            print_json(client.get(path, limit=limit, skip=skip))


@group.delete("/jobs/{job}", lambda answer: typer.echo(answer["message"]))
def cancel(job: JobId) -> None:
    """Cancel a crawl, also at Scrapyd; a planned one is deleted."""


@group.command()
@needs()
def deploy(
    directory: Annotated[Path, typer.Argument(help="A Scrapy project: the directory of its scrapy.cfg.")] = Path(),
    node: Annotated[
        list[str] | None,
        typer.Option(help="A Scrapyd, such as http://127.0.0.1:6800. May be repeated.", show_default="SCRAPYD_URL"),
    ] = None,
    project: Annotated[str | None, typer.Option(help="Its name there.", show_default="as in scrapy.cfg")] = None,
    version: Annotated[str | None, typer.Option(help="Its version.", show_default="the current time")] = None,
    as_json: Json = False,
) -> None:
    """Build a Scrapy project as an egg and upload it to every Scrapyd in SCRAPYD_URL. Exit 1 if one refuses it."""
    from foliot.config.settings import Settings
    from foliot.db.clock import wall
    from foliot.features.crawls.cli.deploy import deploy as upload

    with one_line_errors():
        nodes = node or [url.reveal() for url in Settings.load(os.environ).scrapyd_urls]
        answers = [asdict(each) for each in upload(directory, nodes, now=wall(), project=project, version=version)]
        if as_json:
            print_json(answers)
        else:
            DEPLOYED(JsonObject({"items": answers}))
        if any(answer["error"] is not None for answer in answers):
            raise typer.Exit(Exit.FAILED)


def _check_urls(context: typer.Context, urls: list[str]) -> None:
    """Checked here because the first word may be a misspelt command."""
    for url in urls:
        if not url.lower().startswith(("http://", "https://")):
            known = ", ".join(sorted(context.parent.command.commands))  # type: ignore[union-attr]
            raise usage(f"{url!r} is neither an http or https URL nor a command: {known}")


def _trigger(at: str | None, cron: str | None, every: str | None, timezone: str | None) -> dict[str, Any]:
    given = [flag for flag, value in (("--at", at), ("--cron", cron), ("--every", every)) if value is not None]
    if len(given) > 1:
        raise usage(f"{' and '.join(given)} cannot be combined: a crawl has one trigger")
    interval = cron if every is None else duration("--every", every)
    return {"schedule_at": at, "interval": interval, "timezone": timezone}


def _announce(job: dict[str, Any]) -> None:
    if job["cached"]:
        note(f"{job['job_id']} was already requested; following it (--ignore-cache starts a new one)")
    else:
        note(f"{job['job_id']} has started")


def _follow(client: Client, job: str, *, as_json: bool, utc: bool | None) -> None:
    """Print the log until the crawl has ended; the exit code says how."""
    run_id = client.get(f"/jobs/{segment(job)}/status")["run_id"]
    if run_id is None:
        raise Failure(f"{job} has not run yet: there is nothing to follow")
    log = LogPrinter(as_json, utc)
    log.print(follow_run(client, run_id, 0))
    # Of this very run: its schedule may have a newer one by now.
    ended = JsonObject(client.get(f"/jobs/{segment(run_id)}/status"))
    progress, error = summary(log.progress), ended["error.message"]
    word = "partial" if ended["state"] == "partial" else ended["status"]
    note(word + (f": {progress}" if progress else "") + (f" -- {error}" if error else ""))
    raise typer.Exit(Exit.of_state(ended["state"]))


_BACK = "\r\x1b[K"
"""Moves to the start of the line and clears it."""
_COUNTED = ("pages", "items", "errors")


@dataclass(slots=True)
class LogPrinter:
    """Prints log events; the progress line appears on a terminal only, never in a file or a pipe."""

    as_json: bool = False
    utc: bool | None = None
    progress: dict[str, Any] = field(default_factory=dict)
    _shown: bool = False

    def print(self, events: Iterable[dict[str, Any]]) -> None:
        try:
            for event in events:
                self._print(event)
        finally:
            self._clear()

    def _print(self, event: dict[str, Any]) -> None:
        if event.get("type") == "progress":
            self.progress |= event.get("data") or {}
        if self.as_json:
            print_json(event, indent=None)
        elif event.get("type") == "log":
            self._clear()
            line = f"{moment(event.get('at'), utc=self.utc)}  {event.get('level') or '':<8}  {event.get('message')}"
            typer.echo(printable(line).rstrip())
        if self.progress and not self.as_json and sys.stderr.isatty():
            typer.echo(f"{_BACK}{summary(self.progress)}", err=True, nl=False)
            self._shown = True

    def _clear(self) -> None:
        if self._shown:
            typer.echo(_BACK, err=True, nl=False)
            self._shown = False


def summary(progress: Mapping[str, Any]) -> str:
    """`12 pages, 3 items, 0 errors (40.0 pages per minute)`."""
    counts = ", ".join(f"{progress[name]} {name}" for name in _COUNTED if name in progress)
    rate = progress.get("pages_per_minute")
    return printable(counts + (f" ({rate} pages per minute)" if rate is not None else ""))
