"""`foliot watch URL` and `foliot changes`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.features.watches.cli.watches import WATCH, shown_value
from foliot.terminal.client import connect
from foliot.terminal.group import CommandGroup, JsonObject, Table, print_answer
from foliot.terminal.options import Json, Utc, duration, usage
from foliot.terminal.output import note, print_json

group = CommandGroup()


def _what(change: JsonObject) -> str:
    fields = [
        f"{name}: {shown_value(both['old'])} → {shown_value(both['new'])}" for name, both in change["fields"].items()
    ]
    return "; ".join(fields) or " / ".join(str(change["diff"]).splitlines()[:3])


CHANGES = Table(
    "at: @at, watch, kind, counts, what, url",
    computed={"counts": lambda change: "yes" if change["matched"] else "no", "what": _what},
    empty="No changes.",
)


@group.get("/api/changes", CHANGES, paged=True)
def changes(
    q: Annotated[str, typer.Option("--query", "-q", help="As in watch:Shop kind:changed matched:true since:7d.")] = "",
    after: Annotated[int | None, typer.Option(help="A change's seq: those after it, oldest first.")] = None,
) -> None:
    """List changes of all watches, newest first."""


@group.command()
def watch(  # noqa: PLR0913 -- a command has as many arguments as flags
    urls: Annotated[list[str] | None, typer.Argument(help="The pages to watch.", metavar="URL")] = None,
    *,
    sitemap: Annotated[str | None, typer.Option(help="Or the URL of a sitemap that names them.")] = None,
    feed: Annotated[str | None, typer.Option(help="Or the URL of a feed that names them.")] = None,
    name: Annotated[str | None, typer.Option(help="The name of the watch; default: the first URL.")] = None,
    select: Annotated[str | None, typer.Option(help="The part whose text is compared: CSS, XPath or $.path.")] = None,
    field: Annotated[
        list[str] | None, typer.Option(help="A field: NAME=SELECTOR, or NAME:TYPE=SELECTOR; repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A selector, whitespace, dates or numbers to ignore; repeatable.")
    ] = None,
    when: Annotated[str | None, typer.Option(help='Which changes count, as in "drops(price, 10%)".')] = None,
    at: Annotated[str | None, typer.Option(help="crossing (default) or every_visit.")] = None,
    every: Annotated[str | None, typer.Option(help="The time from one visit to the next: 15m, 1h.")] = None,
    cron: Annotated[str | None, typer.Option(help="Or a cron expression.")] = None,
    budget: Annotated[str | None, typer.Option(help="Or visits where pages change, as in 5000/day.")] = None,
    timezone: Annotated[str | None, typer.Option(help="The time zone of --cron.")] = None,
    render: Annotated[str | None, typer.Option(help="never, auto or always.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; repeatable.")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Visit the first page once, and save nothing.")] = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Watch pages for changes.

    foliot watch https://shop.example/kettle --field price:price=.price --when "drops(price, 10%)" --every 1h
    """
    body: dict[str, Any] = {
        "name": name or [*(urls or ()), sitemap or feed or ""][0][:200],
        "urls": urls,
        "sitemap": sitemap,
        "feed": feed,
        "select": select,
        "fields": dict(_field(each) for each in field or ()),
        "ignore": ignore or [],
        "when": when,
        "at": at,
        "render": render,
        "tags": tag or [],
        **_times(every, cron, timezone, budget),
    }
    body = {key: value for key, value in body.items() if value not in (None, [], {})}
    if sum(bool(source) for source in (urls, sitemap, feed)) != 1:
        raise usage("give URLs, or one of --sitemap and --feed")
    with connect() as client:
        if preview:
            print_json(client.request("POST", "/api/watches/preview", body))
            return
        answer = client.request("POST", "/api/watches", body)
        if as_json:
            print_json(answer)
            return
        note(f"{body['name']} is watched: {answer['id']}")
        print_answer(answer, WATCH, as_json=False, utc=utc)


def _times(every: str | None, cron: str | None, timezone: str | None, budget: str | None) -> dict[str, Any]:
    if sum(value is not None for value in (every, cron, budget)) > 1:
        raise usage("give one of --every, --cron and --budget")
    if budget is not None:
        return {"revisit": {"budget": budget}}
    if cron is not None:
        timed: dict[str, Any] = {"type": "cron", "cron_expr": cron}
        return {"schedule": timed | ({"timezone": timezone} if timezone else {})}
    return {"schedule": {"type": "interval", "interval_seconds": duration("--every", every or "1h")}}


def _field(text: str) -> tuple[str, Any]:
    named, sign, selector = text.partition("=")
    name, _, kind = named.partition(":")
    if not name or (not sign and not kind):
        raise usage(f"--field {text}: give NAME=SELECTOR or NAME:TYPE=SELECTOR, as in price:price=.price")
    way = "json" if selector.startswith("$") else "xpath" if selector.startswith(("/", "(")) else "css"
    return name, ({way: selector} if selector else {}) | ({"type": kind} if kind else {})
