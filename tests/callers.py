"""Callers for tests that are not about tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foliot.core.access import Caller
from foliot.core.errors import Unauthenticated


@dataclass(frozen=True, slots=True)
class Names:
    """Whoever says a name is believed."""

    callers: Mapping[str, Caller]

    async def caller(self, bearer: str) -> Caller:
        if bearer not in self.callers:
            raise Unauthenticated
        return self.callers[bearer]

    async def still(self, caller: Caller) -> bool:
        return True
