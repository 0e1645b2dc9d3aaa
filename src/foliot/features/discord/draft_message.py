"""A schedule before it is saved: kept in the message that previews it, so that it survives a restart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import discord

from foliot.features.discord import text as words

LONGEST = 200
"""Maximum length of an expression."""
_NAMES = {"pipeline": "Pipeline", "cron": "Cron", "timezone": "Time zone"}


@dataclass(frozen=True, slots=True)
class ScheduleDraftMessage:
    """A pipeline, and optionally its trigger."""

    pipeline: str
    cron: str = ""
    timezone: str = ""

    def when(self) -> dict[str, Any]:
        """The trigger fields of a schedule's document."""
        zone = {"timezone": self.timezone} if self.timezone else {}
        return {"type": "cron", "cron_expr": self.cron, **zone}

    def of(self, pipeline: str) -> Self:
        return replace(self, pipeline=pipeline)

    def in_zone(self, default: str) -> Self:
        return self if self.timezone else replace(self, timezone=default)

    def mended(self, field: str, suggestion: str) -> Self | None:
        match field:
            case "cron_expr":
                return replace(self, cron=suggestion)
            case "timezone":
                return replace(self, timezone=suggestion)
            case _:
                return None

    def embed(self, title: str | None) -> discord.Embed:
        embed = discord.Embed(title=title)
        for name, label in _NAMES.items():
            if text := getattr(self, name):
                embed.add_field(name=label, value=words.code(text, LONGEST))
        return embed

    @classmethod
    def read(cls, embeds: Sequence[discord.Embed]) -> Self | None:
        """The draft that a preview message holds."""
        shown = {field.name: (field.value or "").strip("`") for embed in embeds[:1] for field in embed.fields}
        fields = {name: shown.get(label, "") for name, label in _NAMES.items()}
        return cls(**fields) if fields["pipeline"] else None
