"""`foliot login-link`, `foliot sign-out`, `foliot members`."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

import typer

from foliot.terminal.client import connect
from foliot.terminal.group import CommandGroup, JsonObject, Table, joined
from foliot.terminal.options import Json, Utc
from foliot.terminal.output import count, moment, note, print_json

group = CommandGroup()

MEMBERS = Table(
    "user: user_id, roles, keys, last seen: @last_seen_at, last action",
    computed={"roles": joined("roles", " ")},
    empty="No activity yet.",
)


@group.command()
def login_link(
    *,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in this machine's browser.")] = False,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Print a link that signs you in to the dashboard as the user of FOLIOT_TOKEN; it works once, for five minutes."""
    with connect() as client:
        link = client.post("/api/login-links")
        parts = urlsplit(link["url"])
        # The URL that this command used, whatever the server knows of proxies in front of it.
        link["url"] = f"{client.address}{parts.path}" + (f"?{parts.query}" if parts.query else "")
        if as_json:
            print_json(link)
        else:
            typer.echo(link["url"])
            until = moment(link["expires_at"], utc=utc)
            note(f"works once, until {until}" if parts.query else "this server needs no sign-in: it works at any time")
        if open_it:
            import webbrowser

            webbrowser.open(link["url"])


def _show_ended(answer: JsonObject) -> None:
    typer.echo(f"{count(answer['ended'], 'session')} ended; the token and API keys stay valid.")


@group.delete("/api/sessions", _show_ended)
def sign_out() -> None:
    """End every dashboard session of the user of FOLIOT_TOKEN, in all browsers."""


@group.get("/api/members", MEMBERS)
def members() -> None:
    """List the users and API keys that were active in the tenant, most recent first."""
