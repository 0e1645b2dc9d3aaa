"""Maps Discord members to callers. A member who is not in the map has no rights; Discord's permissions grant none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import discord

from foliot.core.access import Caller, Interface, Role
from foliot.core.errors import Forbidden

USER = "user:"
_ORDER = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordMembers:
    """Callers by the ids of members and of their roles."""

    roles: Mapping[str, Role]
    tenant_id: str
    guild: int | None = None
    """The one server that is served; None: any whose roles are in the map, for role ids are unique across servers."""

    def caller(self, interaction: discord.Interaction[Any]) -> Caller:
        """The member's caller; `Forbidden` when they have no rights, with a message that helps to extend the map."""
        if interaction.guild_id is None or not isinstance(interaction.user, discord.Member):
            raise Forbidden("Foliot takes commands in a server only, not in private messages")
        if self.guild is not None and interaction.guild_id != self.guild:
            raise Forbidden("Foliot does not take commands from this server")
        member = interaction.user
        # Names would need the server's list of roles, which is not subscribed to: the ids come with the command.
        held = list(member._roles)  # noqa: SLF001
        # The role `@everyone` has the id of its server.
        granted = self._granted([*held, interaction.guild_id], member.id)
        if granted is None:
            listed = ", ".join(map(str, held[:20])) or "none"
            raise Forbidden(
                "none of your roles may use Foliot here. Its operator grants that by FOLIOT_DISCORD_ROLES; "
                f"the ids of your roles: {listed}"
            )
        return Caller(self.tenant_id, f"discord:{member.id}", granted, Interface.DISCORD)

    def _granted(self, roles: Iterable[int], user: int) -> Role | None:
        found = [self.roles.get(str(role)) for role in roles] + [self.roles.get(f"{USER}{user}")]
        return max((role for role in found if role is not None), key=_ORDER.index, default=None)
