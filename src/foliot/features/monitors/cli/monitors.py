"""`foliot monitor …`: jobs that run elsewhere, and their pings."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, Table
from foliot.terminal.options import Json, Yes, duration, usage
from foliot.terminal.output import note, print_json
from foliot.terminal.reference import Reference, resolve

group = CommandGroup("Monitor jobs that run elsewhere and report by pings.")

MonitorId = Annotated[
    str,
    typer.Argument(help="The monitor's name, its id (mon_…) or the beginning of it.", metavar="MONITOR"),
    Reference("monitor"),
]
MONITORS = Table(
    "id, name, status, expects: summary, last ping: @last_ping_at, next: @next_expected_at",
    empty="No monitors. Create one with foliot monitor create NAME --every 1h.",
)
MONITOR = Facts(
    "monitor: id, name, status, expects: summary, timezone, grace: grace_seconds, tags: tags[], address: ping_url,"
    " pings, last ping: @last_ping_at, last duration (ms): last_duration_ms, running since: @started_at,"
    " next expected: @next_expected_at, created: @created_at, by: created_by"
)
INSTANTS = Table("at: @at, outcome, ping: ping_id", empty="No ping has been expected yet.")
PINGS = Table(
    "at: @at, kind, exit code: exit_code, duration (ms): duration_ms, method, client: user_agent, log: body",
    empty="No pings yet.",
)


@group.command()
def create(  # noqa: PLR0913 -- a command has as many arguments as flags
    name: Annotated[str, typer.Argument(help="The monitor's name.", metavar="NAME")],
    cron: Annotated[str | None, typer.Option(help="A cron expression: when pings are expected.")] = None,
    every: Annotated[str | None, typer.Option(help="Instead of --cron: the time between two pings: 15m, 1d.")] = None,
    *,
    timezone: Annotated[str | None, typer.Option(help="The time zone of --cron, such as Europe/Stockholm.")] = None,
    grace: Annotated[str, typer.Option(help="How long after the expected time it is late.")] = "5m",
    tag: Annotated[list[str] | None, typer.Option(help="A tag; repeatable.")] = None,
    as_json: Json = False,
) -> None:
    """Create a monitor, and print the address that its job pings.

    foliot monitor create "Nightly backup" --cron "0 2 * * *" --grace 30m
    """
    if (cron is None) == (every is None):
        raise usage("give --cron or --every, as in --every 1h")
    body = {
        "name": name,
        "type": "interval" if cron is None else "cron",
        "cron_expr": cron,
        "interval_seconds": None if every is None else duration("--every", every),
        "timezone": timezone,
        "grace_seconds": duration("--grace", grace),
        "tags": tag or [],
    }
    with connect() as client:
        answer = client.request("POST", "/api/monitors", body)
        if as_json:
            print_json(answer)
        else:
            note(f"monitor {name} is created: {answer['id']}")
            typer.echo(answer["ping_url"])


@group.get("/api/monitors", MONITORS)
def list_() -> None:
    """List monitors, with their status."""


@group.get("/api/monitors/{monitor}", MONITOR)
def show(monitor: MonitorId) -> None:
    """Show a monitor and its address."""


@group.get("/api/monitors/{monitor}/pings", PINGS, paged=True)
def pings(monitor: MonitorId) -> None:
    """List a monitor's pings, newest first."""


@group.get("/api/monitors/{monitor}/instants", INSTANTS)
def instants(monitor: MonitorId) -> None:
    """List when pings were and are expected, and which were late or missed."""


@group.post("/api/monitors/{monitor}/pause", MONITOR)
def pause(monitor: MonitorId) -> None:
    """Pause a monitor: pings are recorded, but change nothing."""


@group.post("/api/monitors/{monitor}/resume", MONITOR)
def resume(monitor: MonitorId) -> None:
    """Resume a monitor: pings are expected again."""


@group.command()
def delete(monitor: MonitorId, yes: Yes = False) -> None:
    """Delete a monitor with its pings; its address is unknown from then on."""
    if not yes and not typer.confirm(f"Delete the monitor {monitor}?", err=True):
        raise typer.Exit(1)
    with connect() as client:
        found = resolve(client, "monitor", monitor)
        client.delete(f"/api/monitors/{segment(found)}")
        note(f"monitor {monitor} is deleted")
