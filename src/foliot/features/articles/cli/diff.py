"""Prints what changed in pages since they were last read, as a unified diff."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

import typer

from foliot.terminal.client import Client, segment
from foliot.terminal.output import Exit, Failure, moment, note, print_json, printable

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
        note("no change is known: each page is as it was when it was last read, if it was")


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
        raise Failure(f"the job has read no article {wanted!r}", Exit.NOT_FOUND)


def _lines(article: dict[str, Any], *, utc: bool | None) -> Iterator[str]:
    before = article["previous"]
    old, new = (f"{article['url']}  {moment(each['scraped_at'], utc=utc)}" for each in (before, article))
    return unified_diff(_text(before), _text(article), old, new, lineterm="")


def _text(page: dict[str, Any]) -> list[str]:
    return [page["title"] or "", "", *(page["content"] or "").splitlines()]
