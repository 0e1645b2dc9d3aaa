"""`foliot pages …`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, Table

group = CommandGroup("Show stored pages.")

Page = Annotated[str, typer.Argument(help="The page's id (pag_…).", metavar="PAGE")]

PAGES = Table(
    "id, fetched: @fetched_at, status, bytes, stored: stored_bytes, url",
    empty="No pages are stored. Give a fetcher `keep_pages: 30d`.",
)
PAGE = Facts(
    "id, url, fetched: @fetched_at, status, type: content_type, bytes, stored: stored_bytes, rendered, run: run_id,"
    " article: article_id, expires: @expires_at"
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
