"""`foliot ledger verify`, of which `foliot audit` is an alias."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from foliot.terminal.access import READ_INSTALLATION, caller_of, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import SERVER_VARIABLES, Home, Json
from foliot.terminal.output import Exit, count, counting, one_line_errors, print_json, printable

if TYPE_CHECKING:
    from foliot.config.settings import Settings
    from foliot.features.ledger.usecases import LedgerProof

group = CommandGroup("Verify the ledger of instants.", epilog=SERVER_VARIABLES)


@group.command()
@needs(READ_INSTALLATION)
def verify(home: Home = None, as_json: Json = False) -> None:
    """Prove that every instant of every schedule is accounted for. If not, print the first gap and exit 1."""
    verify_ledger(home, as_json=as_json)


def verify_ledger(home: Path | None, *, as_json: bool) -> None:
    import asyncio

    from foliot.cli.database import existing_database

    with one_line_errors():
        proof = asyncio.run(_prove(existing_database(home, "verify"), everything=as_json))
        if as_json:
            print_json({"ok": not proof.holes, **asdict(proof)})
        elif proof.holes:
            hole = proof.holes[0]
            typer.echo(printable(f"not accounted for: schedule {hole.schedule_id} ({hole.name}): {hole.what}"))
        else:
            typer.echo(f"all accounted for: {count(proof.schedules, 'schedule')}, {count(proof.instants, 'instant')}")
        raise typer.Exit(Exit.FAILED if proof.holes else Exit.DONE)


async def _prove(settings: Settings, *, everything: bool) -> LedgerProof:
    from foliot.cli.database import opened
    from foliot.features.health.usecases import HealthChecks
    from foliot.features.ledger.usecases import LedgerVerifier

    caller = caller_of(verify)
    async with opened(settings) as app:
        total = sum((await app.usecases[HealthChecks].numbers(caller)).schedules.values())
        with counting("schedules proved", total) as progress:
            return await app.usecases[LedgerVerifier].prove(caller, progress=progress, first_only=not everything)
