"""Shows what changed in pages that were read before: the lines that went, and those that came."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

import typer

from foliot.terminal.client import Client, segment
from foliot.terminal.output import Exit, Failure, moment, note, print_json, printable

PAGE = 100


def show_changes(client: Client, job: str, wanted: str | None, *, as_json: bool, utc: bool) -> None:
    """All of a job that are known to have changed, or the one that is named by its URL or its id."""
    path = f"/jobs/{segment(job)}/results"
    found = [client.get(f"{path}/{segment(one)}") for one in _ids(client, path, wanted)]
    changed = [one for one in found if one["previous"]]
    if as_json:
        print_json(changed)
        return
    for one in changed:
        for line in _lines(one, utc=utc):
            typer.echo(printable(line))
    if not changed:
        note("nothing is known to have changed: each page says what it said when it was read before, if it was")


def _ids(client: Client, path: str, wanted: str | None) -> Iterator[str]:
    if wanted is not None and not wanted.lower().startswith(("http://", "https://")):
        yield wanted
        return
    skip, total = 0, 1
    while skip < total:
        page = client.get(path, limit=PAGE, skip=skip)
        for one in page["results"]:
            if wanted == one["url"]:
                yield one["article_id"]
                return
            if wanted is None and one["previous_scraped_at"]:
                yield one["article_id"]
        # Of long texts there are fewer on a page than were asked for.
        skip += len(page["results"])
        total = page["successful"] if page["results"] else 0
    if wanted is not None:
        raise Failure(f"the job has read no article {wanted!r}", Exit.NOT_FOUND)


def _lines(one: dict[str, Any], *, utc: bool) -> Iterator[str]:
    before = one["previous"]
    old, new = (f"{one['url']}  {moment(each['scraped_at'], utc=utc)}" for each in (before, one))
    return unified_diff(_said(before), _said(one), old, new, lineterm="")


def _said(page: dict[str, Any]) -> list[str]:
    return [page["title"] or "", "", *(page["content"] or "").splitlines()]
