"""`foliot audit …`: the ledger proved, the audit log read and verified."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliot.cli import upkeep
from foliot.cli.access import READ_HOUSE, asks, caller_of, needs
from foliot.cli.client import asking, segment
from foliot.cli.options import CLIENT_VARIABLES, SERVER_VARIABLES, Cursor, Home, Json, Limit, Utc
from foliot.cli.printing import Exit, Failure, count, counting, listing, moment, one_line_errors, print_json, printable
from foliot.features.audit_log.chain import Chain

if TYPE_CHECKING:
    from foliot.commands.audit_entry import Head
    from foliot.config.settings import Settings
    from foliot.features.audit_log.chain import Verified

group = typer.Typer(invoke_without_command=True)


@group.callback()
@needs(READ_HOUSE)
def ledger(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """Prove the ledger: every instant of every schedule is accounted for. Exit 1 and the first hole otherwise.

    The sub-commands are about the audit log: who changed what.
    """
    if context.invoked_subcommand is None:
        upkeep.audit(home, as_json)


Earlier = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="What verify --json printed before, to compare with.")
]


@group.command(epilog=SERVER_VARIABLES)
@needs(READ_HOUSE)
def verify(context: typer.Context, home: Home = None, earlier: Earlier = None, as_json: Json = False) -> None:
    """Verify the audit log: no entry altered, missing or moved. Exit 1 and the first bad one of a tenant otherwise."""
    import asyncio

    from foliot.config.settings import Settings

    before: dict[str, Any] = context.parent.params if context.parent is not None else {}
    home, as_json = _either(home, before.get("home")), as_json or bool(before.get("as_json"))
    with one_line_errors():
        settings = Settings.load(os.environ, home=home)
        if settings.is_sqlite and (settings.sqlite_path is None or not settings.sqlite_path.exists()):
            raise Failure(f"there is no database at {settings.database_shown} to verify: start one with foliot up")
        found = asyncio.run(_verify(settings, _heads(earlier)))
        if as_json:
            print_json({"ok": not found.breaks, **asdict(found)})
        elif found.breaks:
            for one in found.breaks:
                typer.echo(printable(f"not sound: tenant {one.tenant_id}: {one.what}"))
        else:
            later = f", {_entries(found.waiting)} not chained yet" if found.waiting else ""
            typer.echo(f"sound: {count(found.tenants, 'tenant')}, {_entries(found.entries)}{later}")
        raise typer.Exit(Exit.FAILED if found.breaks else Exit.DONE)


def _heads(path: Path | None) -> list[Head]:
    """The heads of an earlier proof, which a chain that was made anew does not have."""
    from foliot.commands.audit_entry import Head

    if path is None:
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["heads"]
        return [Head(str(one["tenant_id"]), int(one["seq"]), str(one["digest"])) for one in found]
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        raise Failure(f"--earlier: {path} is not what foliot audit verify --json prints", Exit.USAGE) from None


async def _verify(settings: Settings, earlier: Sequence[Head]) -> Verified:
    from foliot.app import build
    from foliot.cli.revision import refuse_other_revision

    caller = caller_of(verify)
    await refuse_other_revision(settings)
    app = build.build(settings, http=False, engine=False)
    try:
        await app.start()
        chain = app.usecases[Chain]
        with counting("entries verified", await chain.length(caller)) as progress:
            return await chain.verify(caller, earlier=earlier, progress=progress)
    finally:
        await app.stop()


@group.command("list", epilog=CLIENT_VARIABLES)
@asks
def list_(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    user: Annotated[str | None, typer.Option(help="Only what this user did.")] = None,
    thing: Annotated[str | None, typer.Option(help="Only changes of such things: schedule, run, key, …")] = None,
    thing_id: Annotated[str | None, typer.Option("--id", help="Only changes of the thing with this id.")] = None,
    verb: Annotated[str | None, typer.Option(help="Only such changes: create, patch, pause, …")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="The earliest moment, as 2027-01-01T09:00:00Z.")] = None,
    to: Annotated[str | None, typer.Option(help="Up to this moment, not included.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """List who changed what, newest first."""
    wanted = {"user": user, "thing": thing, "thing_id": thing_id, "verb": verb, "from": from_, "to": to}
    with asking() as client:
        found = client.get("/api/audit", **wanted, limit=limit, cursor=cursor)

        def row(each: dict[str, Any]) -> tuple[object, ...]:
            who = each["user_id"] if each.get("key_id") is None else f"{each['user_id']} ({each['key_id']})"
            at = moment(each["at"], utc=utc)
            what = each["thing"], each["thing_id"], each.get("thing_name")
            return at, who, each["door"], each["verb"], *what, each.get("seq"), each["id"]

        columns = ("at", "who", "door", "verb", "thing", "id", "name", "seq", "entry")
        listing(found, columns, row, empty="Nobody changed anything.", as_json=as_json)


@group.command(epilog=CLIENT_VARIABLES)
@asks
def revert(
    entry: Annotated[str, typer.Argument(help="The entry's id (aud_…).", metavar="ENTRY")],
    as_json: Json = False,
    utc: Utc = False,
) -> None:
    """Take an edit of a schedule back: what stood before it stands again, as one more edit."""
    from foliot.cli.schedules import show_schedule

    with asking() as client:
        show_schedule(client.post(f"/api/audit/{segment(entry)}/revert"), as_json=as_json, utc=utc)


def _either(one: Path | None, other: Path | None) -> Path | None:
    return other if one is None else one


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
