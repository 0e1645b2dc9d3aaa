"""`foliot login-link`, `foliot sign-out`, `foliot members`: people at the dashboard."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from foliot.terminal.access import asks
from foliot.terminal.client import asking
from foliot.terminal.options import Json, Utc
from foliot.terminal.output import count, listing, moment, note, print_json


@asks
def login_link(
    *,
    open_it: Annotated[bool, typer.Option("--open", help="Open it in this machine's browser.")] = False,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Print an address that signs you in at the dashboard: once, within five minutes, as whoever FOLIOT_TOKEN names."""
    with asking() as client:
        made = client.post("/api/login-links")
        parts = urlsplit(made["url"])
        # The way there is the one that we came by, whatever the server believes of proxies before it.
        made["url"] = f"{client.address}{parts.path}" + (f"?{parts.query}" if parts.query else "")
        if as_json:
            print_json(made)
        else:
            typer.echo(made["url"])
            until = moment(made["expires_at"], utc=utc)
            note(f"works once, until {until}" if parts.query else "nobody has to sign in here: it works at any time")
        if open_it:
            import webbrowser

            webbrowser.open(made["url"])


@asks
def sign_out(as_json: Json = False) -> None:
    """End every session of yours at the dashboard, in whichever browser: of the user whom FOLIOT_TOKEN names."""
    with asking() as client:
        ended = client.delete("/api/sessions")["ended"]
        if as_json:
            print_json({"ended": ended})
        else:
            typer.echo(f"{count(ended, 'session')} ended; the token and API keys go on to count.")


@asks
def members(as_json: Json = False, utc: Utc = False) -> None:
    """List who was seen in the tenant, the latest first: people by their tokens, and API keys."""
    with asking() as client:
        found = client.get("/api/members")

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            seen = moment(each.get("last_seen_at"), utc=utc)
            return each["user_id"], " ".join(each["roles"]), each["keys"], seen, each.get("last_action")

        columns = ("user", "roles", "keys", "last seen", "last did")
        listing(found, columns, row, empty="Nobody was seen yet.", as_json=as_json)
