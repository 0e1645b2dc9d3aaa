"""`foliot pages …`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from foliot.features.bulk.view import BULK
from foliot.terminal.client import connect, segment
from foliot.terminal.follow import write
from foliot.terminal.group import CommandGroup, Facts, JsonObject, Table
from foliot.terminal.options import DryRun, Json, NewestFirst, Output, StopAfter, Utc, json_or_file, usage
from foliot.terminal.output import note, print_json, printable

group = CommandGroup("Show stored pages, export them, and read them again.")

Page = Annotated[str, typer.Argument(help="The page's id (pag_…).", metavar="PAGE")]

PAGES = Table(
    "id, fetched: @fetched_at, status, bytes, stored: stored_bytes, url",
    empty="No pages are stored. Give a fetcher `keep_pages: 30d`.",
)
PAGE = Facts(
    "id, url, fetched: @fetched_at, status, type: content_type, bytes, stored: stored_bytes, rendered, run: run_id,"
    " article: article_id, expires: @expires_at"
)


def _found(version: JsonObject) -> str:
    """The first item in one cell."""
    first = version["items"][0] if version["items"] else {}
    shown = ", ".join(f"{name} {value}" for name, value in first.items())
    more = f" (+{len(version['items']) - 1})" if len(version["items"]) > 1 else ""
    return (shown if len(shown) <= 100 else f"{shown[:99]}…") + more


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


VERSIONS = Table("id, at: @at, page: page_id, found, url", computed={"found": _found}, empty="No page was read again.")
COVERAGE = Table(
    "field, before, after",
    computed={"before": lambda one: _percent(one["before"]), "after": lambda one: _percent(one["after"])},
    empty="Nothing was found.",
    items="coverage",
)


@group.get("/api/pages", PAGES, paged=True)
def list_(q: Annotated[str, typer.Option("--query", "-q", help="As in host:shop.example since:7d.")] = "") -> None:
    """List stored pages, newest first."""


@group.get("/api/pages/{page}", PAGE)
def show(page: Page) -> None:
    """Show a stored page: where it came from, and how large it is."""


@group.command()
def body(
    page: Page,
    rendered: Annotated[bool, typer.Option("--rendered", help="The rendered document instead of the body.")] = False,
) -> None:
    """Write the body of a stored page to standard output, as received."""
    asked = {"rendered": "true"} if rendered else {}
    with connect() as client:
        for piece in client.download(f"/api/pages/{segment(page)}/body", "application/octet-stream", **asked):
            sys.stdout.buffer.write(piece)


@group.command()
def export(
    q: Annotated[str, typer.Option("--query", "-q", help="As in host:shop.example since:7d; default: all pages.")] = "",
    output: Output = None,
) -> None:
    """Export stored pages as WARC, each record compressed (.warc.gz).

    foliot pages export -q host:shop.example -o shop.warc.gz
    """
    with connect() as client:
        write(client.download("/api/pages/export", "application/warc", q=q), output)


@group.get("/api/pages/versions", VERSIONS, paged=True)
def versions(
    page: Annotated[str | None, typer.Option(help="Only those of this page (pag_…).")] = None,
    bulk: Annotated[str | None, typer.Option(help="Only those made by this bulk action (blk_…).")] = None,
) -> Mapping[str, object]:
    """List the results of reading stored pages again, newest first."""
    return {"page_id": page, "bulk_id": bulk}


@group.command()
def reextract(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    q: Annotated[str, typer.Option("--query", "-q", help="As in host:shop.example since:7d; default: all pages.")] = "",
    field: Annotated[
        list[str] | None, typer.Option("--field", "-f", help="name=selector, CSS; may be repeated.")
    ] = None,
    select: Annotated[str | None, typer.Option(help="Fields as JSON or @FILE, with types, XPath and so on.")] = None,
    extractor: Annotated[str | None, typer.Option(help="article or price.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="Use the steps of this pipeline.")] = None,
    keep: Annotated[str | None, typer.Option(help="How long the versions are kept; default 365d.")] = None,
    rate: Annotated[int | None, typer.Option(min=1, max=1000, help="At most this many pages per second.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, max=200, help="How many pages a dry run reads.")] = None,
    stop_after: StopAfter = None,
    newest: NewestFirst = False,
    dry_run: DryRun = False,
    expect: Annotated[int | None, typer.Option(min=0, help="Refuse unless exactly this many match now.")] = None,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Read stored pages again by selectors, an extractor or a pipeline. No request is sent to their sites.

    foliot pages reextract -q 'host:shop.example since:7d' -f price=.price --dry-run
    """
    wanted: dict[str, Any] = {} if select is None else dict(json_or_file("--select", select))
    for each in field or ():
        name, equals, selector = each.partition("=")
        if not equals:
            raise usage(f"--field {each}: must be name=selector")
        wanted[name.strip()] = selector
    body = {
        "filter": q,
        "select": wanted or None,
        "extractor": extractor,
        "pipeline": pipeline,
        "keep": keep,
        "rate": rate,
        "sample": sample,
        "stop_after": stop_after,
        "order": "newest" if newest else None,
        "dry_run": dry_run,
        "expect": expect,
    }
    with connect() as client:
        answer = client.request("POST", "/api/pages/reextract", body)
    if as_json:
        print_json(answer)
    elif dry_run:
        _show_trial(JsonObject(answer, utc))
    else:
        BULK(JsonObject(answer, utc))


def _show_trial(answer: JsonObject) -> None:
    typer.echo(printable(f"reextract would read {answer['count']} pages; of the newest {answer['looked_at']}:"))
    listed = [{"field": name, **shares} for name, shares in answer["coverage"].items()]
    COVERAGE(JsonObject({"coverage": listed}, answer.utc))
    problems = [one["problem"] for one in answer.each("sample") if one["problem"]]
    if answer["failed"]:
        note(f"{answer['failed']} could not be read" + (f", such as: {problems[0]}" if problems else ""))
