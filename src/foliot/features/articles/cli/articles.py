"""`foliot articles …`.

Reads the articles to submit from URLs, files of URLs, and JSON files.

Shows the progress of an article job: a bar on a terminal, else a line for each tenth.

Prints what changed in pages since they were last read, as a unified diff.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import unified_diff
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from foliot.terminal.client import Client, connect, segment
from foliot.terminal.follow import follow_run, write
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table, print_answer
from foliot.terminal.options import STATUS_FLAGS, JobId, Json, Limit, Output, Priority, Skip, SortRuns, Utc, usage
from foliot.terminal.output import Exit, Failure, moment, note, note_skipped, print_json, printable
from foliot.terminal.reference import resolve

STDIN = "-"
_JSON = ("{", "[")
_OPTIONS = frozenset(
    {"ignore_cache", "max_age_seconds", "expect", "render", "robots", "keep_pages", "session", "browser"}
)


def read_submission(places: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The body of `POST /jobs/submit`; `defaults` apply to articles that give no other value."""
    body: dict[str, Any] = {"articles": []}
    for place in places:
        if place.lower().startswith(("http://", "https://")):
            body["articles"].append({"url": place})
            continue
        document = _parsed(place, _text(place))
        body["articles"] += document.pop("articles")
        body |= document
    if not body["articles"]:
        raise Failure(f"{', '.join(places)}: contains no article", Exit.USAGE)
    body["articles"] = [_filled(article, defaults) for article in body["articles"]]
    return body


def _text(place: str) -> str:
    try:
        return sys.stdin.read() if place == STDIN else Path(place).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise Failure(f"{place!r} is neither an http or https URL nor a file that exists", Exit.USAGE) from None
    except (OSError, UnicodeDecodeError) as failed:
        reason = getattr(failed, "strerror", None) or "it is not UTF-8 text"
        raise Failure(f"{place!r} cannot be read ({reason})", Exit.USAGE) from None


def _parsed(place: str, text: str) -> dict[str, Any]:
    """JSON as `POST /jobs/submit` takes it, or a list of articles or URLs; else a URL per line and `#` comments."""
    if not text.lstrip().startswith(_JSON):
        lines = (line.strip() for line in text.splitlines())
        return {"articles": [{"url": line} for line in lines if line and not line.startswith("#")]}
    try:
        parsed = json.loads(text)
    except ValueError as wrong:
        raise Failure(f"{place!r} starts like JSON but is not valid: {wrong}", Exit.USAGE) from None
    document = {"articles": parsed} if isinstance(parsed, list) else parsed
    articles = document.get("articles")
    unknown = sorted(set(document) - _OPTIONS - {"articles"})
    if not isinstance(articles, list) or unknown:
        named = f", not {', '.join(map(repr, unknown))}" if unknown else ""
        raise Failure(
            f'{place!r} must be a list of articles, or {{"articles": […]}} and optionally '
            f"{', '.join(sorted(_OPTIONS))}{named}",
            Exit.USAGE,
        )
    return document


def _filled(given: Any, defaults: Mapping[str, Any]) -> Any:
    article = {"url": given} if isinstance(given, str) else given
    return {**defaults, **article} if isinstance(article, dict) else article


STEPS = 10
"""How many lines are printed for a job where there is no terminal."""

Show = Callable[[Mapping[str, Any]], None]


def watch(events: Iterable[dict[str, Any]], job: Mapping[str, Any], *, quiet: bool) -> None:
    """Show the progress at each article that ends, until the last event."""
    with _shown(job, quiet=quiet) as show:
        for event in events:
            progress = event.get("data") or {}
            if event.get("type") == "progress" and "article_id" in progress:
                show(progress)


def summary(job: Mapping[str, Any]) -> str:
    """`7 of 10 done, 2 from the cache, 1 failed`."""
    cached, failed = job.get("cached") or 0, job.get("failed") or 0
    text = f"{job.get('completed') or 0} of {job.get('total_articles') or 0} done"
    return text + (f", {cached} from the cache" if cached else "") + (f", {failed} failed" if failed else "")


@contextmanager
def _shown(job: Mapping[str, Any], *, quiet: bool) -> Iterator[Show]:
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _bar(job) as show:
            yield show
    else:
        yield _Lines(job).show


@contextmanager
def _bar(job: Mapping[str, Any]) -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many pages a second."""

        def render(self, task: Task) -> Text:
            rate = task.finished_speed or task.speed
            return Text("" if rate is None else f"{rate:.1f} pages/s")

    counted = TextColumn("{task.fields[cached]} cached, {task.fields[failed]} failed")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), counted, Rate(), Remaining())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        cached = job["cached_articles"]
        task = progress.add_task("articles", total=job["total_articles"], completed=cached, cached=cached, failed=0)

        def show(counts: Mapping[str, Any]) -> None:
            progress.update(task, completed=counts["completed"] + counts["failed"], failed=counts["failed"])

        yield show


class _Lines:
    """Prints a line each time another tenth of a job has ended."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = job
        self.step = 0

    def show(self, counts: Mapping[str, Any]) -> None:
        ended = counts["completed"] + counts["failed"]
        step = STEPS * ended // (counts["total"] or 1)
        if step > self.step:
            self.step = step
            note(summary({**counts, "total_articles": counts["total"], "cached": self.job["cached_articles"]}))


PAGE = 100


def show_changes(client: Client, job: str, wanted: str | None, *, as_json: bool, utc: bool | None) -> None:
    """All articles of a job that are known to have changed, or the one with this URL or id."""
    path = f"/jobs/{segment(job)}/results"
    articles = [client.get(f"{path}/{segment(article_id)}") for article_id in _ids(client, path, wanted)]
    changed = [article for article in articles if article["previous"]]
    if as_json:
        print_json(changed)
        return
    for article in changed:
        for line in _lines(article, utc=utc):
            typer.echo(printable(line))
    if not changed:
        note("no changes are known: every page is as it was when it was last fetched")


def _ids(client: Client, path: str, wanted: str | None) -> Iterator[str]:
    if wanted is not None and not wanted.lower().startswith(("http://", "https://")):
        yield wanted
        return
    skip, total = 0, 1
    while skip < total:
        page = client.get(path, limit=PAGE, skip=skip)
        for article in page["results"]:
            if wanted == article["url"]:
                yield article["article_id"]
                return
            if wanted is None and article["previous_scraped_at"]:
                yield article["article_id"]
        # A page of long texts has fewer items than requested.
        skip += len(page["results"])
        total = page["successful"] if page["results"] else 0
    if wanted is not None:
        raise Failure(f"the job has no article {wanted!r}", Exit.NOT_FOUND)


def _lines(article: dict[str, Any], *, utc: bool | None) -> Iterator[str]:
    before = article["previous"]
    old, new = (f"{article['url']}  {moment(each['scraped_at'], utc=utc)}" for each in (before, article))
    return unified_diff(_diff_text(before), _diff_text(article), old, new, lineterm="")


def _diff_text(page: dict[str, Any]) -> list[str]:
    return [page["title"] or "", "", *(page["content"] or "").splitlines()]


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
    empty=lambda answer: "No more articles." if answer["successful"] else "No articles have been fetched.",
    items="results",
)
_FAILURES = Table("url, why it failed: error, tried: @attempted_at", items="failed_articles")


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
    render: Annotated[str | None, typer.Option(help="never, auto or always.", show_default="the host's")] = None,
    robots: Annotated[str | None, typer.Option(help="respect, or ignore.", show_default="the host's")] = None,
    session: Annotated[
        str | None, typer.Option(help="Session whose cookies the pages are fetched with: see foliot host session.")
    ] = None,
    keep_pages: Annotated[
        str | None, typer.Option(help="How long to keep each page as it was received, such as 30d.")
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
        options = {
            "max_age_seconds": max_age,
            "render": render,
            "robots": robots,
            "keep_pages": keep_pages,
            "session": session,
        }
        body |= {name: value for name, value in options.items() if value is not None}
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
        ArticleFormat, typer.Option("--format", help="All results as JSON lines or CSV, or one page as a table.")
    ] = ArticleFormat.JSONL,
    output: Output = None,
    limit: Limit = 50,
    skip: Skip = 0,
    utc: Utc = None,
) -> None:
    """Print the articles that have been fetched so far. --limit and --skip choose the page of a table."""
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
    """Show what changed in pages since they were last fetched: removed lines begin with -, added lines with +."""
    with connect() as client:
        show_changes(client, resolve(client, "job", job), article, as_json=as_json, utc=utc)


@group.get("/jobs/", JOBS)
def list_(
    status: Annotated[
        str | None, typer.Option(*STATUS_FLAGS, help="PENDING, IN_PROGRESS, COMPLETED, FAILED or CANCELLED.")
    ] = None,
    limit: Limit = 50,
    skip: Skip = 0,
    sort: SortRuns = None,
) -> dict[str, object]:
    """List article jobs, newest first or in another order."""
    return {"status_filter": status, "kind": "articles", "limit": limit, "skip": skip, "sort": sort}


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
        note(f"{'partial' if ended['state'] == 'partial' else ended['status']}: {summary(ended)}")
        if ended["failed"]:
            note(f"foliot articles results {job['job_id']} --format table shows why")
    raise typer.Exit(Exit.of_state(ended["state"]))


def _show_results(page: JsonObject, skip: int) -> None:
    _RESULTS(page)
    _FAILURES(page)
    if changed := sum(1 for article in page["results"] if article.get("previous_scraped_at")):
        note(f"{changed} of these have changed: foliot articles diff {page['job_id']}")
    shown = max(len(page["results"]), len(page["failed_articles"]))
    note_skipped(max(page["successful"], page["failed"]), skip, shown)
