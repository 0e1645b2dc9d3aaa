"""`foliot health`."""

from __future__ import annotations

import typer

from foliot.terminal.client import connect, failure
from foliot.terminal.group import CommandGroup, JsonObject, print_answer
from foliot.terminal.options import Json, Utc
from foliot.terminal.output import Exit, count, printable
from foliot.terminal.table import table

group = CommandGroup()


@group.command()
def health(as_json: Json = False, utc: Utc = None) -> None:
    """Show the health of a running server, part by part. Exit 1 when a part it depends on is down."""
    with connect() as client:
        status, answer = client.send("GET", "/health/detailed")
        if status not in (200, 503) or not isinstance(answer, dict):
            raise failure(status, answer)
        print_answer(answer, _show, as_json=as_json, utc=utc)
        raise typer.Exit(Exit.DONE if status == 200 else Exit.FAILED)


def _show(health: JsonObject) -> None:
    typer.echo(f"{health['status']}, version {health['version']}")
    for problem in health["problems"] or ():
        typer.echo(printable(f"  {problem}"))
    latency = f"answers in {health['database.latency_ms']} ms"
    rows = [("database", health["database.status"], health["database.error"] or latency)]
    if feed := health["feed"]:
        rows.append(("feed", "ok" if feed["connected"] else "down", feed.get("error") or feed["kind"]))
    if broker := health["broker"]:
        rows.append(("broker", "ok" if broker["publishing"] else "down", broker.get("error") or broker["url"]))
    rows += [(f"Scrapyd {node['name']}", node["status"], _scrapyd(node)) for node in health.each("scrapyd")]
    rows += [(f"{node['role']} {node['id']}", "ok", f"seen {node.at('seen_at')}") for node in health.each("nodes")]
    rows += [
        (f"queue {queue['queue']}", "", f"{count(queue['depth'], 'run')} waiting") for queue in health.each("queues")
    ]
    rows += [(f"schedule {each['schedule_id']}", "damaged", each["fault"]) for each in health.each("damaged")]
    rows += [
        (f"schedule {each['schedule_id']}", "ahead", "moved ahead by a wrong clock: foliot schedule realign")
        for each in health.each("ahead")
    ]
    table(("part", "status", "detail"), rows, empty="")


def _scrapyd(node: JsonObject) -> str:
    if node["error"]:
        return f"{node['url']}: {node['error']}"
    return f"{node['url']}: {node['running']} running, {node['pending']} waiting, answers in {node['latency_ms']} ms"
