"""`foliot host session …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, JsonObject, Table
from foliot.terminal.options import usage
from foliot.terminal.output import note

group = CommandGroup("Sessions of hosts: cookies that pages are fetched with, and the sign-in that renews them.")

Host = Annotated[str, typer.Argument(help="The host, such as shop.example.", metavar="HOST")]
Name = Annotated[str, typer.Argument(help="The session's name, as in session: NAME.", metavar="NAME")]


def _login(session: JsonObject) -> str:
    return session["login"]["url"] if session["login"] else ""


SESSIONS = Table(
    "host, name, sign-in: login, cookies, signed in: @signed_in_at, problem",
    computed={"login": _login},
    empty="No sessions. Create one with foliot host session set HOST NAME.",
)


@group.get("/api/host-sessions", SESSIONS)
def list_() -> None:
    """List sessions by host, without their cookies."""


@group.command()
def set_(
    host: Host,
    name: Name,
    login: Annotated[
        Path | None,
        typer.Option(help="File with the sign-in as JSON: url, steps, wait_for, every.", exists=True, dir_okay=False),
    ] = None,
    cookies: Annotated[
        Path | None,
        typer.Option(help="File with cookies as JSON, as browsers export them.", exists=True, dir_okay=False),
    ] = None,
) -> None:
    """Create or replace a session. Cookies are encrypted and never shown; without --cookies, the stored ones stay."""
    if login is None and cookies is None:
        raise usage("give --login, --cookies or both")
    body = {"login": _json(login, "--login"), "cookies": _json(cookies, "--cookies")}
    with connect() as client:
        path = f"/api/hosts/{segment(host)}/sessions/{segment(name)}"
        client.put(path, {key: value for key, value in body.items() if value is not None})
        note(f"session {name} of {host} is set")


@group.command()
def delete(host: Host, name: Name) -> None:
    """Delete a session with its cookies; pages that name it fail from then on."""
    with connect() as client:
        client.delete(f"/api/hosts/{segment(host)}/sessions/{segment(name)}")
        note(f"session {name} of {host} is deleted")


def _json(file: Path | None, flag: str) -> Any:
    if file is None:
        return None
    try:
        return orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as wrong:
        raise usage(f"{flag}: is not JSON: {wrong}") from None
