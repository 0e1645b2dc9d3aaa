"""What is asked of whoever acts on one thing of many."""

from __future__ import annotations

from typing import Protocol

from foliot.commands.envelope import CommandContext
from foliot.commands.limits import Limiter
from foliot.core.access import Caller
from foliot.features.bulk.model.bulk import Bulk


class Errand(Protocol):
    """Acts on one thing after the other, on behalf of whoever asked."""

    @property
    def caller(self) -> Caller: ...
    @property
    def limiter(self) -> Limiter: ...

    async def do(self, ctx: CommandContext, thing_id: str) -> str | None:
        """The id of the run that it made, if it made one. Raises what asking for this one thing would raise."""
        ...


class Hands(Protocol):
    """Knows how to act on things."""

    def take(self, bulk: Bulk) -> Errand: ...
