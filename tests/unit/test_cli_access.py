"""Every command says what it needs, and one that acts on the database itself is given nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import foliot.cli
from foliot.cli import audit, secrets, upkeep
from foliot.cli.app import app
from foliot.core.access import Door, Thing, Verb, may
from foliot.core.errors import Forbidden
from foliot.features.ledger.usecases import Audit
from foliot.features.secrets.usecases import Secrets
from foliot.terminal.access import READ_HOUSE, SERVER, WRITE_HOUSE, caller_of, needs, needs_of
from tests.world import open_world

ROOM = Path(foliot.cli.__file__).parent
DIRECT = {
    "up", "api", "scheduler", "worker", "grpc", "discord", "migrate", "check", "token", "backup", "restore",
    "audit", "audit verify", "secret rekey", "crawl deploy", "pipeline check", "pipeline run",
}  # fmt: skip
"""Those that use the settings of this machine; all others ask a server."""


def _commands(group: typer.Typer, above: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    for one in group.registered_commands:
        assert one.callback is not None
        yield f"{above}{one.name or one.callback.__name__.strip('_').replace('_', '-')}", one.callback
    for room in group.registered_groups:
        assert room.typer_instance is not None
        called = room.typer_instance.registered_callback
        if called is not None and called.callback is not None:
            yield f"{above}{room.name}", called.callback
        yield from _commands(room.typer_instance, f"{above}{room.name} ")


COMMANDS = dict(_commands(app))


def test_every_command_states_what_it_needs() -> None:
    assert len(COMMANDS) > 30
    assert [name for name, command in COMMANDS.items() if needs_of(command) is None] == []


def test_only_these_act_by_themselves() -> None:
    """A command that is new here belongs into the list, and into the reference."""
    assert {name for name, command in COMMANDS.items() if needs_of(command) != SERVER} <= DIRECT


def test_no_command_takes_more_than_it_states() -> None:
    """The caller of local mode, who may do everything, is handed out narrowed, and in one place."""
    for path in ROOM.glob("*.py"):
        used = re.findall(r"\bLOCAL\b(?!\.tenant_id)", re.sub(r"^from .*$", "", path.read_text(), flags=re.MULTILINE))
        assert path.name == "access.py" or not used, path.name


@pytest.mark.parametrize(
    ("command", "stated"),
    [
        (upkeep.audit, {READ_HOUSE}),
        (audit.verify, {READ_HOUSE}),
        (secrets.rekey, {READ_HOUSE, WRITE_HOUSE}),
        (secrets.list_, set[tuple[Verb, Thing]]()),
    ],
)
def test_a_command_may_do_what_it_states_and_nothing_else(
    command: Callable[..., Any], stated: set[tuple[Verb, Thing]]
) -> None:
    caller = caller_of(command)

    assert {(verb, thing) for verb in Verb for thing in Thing if may(caller, verb, thing)} == stated
    assert caller.door is Door.CLI


async def test_a_command_that_states_nothing_is_denied() -> None:
    @needs(READ_HOUSE)
    def reads() -> None: ...

    def silent() -> None: ...

    async with open_world() as world:
        assert (await world.cases[Audit].prove(caller_of(reads))).holes == []
        with pytest.raises(Forbidden):
            await world.cases[Audit].prove(caller_of(silent))
        with pytest.raises(Forbidden):
            await world.cases[Secrets].rekey(caller_of(reads))
