"""`foliot apikey …`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, Facts, Table, joined
from foliot.terminal.options import Json
from foliot.terminal.output import note, print_json
from foliot.terminal.reference import resolve

group = CommandGroup("Create, list and revoke API keys.")

KEYS = Table(
    "id, name, role, scopes, begins with: hint, last used: @last_used_at, expires: @expires_at, revoked: @revoked_at",
    computed={"scopes": joined("scopes", " ")},
    empty="No API keys. Create one: foliot apikey create NAME --role …",
)
NEW_KEY = Facts(
    "id, name, role, scopes, expires: @expires_at, key",
    computed={"scopes": joined("scopes", " ")},
    then=lambda _: note(
        "copy the key now: it is not stored and cannot be shown again; programs send it as FOLIOT_TOKEN"
    ),
)


@group.post("/api/keys", NEW_KEY)
def create(
    name: Annotated[str, typer.Argument(help="Its name; its runs and changes are recorded as key:NAME.")],
    role: Annotated[str, typer.Option(help="viewer, operator, admin or system; never above your own.")],
    expires_at: Annotated[
        str | None,
        typer.Option(help="When it expires: 2028-01-01T00:00:00Z. Default: FOLIOT_MAX_KEY_DAYS after your token does."),
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="Narrows the role, as in schedule:read; may be repeated.")
    ] = None,
) -> dict[str, object]:
    """Create an API key and print it. The key is shown only this once and is not stored.

    foliot apikey create deploys --role operator
    """
    return {"name": name, "role": role, "expires_at": expires_at, "scopes": scope or None}


@group.get("/api/keys", KEYS, paged=True)
def list_() -> None:
    """List API keys, newest first, including revoked ones; never the keys themselves."""


@group.command()
def revoke(
    key: Annotated[
        str, typer.Argument(help="The key's name or id (key_…), or the beginning of its id.", metavar="KEY")
    ],
    as_json: Json = False,
) -> None:
    """Revoke an API key for good: within 5 s it is refused everywhere, and its open streams end."""
    with connect() as client:
        key = resolve(client, "key", key)
        client.delete(f"/api/keys/{segment(key)}")
        if as_json:
            print_json({"id": key, "revoked": True})
        else:
            typer.echo(f"{key} is revoked.")
