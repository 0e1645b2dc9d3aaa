"""`foliot tenant …`: what each tenant may use at most."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from foliot.terminal.client import asking, segment
from foliot.terminal.options import Cursor, Json, Limit, Utc
from foliot.terminal.output import Exit, Failure, facts, listing, moment, print_json

group = typer.Typer(help="What each tenant may use at most; for the role system.", no_args_is_help=True)

Tenant = Annotated[str, typer.Argument(help="The tenant's id, as tokens name it.", metavar="TENANT")]
_RULE = "A number, `none` for no limit, or `default` for what the settings say."


@group.command("list")
def list_(limit: Limit = 50, cursor: Cursor = None, as_json: Json = False, utc: Utc = False) -> None:
    """List tenants of whom something is said. The others have what the settings say."""
    with asking() as client:
        found = client.get("/api/tenants", limit=limit, cursor=cursor)

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            own = ", ".join(f"{name} {_limit(value)}" for name, value in each["limits"].items())
            return each["tenant_id"], own, _allowed(each), moment(each.get("updated_at"), utc=utc)

        columns = ("id", "own limits", "may call", "changed")
        listing(found, columns, row, empty="Nothing is said of any tenant: foliot tenant set.", as_json=as_json)


@group.command()
def show(tenant: Tenant, as_json: Json = False, utc: Utc = False) -> None:
    """Show what a tenant may use, its own limits and those of the settings."""
    with asking() as client:
        _show(client.get(f"/api/tenants/{segment(tenant)}"), as_json=as_json, utc=utc)


@group.command("set")
def set_(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    tenant: Tenant,
    requests_per_minute: Annotated[str | None, typer.Option(help=f"Requests to one API process. {_RULE}")] = None,
    schedules: Annotated[str | None, typer.Option(help="Schedules that are active or paused.")] = None,
    concurrent_runs: Annotated[str | None, typer.Option(help="Runs at once; the others wait.")] = None,
    run_now_per_minute: Annotated[str | None, typer.Option(help="Runs that its people ask for.")] = None,
    streams: Annotated[str | None, typer.Option(help="Streams open at once.")] = None,
    stored_bytes: Annotated[
        str | None, typer.Option(help="Bytes of its schedules, their versions, and what its runs were given.")
    ] = None,
    egress_allow: Annotated[
        str | None,
        typer.Option(
            help="Where its actions may go, separated by commas: networks, hosts, *.host or host:port; "
            "`default` for wherever the operator lets anybody go."
        ),
    ] = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Change what is named and leave the rest as it is. Holds in every process within 5 s."""
    given = {
        "requests_per_minute": requests_per_minute,
        "schedules": schedules,
        "concurrent_runs": concurrent_runs,
        "run_now_per_minute": run_now_per_minute,
        "streams": streams,
        "stored_bytes": stored_bytes,
    }
    with asking() as client:
        if all(value is None for value in (*given.values(), egress_allow)):
            raise Failure("say what to change, as in --schedules 500", Exit.USAGE)
        path = f"/api/tenants/{segment(tenant)}"
        now = client.get(path)
        allow = now["egress_allow"] or [] if egress_allow is None else _entries(egress_allow)
        document = {"limits": _changed(now["limits"], given), "egress_allow": allow}
        _show(client.put(path, document), as_json=as_json, utc=utc)


def _changed(own: dict[str, int | None], given: dict[str, str | None]) -> dict[str, int | None]:
    changed = dict(own)
    for name, text in given.items():
        match text:
            case None:
                continue
            case "default":
                changed.pop(name, None)
            case "none":
                changed[name] = None
            case _ if text.isascii() and text.isdecimal():
                changed[name] = int(text)
            case _:
                flag = name.replace("_", "-")
                raise Failure(f"--{flag}: must be a whole number, none or default, got {text!r}", Exit.USAGE)
    return changed


def _entries(text: str) -> list[str]:
    return [] if text == "default" else [entry.strip() for entry in text.split(",") if entry.strip()]


def _show(tenant: dict[str, Any], *, as_json: bool, utc: bool) -> None:
    if as_json:
        print_json(tenant)
        return
    own = tenant["limits"]
    limits = [
        (name.replace("_", " "), f"{_limit(value)}{'' if name in own else ' (settings)'}")
        for name, value in tenant["effective"].items()
    ]
    facts(
        [
            ("id", tenant["tenant_id"]),
            *limits,
            ("may call", _allowed(tenant)),
            ("changed", moment(tenant.get("updated_at"), utc=utc)),
            ("by", tenant.get("updated_by")),
        ]
    )


def _limit(value: int | None) -> str:
    return "no limit" if value is None else str(value)


def _allowed(tenant: dict[str, Any]) -> str:
    if tenant["egress_allow"] is None:
        return "nothing: its list cannot be read"
    return ", ".join(tenant["egress_allow"]) or "what the operator allows"
