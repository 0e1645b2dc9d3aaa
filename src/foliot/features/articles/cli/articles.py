"""`foliot articles …`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from foliot.features.articles.cli.diff import show_changes
from foliot.features.articles.cli.progress import summary, watch
from foliot.features.articles.cli.submission import read_submission
from foliot.terminal.client import Client, connect, segment
from foliot.terminal.follow import follow_run, write
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table, print_answer
from foliot.terminal.options import STATUS_FLAGS, JobId, Json, Limit, Output, Priority, Skip, Utc, usage
from foliot.terminal.output import Exit, note, note_skipped, print_json
from foliot.terminal.reference import resolve

group = CommandGroup("Scrape articles, follow the progress, and read the results.")


class ArticleFormat(StrEnum):
    """How the results of articles are written."""

    JSONL = "jsonl"
    CSV = "csv"
    TABLE = "table"


_ACCEPT = {ArticleFormat.JSONL: "application/x-ndjson", ArticleFormat.CSV: "text/csv"}

SUBMITTED = Facts(
    "job: job_id, to fetch: new_articles, from the cache: cached_articles",
    then=lambda job: note(f"foliot articles status {job['job_id']} shows the progress"),
)
JOB = Facts(
    "job: job_id, status, articles: total_articles, completed, from the cache: cached, failed, pending, "
    "created: @created_at, finished: @finished_at, error: error.message"
)
JOBS = Table(
    "id: job_id, host: about.host, source?: about.source, articles?: total_articles, status, created: @created_at, "
    "progress",
    computed={"progress": lambda job: summary(job.raw)},
    empty="No article jobs.",
    items="jobs",
    then=lambda answer: note_skipped(answer["total"], answer.sent["skip"], len(answer["jobs"])),
)
_RESULTS = Table(
    "url, title, words, scraped: @scraped_at, cached",
    computed={
        "words": lambda article: len((article["content"] or "").split()),
        "cached": lambda article: "yes" if article["cached"] else "",
    },
    empty=lambda answer: "No more of them." if answer["successful"] else "No article has been read.",
    items="results",
)
_FAILURES = Table("url, why it could not be read: error, tried: @attempted_at", items="failed_articles")


@group.command()
def submit(  # noqa: PLR0913 -- a command has as many arguments as flags
    wanted: Annotated[
        list[str],
        typer.Argument(help="URLs; JSON files, or files with a URL per line; - is standard input.", metavar="WHAT..."),
    ],
    *,
    priority: Priority = None,
    source: Annotated[str | None, typer.Option(help="The publisher of the articles.")] = None,
    category: Annotated[str | None, typer.Option(help="What they are about.")] = None,
    ignore_cache: Annotated[bool, typer.Option("--ignore-cache", help="Also fetch what was fetched recently.")] = False,
    max_age: Annotated[
        int | None,
        typer.Option(min=0, help="Fetch what is older than this many seconds.", show_default="the server's"),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait until the last article has ended; exit 1 if one has failed.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; with --follow, the final status of the job.")
    ] = False,
) -> None:
    """Scrape articles; a page that several jobs want is fetched once.

    --priority, --source and --category apply to articles whose file gives no other value.

    foliot articles submit examples/sample_articles.json --priority 1 --follow
    """
    with connect() as client:
        defaults = {"priority": priority, "source": source, "category": category}
        body = read_submission(wanted, {name: value for name, value in defaults.items() if value is not None})
        body |= {"ignore_cache": True} if ignore_cache else {}
        body |= {} if max_age is None else {"max_age_seconds": max_age}
        job = client.post("/jobs/submit", body)
        if follow:
            note(f"{job['job_id']}: {job['message']}")
            _follow(client, job, as_json=as_json)
        else:
            print_answer(job, SUBMITTED, as_json=as_json)


@group.get("/jobs/{job}/status", JOB)
def status(job: JobId) -> None:
    """Show the progress of a job."""


@group.command()
def results(
    job: JobId,
    form: Annotated[
        ArticleFormat, typer.Option("--format", help="Everything as JSON lines or CSV, or one page as a table.")
    ] = ArticleFormat.JSONL,
    output: Output = None,
    limit: Limit = 50,
    skip: Skip = 0,
    utc: Utc = None,
) -> None:
    """Print the articles that have been read so far. --limit and --skip choose the page of a table."""
    with connect() as client:
        path = f"/jobs/{segment(resolve(client, 'job', job))}/results"
        if form is not ArticleFormat.TABLE:
            write(client.download(path, _ACCEPT[form]), output)
        elif output is not None:
            raise usage("--output: takes all results, as jsonl or csv; a table is printed")
        else:
            _show_results(JsonObject(client.get(path, limit=limit, skip=skip), utc), skip)


@group.command()
def diff(
    job: JobId,
    article: Annotated[
        str | None,
        typer.Argument(help="Its URL or id (art_…); without it, all that have changed.", metavar="ARTICLE"),
    ] = None,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Show what changed in pages since they were last read: removed lines begin with -, added lines with +."""
    with connect() as client:
        show_changes(client, resolve(client, "job", job), article, as_json=as_json, utc=utc)


@group.get("/jobs/", JOBS)
def list_(
    status: Annotated[
        str | None, typer.Option(*STATUS_FLAGS, help="PENDING, IN_PROGRESS, COMPLETED, FAILED or CANCELLED.")
    ] = None,
    limit: Limit = 50,
    skip: Skip = 0,
) -> dict[str, object]:
    """List article jobs, newest first."""
    return {"status_filter": status, "kind": "articles", "limit": limit, "skip": skip}


@group.delete("/jobs/{job}", lambda answer: typer.echo(answer["message"]))
def cancel(job: JobId) -> None:
    """Cancel a job; pages that other jobs want are still fetched for them."""


def _follow(client: Client, job: dict[str, Any], *, as_json: bool) -> None:
    """Show each article as it ends, also across cut connections; the exit code says how the job ended."""
    watch(follow_run(client, job["job_id"], 0), job, quiet=as_json)
    ended = client.get(f"/jobs/{segment(job['job_id'])}/status")
    if as_json:
        print_json(ended)
    else:
        note(f"{ended['status']}: {summary(ended)}")
        if ended["failed"]:
            note(f"foliot articles results {job['job_id']} --format table shows why")
    well = ended["status"] == "COMPLETED" and not ended["failed"]
    raise typer.Exit(Exit.DONE if well else Exit.FAILED)


def _show_results(page: JsonObject, skip: int) -> None:
    _RESULTS(page)
    _FAILURES(page)
    if changed := sum(1 for article in page["results"] if article.get("previous_scraped_at")):
        note(f"{changed} of these have changed: foliot articles diff {page['job_id']}")
    shown = max(len(page["results"]), len(page["failed_articles"]))
    note_skipped(max(page["successful"], page["failed"]), skip, shown)
