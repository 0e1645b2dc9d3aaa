"""What each command needs. One that acts on the database itself is given exactly what it states, and no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from foliot.core.access import LOCAL, Caller, Door, Thing, Verb, scope

Command = TypeVar("Command", bound=Callable[..., Any])
Permission = tuple[Verb, Thing]

READ_HOUSE: Permission = (Verb.READ, Thing.HOUSE)
WRITE_HOUSE: Permission = (Verb.WRITE, Thing.HOUSE)
SERVER = "server"
"""Asked of a server, which decides by the token that is shown."""


def needs(*permissions: Permission) -> Callable[[Command], Command]:
    """Over a command that uses the settings of this machine: what it may do to the database they name."""

    def state(command: Command) -> Command:
        command.needs = frozenset(permissions)  # type: ignore[attr-defined]
        return command

    return state


def asks(command: Command) -> Command:
    """Over a command that asks a server."""
    command.needs = SERVER  # type: ignore[attr-defined]
    return command


def needs_of(command: Callable[..., Any]) -> frozenset[Permission] | str | None:
    """What a command states; None when it is silent, which a test refuses."""
    stated: frozenset[Permission] | str | None = getattr(command, "needs", None)
    return stated


def caller_of(command: Callable[..., Any]) -> Caller:
    """Whoever may read the settings of this machine, narrowed to what the command states; nothing when it is silent."""
    stated = needs_of(command)
    scopes = frozenset(scope(*one) for one in stated) if isinstance(stated, frozenset) else frozenset[str]()
    return replace(LOCAL, door=Door.CLI, scopes=scopes)
