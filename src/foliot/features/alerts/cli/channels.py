"""`foliot channel …`: where notifications are sent."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, Table
from foliot.terminal.options import Json, Yes, parameter
from foliot.terminal.output import note, print_json
from foliot.terminal.reference import Reference, resolve

group = CommandGroup("Manage the channels that notifications are sent to.")

ChannelId = Annotated[
    str,
    typer.Argument(help="The channel's name, its id (chn_…) or the beginning of it.", metavar="CHANNEL"),
    Reference("channel"),
]
CHANNELS = Table(
    "id, name, kind, last message: last_delivery.state, at: @last_delivery.sent_at|last_delivery.created_at, error",
    computed={"error": lambda channel: channel["last_error"] or ""},
    empty="No channels. Create one with foliot channel create NAME webhook --set url=https://…",
)
CHANNEL = Facts(
    "channel: id, name, kind, config, failing, last error: last_error, created: @created_at, by: created_by"
)
DELIVERY = Facts("delivery: id, event, state, attempts, error")


@group.command()
def create(
    name: Annotated[str, typer.Argument(help="The channel's name.", metavar="NAME")],
    kind: Annotated[
        str,
        typer.Argument(
            help="webhook, email, slack, discord, teams, telegram, pagerduty, opsgenie, ntfy, gotify or apprise."
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of this kind, as name=value; repeatable.", metavar="NAME=VALUE"),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Create a channel. Credentials are encrypted and never shown again.

    foliot channel create ops slack --set url=https://hooks.slack.com/services/…
    """
    config: dict[str, Any] = dict(parameter("--set", each) for each in set_ or ())
    with connect() as client:
        answer = client.request("POST", "/api/channels", {"name": name, "kind": kind, "config": config})
        if as_json:
            print_json(answer)
        else:
            note(f"channel {name} is created: {answer['id']}. Try it: foliot channel test {answer['id']}")


@group.get("/api/channels", CHANNELS)
def list_() -> None:
    """List channels, with what became of their last message."""


@group.get("/api/channels/{channel}", CHANNEL)
def show(channel: ChannelId) -> None:
    """Show a channel; credentials are masked."""


@group.post("/api/channels/{channel}/test", DELIVERY)
def test(channel: ChannelId) -> None:
    """Send a test message."""


@group.command()
def delete(channel: ChannelId, yes: Yes = False) -> None:
    """Delete a channel that no rule uses."""
    if not yes and not typer.confirm(f"Delete the channel {channel}?", err=True):
        raise typer.Exit(1)
    with connect() as client:
        found = resolve(client, "channel", channel)
        client.delete(f"/api/channels/{segment(found)}")
        note(f"channel {channel} is deleted")
