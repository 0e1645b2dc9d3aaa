"""Permissions of commands: one that opens the database itself gets exactly those it states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from foliot.core.access import LOCAL, Caller, Interface, Thing, Verb, scope

Command = TypeVar("Command", bound=Callable[..., Any])
Permission = tuple[Verb, Thing]

READ_INSTALLATION: Permission = (Verb.READ, Thing.INSTALLATION)
WRITE_INSTALLATION: Permission = (Verb.WRITE, Thing.INSTALLATION)
SERVER = "server"
"""Sent to a server, which decides by the token."""


def needs(*permissions: Permission) -> Callable[[Command], Command]:
    """Decorates a command that opens the database of this machine's settings: what it may do there."""

    def state(command: Command) -> Command:
        command.needs = frozenset(permissions)  # type: ignore[attr-defined]
        return command

    return state


def asks(command: Command) -> Command:
    """Decorates a command that sends requests to a server."""
    command.needs = SERVER  # type: ignore[attr-defined]
    return command


def needs_of(command: Callable[..., Any]) -> frozenset[Permission] | str | None:
    """What a command states; None when it states nothing."""
    stated: frozenset[Permission] | str | None = getattr(command, "needs", None)
    return stated


def caller_of(command: Callable[..., Any]) -> Caller:
    """The local caller with the scopes that the command states, and no others."""
    stated = needs_of(command)
    scopes = frozenset(scope(*one) for one in stated) if isinstance(stated, frozenset) else frozenset[str]()
    return replace(LOCAL, interface=Interface.CLI, scopes=scopes)
