"""`foliot invite`."""

from __future__ import annotations

from typing import Annotated

import typer

from foliot.terminal.group import CommandGroup, Facts
from foliot.terminal.output import note

group = CommandGroup()

INVITE = Facts(
    "name, role, key: key_id, link: url, link expires: @link_expires_at, access expires: @expires_at",
    then=lambda _: note("send the link: it signs in once and is not shown again; revoke the key to end the access"),
)


@group.post("/api/invites", INVITE)
def invite(
    name: Annotated[str, typer.Argument(help="The person's name; what they do is recorded as key:NAME.")],
    role: Annotated[str, typer.Option(help="viewer, operator, admin or system; never above your own.")] = "viewer",
    expires_at: Annotated[str | None, typer.Option(help="When their access ends: 2028-01-01T00:00:00Z.")] = None,
    link_hours: Annotated[int, typer.Option(min=1, max=720, help="For how many hours the link works.")] = 72,
) -> None:
    """Create a link by which a person signs in to the dashboard, once, with a role.

    foliot invite eva --role operator
    """
