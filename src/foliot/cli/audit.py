"""`foliot audit …`: the audit log; without a sub-command it is an alias of `foliot ledger verify`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foliot.cli.ledger import verify_ledger
from foliot.features.audit_log import cli as audit_log
from foliot.terminal.access import READ_INSTALLATION, caller_of, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import SERVER_VARIABLES, Home, Json, usage
from foliot.terminal.output import Exit, count, counting, one_line_errors, print_json, printable

if TYPE_CHECKING:
    from foliot.commands.audit_sql import ChainHead
    from foliot.config.settings import Settings
    from foliot.features.audit_log.chain import ChainsVerified

group = CommandGroup(no_args_is_help=False, invoke_without_command=True, epilog=SERVER_VARIABLES)
group.add_typer(audit_log.group)


@group.callback()
@needs(READ_INSTALLATION)
def audit(context: typer.Context, home: Home = None, as_json: Json = False) -> None:
    """Show and verify the audit log: who changed what. Without a command, the same as foliot ledger verify."""
    if context.invoked_subcommand is None:
        verify_ledger(home, as_json=as_json)


Earlier = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="The output of an earlier `verify --json`, to compare with."),
]


@group.command()
@needs(READ_INSTALLATION)
def verify(context: typer.Context, home: Home = None, earlier: Earlier = None, as_json: Json = False) -> None:
    """Verify that no entry of the audit log was altered, removed or moved. If one was, print it and exit 1."""
    import asyncio

    from foliot.cli.database import existing_database

    before: dict[str, Any] = context.parent.params if context.parent is not None else {}
    home, as_json = home or before.get("home"), as_json or bool(before.get("as_json"))
    with one_line_errors():
        verified = asyncio.run(_verify(existing_database(home, "verify"), _heads(earlier)))
        if as_json:
            print_json({"ok": not verified.breaks, **asdict(verified)})
        elif verified.breaks:
            for broken in verified.breaks:
                typer.echo(printable(f"not sound: tenant {broken.tenant_id}: {broken.what}"))
        else:
            later = f", {_entries(verified.waiting)} not chained yet" if verified.waiting else ""
            typer.echo(f"sound: {count(verified.tenants, 'tenant')}, {_entries(verified.entries)}{later}")
        raise typer.Exit(Exit.FAILED if verified.breaks else Exit.DONE)


def _heads(path: Path | None) -> list[ChainHead]:
    """The heads of an earlier proof: a chain that was computed again does not have them."""
    from foliot.commands.audit_sql import ChainHead

    if path is None:
        return []
    try:
        heads = json.loads(path.read_text(encoding="utf-8"))["heads"]
        return [ChainHead(str(head["tenant_id"]), int(head["seq"]), str(head["digest"])) for head in heads]
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        raise usage(f"--earlier: {path} is not what foliot audit verify --json prints") from None


async def _verify(settings: Settings, earlier: Sequence[ChainHead]) -> ChainsVerified:
    from foliot.cli.database import opened
    from foliot.features.audit_log.chain import ChainVerifier

    caller = caller_of(verify)
    async with opened(settings) as app:
        chain = app.usecases[ChainVerifier]
        with counting("entries verified", await chain.length(caller)) as progress:
            return await chain.verify(caller, earlier=earlier, progress=progress)


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"
