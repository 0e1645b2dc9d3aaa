"""Every command says what it needs, and one that acts on the database itself is given nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import foliot
from foliot.cli import audit, ledger, secrets
from foliot.cli.root import COMMANDS
from foliot.core.access import Interface, Thing, Verb, may
from foliot.core.errors import Forbidden
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.secrets.cli import list_ as list_secrets
from foliot.features.secrets.usecases import Secrets
from foliot.terminal.access import READ_INSTALLATION, SERVER, WRITE_INSTALLATION, caller_of, needs, needs_of
from tests.world import open_world

SOURCE = Path(foliot.__file__).parent
MODULES = [path for path in SOURCE.rglob("*.py") if {"cli", "terminal"} & {*path.parts[len(SOURCE.parts) :], path.stem}]
DIRECT = {
    "up", "api", "scheduler", "worker", "grpc", "discord", "migrate", "check", "token", "backup", "restore",
    "audit", "audit verify", "ledger verify", "secret rekey", "crawl deploy", "pipeline check", "pipeline run",
    "listen",
}  # fmt: skip
"""Those that use the settings of this machine, or listen on it; all others ask a server."""


def _commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, source in COMMANDS.items():
        group = import_module(source.module).group
        if group.registered_callback is not None:
            yield name, group.registered_callback.callback
        for path, callback in _registered(group):
            if source.nested or path == name:
                yield f"{name} {path}" if source.nested else name, callback


def _registered(group: typer.Typer) -> Iterator[tuple[str, Callable[..., Any]]]:
    for command in group.registered_commands:
        assert command.name is not None
        assert command.callback is not None
        yield command.name, command.callback
    for part in group.registered_groups:
        assert part.typer_instance is not None
        yield from _registered(part.typer_instance)


BY_NAME = dict(_commands())


def test_every_command_states_what_it_needs() -> None:
    assert len(BY_NAME) > 80
    assert [name for name, command in BY_NAME.items() if needs_of(command) is None] == []


def test_only_these_act_by_themselves() -> None:
    """A command that is new here belongs into the list, and into the reference."""
    assert {name for name, command in BY_NAME.items() if needs_of(command) != SERVER} <= DIRECT


def test_no_command_takes_more_than_it_states() -> None:
    """The caller of local mode, who may do everything, is handed out narrowed, and in one place."""
    assert len(MODULES) > 50
    for path in MODULES:
        used = re.findall(r"\bLOCAL\b(?!\.tenant_id)", re.sub(r"^from .*$", "", path.read_text(), flags=re.MULTILINE))
        assert path == SOURCE / "terminal" / "access.py" or not used, path.name


@pytest.mark.parametrize(
    ("command", "stated"),
    [
        (ledger.verify, {READ_INSTALLATION}),
        (audit.verify, {READ_INSTALLATION}),
        (secrets.rekey, {READ_INSTALLATION, WRITE_INSTALLATION}),
        (list_secrets, set[tuple[Verb, Thing]]()),
    ],
)
def test_a_command_may_do_what_it_states_and_nothing_else(
    command: Callable[..., Any], stated: set[tuple[Verb, Thing]]
) -> None:
    caller = caller_of(command)

    assert {(verb, thing) for verb in Verb for thing in Thing if may(caller, verb, thing)} == stated
    assert caller.interface is Interface.CLI


async def test_a_command_that_states_nothing_is_denied() -> None:
    @needs(READ_INSTALLATION)
    def reads() -> None: ...

    def silent() -> None: ...

    async with open_world() as world:
        assert (await world.cases[LedgerVerifier].prove(caller_of(reads))).holes == []
        with pytest.raises(Forbidden):
            await world.cases[LedgerVerifier].prove(caller_of(silent))
        with pytest.raises(Forbidden):
            await world.cases[Secrets].rekey(caller_of(reads))
