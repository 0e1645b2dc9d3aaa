"""`foliot apikey …`: keys for programs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.terminal.client import asking, segment
from foliot.terminal.options import Cursor, Json, Limit, Utc
from foliot.terminal.output import facts, listing, moment, note, print_json

group = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


@group.command()
def create(
    name: Annotated[str, typer.Argument(help="What people call it; its runs and changes are by key:NAME.")],
    role: Annotated[str, typer.Option(help="viewer, operator, admin or system; never above your own.")],
    expires_at: Annotated[
        str | None,
        typer.Option(help="When it ends: 2028-01-01T00:00:00Z. Default: FOLIOT_MAX_KEY_DAYS after your token."),
    ] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="Narrows the role, as in schedule:read; may be repeated.")
    ] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Create an API key and print it. It is shown this once and kept nowhere.

    foliot apikey create deploys --role operator
    """
    with asking() as client:
        wanted = {"name": name, "role": role, "expires_at": expires_at, "scopes": scope or None}
        made = client.post("/api/keys", {field: value for field, value in wanted.items() if value is not None})
        if as_json:
            print_json(made)
            return
        facts(
            [
                ("id", made["id"]),
                ("name", made["name"]),
                ("role", made["role"]),
                ("scopes", " ".join(made.get("scopes") or [])),
                ("expires", moment(made.get("expires_at"), utc=utc)),
                ("key", made["key"]),
            ]
        )
        note("keep the key now: it is not stored and cannot be shown again; programs send it as FOLIOT_TOKEN")


@group.command("list")
def list_(limit: Limit = 50, cursor: Cursor = None, as_json: Json = False, utc: Utc = False) -> None:
    """List API keys, newest first, revoked ones too; never the keys themselves."""
    with asking() as client:
        found = client.get("/api/keys", limit=limit, cursor=cursor)

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            return (
                each["id"],
                each["name"],
                each["role"],
                " ".join(each.get("scopes") or []),
                each.get("hint"),
                moment(each.get("last_used_at"), utc=utc),
                moment(each.get("expires_at"), utc=utc),
                moment(each.get("revoked_at"), utc=utc),
            )

        columns = ("id", "name", "role", "scopes", "begins with", "last used", "expires", "revoked")
        listing(found, columns, row, empty="No API keys. Make one: foliot apikey create NAME --role …", as_json=as_json)


@group.command()
def revoke(
    key: Annotated[str, typer.Argument(help="The key's id (key_…).", metavar="KEY")], as_json: Json = False
) -> None:
    """Revoke an API key for good: within 5 s nothing accepts it, and streams opened with it end."""
    with asking() as client:
        client.delete(f"/api/keys/{segment(key)}")
        if as_json:
            print_json({"id": key, "revoked": True})
        else:
            typer.echo(f"{key} is revoked.")
