"""`foliot tenant …`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.client import connect, segment
from foliot.terminal.group import CommandGroup, JsonObject, Table, facts, print_answer
from foliot.terminal.options import Json, Utc, usage

group = CommandGroup("Show and set the limits of each tenant (role system).")

Tenant = Annotated[str, typer.Argument(help="The tenant's id, as tokens name it.", metavar="TENANT")]
_RULE = "A number, `none` for no limit, or `default` for the limit in the settings."


def _limit(value: int | None) -> str:
    return "no limit" if value is None else str(value)


def _allowed(tenant: JsonObject) -> str:
    if tenant["egress_allow"] is None:
        return "nothing: its list cannot be read"
    return ", ".join(tenant["egress_allow"]) or "what the operator allows"


TENANTS = Table(
    "id: tenant_id, own limits, may call, changed: @updated_at",
    computed={
        "own limits": lambda tenant: ", ".join(f"{name} {_limit(value)}" for name, value in tenant["limits"].items()),
        "may call": _allowed,
    },
    empty="No tenant has limits of its own: foliot tenant set.",
)


def _show_tenant(tenant: JsonObject) -> None:
    limits = [
        (name.replace("_", " "), _limit(value) + ("" if name in tenant["limits"] else " (settings)"))
        for name, value in tenant["effective"].items()
    ]
    facts(
        [
            ("id", tenant["tenant_id"]),
            *limits,
            ("may call", _allowed(tenant)),
            ("changed", tenant.at("updated_at")),
            ("by", tenant["updated_by"]),
        ]
    )


@group.get("/api/tenants", TENANTS, paged=True)
def list_() -> None:
    """List tenants with limits of their own. All others have the defaults from the settings."""


@group.get("/api/tenants/{tenant}", _show_tenant)
def show(tenant: Tenant) -> None:
    """Show a tenant's limits: its own, and the defaults from the settings."""


@group.command()
def set_(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    tenant: Tenant,
    requests_per_minute: Annotated[str | None, typer.Option(help=f"Requests to one API process. {_RULE}")] = None,
    schedules: Annotated[str | None, typer.Option(help="Schedules that are active or paused.")] = None,
    concurrent_runs: Annotated[str | None, typer.Option(help="Runs at the same time; others wait.")] = None,
    run_now_per_minute: Annotated[str | None, typer.Option(help="Runs that its users start by hand.")] = None,
    streams: Annotated[str | None, typer.Option(help="Open streams at the same time.")] = None,
    stored_bytes: Annotated[
        str | None, typer.Option(help="Bytes of its schedules, their versions, and the payloads of its runs.")
    ] = None,
    catchup_rate: Annotated[
        str | None, typer.Option(help="Runs per minute and queue that make up for an outage.")
    ] = None,
    egress_allow: Annotated[
        str | None,
        typer.Option(
            help="Where its actions may connect, separated by commas: networks, hosts, *.host or host:port; "
            "`default` for everything that the operator allows."
        ),
    ] = None,
    as_json: Json = False,
    utc: Utc = None,
) -> None:
    """Change the given limits and keep the others. Takes effect in every process within 5 s."""
    given = {
        "requests_per_minute": requests_per_minute,
        "schedules": schedules,
        "concurrent_runs": concurrent_runs,
        "run_now_per_minute": run_now_per_minute,
        "streams": streams,
        "stored_bytes": stored_bytes,
        "catchup_rate": catchup_rate,
    }
    with connect() as client:
        if all(value is None for value in (*given.values(), egress_allow)):
            raise usage("say what to change, as in --schedules 500")
        path = f"/api/tenants/{segment(tenant)}"
        now = client.get(path)
        allow = now["egress_allow"] or [] if egress_allow is None else _entries(egress_allow)
        changed = client.put(path, {"limits": _changed(now["limits"], given), "egress_allow": allow})
        print_answer(changed, _show_tenant, as_json=as_json, utc=utc)


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
                raise usage(f"--{flag}: must be a whole number, none or default, got {text!r}")
    return changed


def _entries(text: str) -> list[str]:
    return [] if text == "default" else [entry.strip() for entry in text.split(",") if entry.strip()]
