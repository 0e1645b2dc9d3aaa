"""`foliot secret set`, `list` and `delete`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Table, joined
from foliot.terminal.options import usage
from foliot.terminal.output import note

MOST = 64 * 1024
"""Characters read from standard input: far more than a secret may have, so that the server reports the limit."""

group = CommandGroup()
Name = Annotated[str, typer.Argument(help="The secret's name.", metavar="NAME")]

SECRETS = Table(
    "name, version, set: @created_at, by: created_by, hosts, previous signs until: @previous_until",
    computed={"hosts": joined("hosts", empty="any")},
    empty="No secrets. Set one with foliot secret set NAME.",
)


@group.command()
def set_(
    name: Name,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="A host it may be sent to; may be repeated. Default: those of the previous value."),
    ] = None,
) -> None:
    """Set a secret. Its value is prompted for or read from standard input, never given as an argument."""
    with connect() as client:
        value = _value(name)
        client.put(f"/api/secrets/{segment(name)}", {"value": value} | ({"hosts": host} if host else {}))
        note(f"secret {name} is set; runs use it within 5 seconds")


@group.get("/api/secrets", SECRETS)
def list_() -> None:
    """List secrets by name, without their values."""


@group.command()
def delete(name: Name) -> None:
    """Delete a secret with all its versions; webhooks that use it fail from then on."""
    with connect() as client:
        client.delete(f"/api/secrets/{segment(name)}")
        note(f"secret {name} is deleted")


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Value of {name}", hide_input=True, confirmation_prompt=True, err=True))
    # A trailing newline belongs to the file or the pipe, not to the secret.
    value = sys.stdin.read(MOST).removesuffix("\n").removesuffix("\r")
    if not value:
        raise usage("standard input is empty")
    return value
