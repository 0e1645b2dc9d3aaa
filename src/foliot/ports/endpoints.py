"""What is asked of the store about those who are called."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from foliot.domain.endpoint import Call


class Endpoints(Protocol):
    """The targets of webhooks."""

    async def calls(self, tenant_id: str, since: datetime, runs: int) -> tuple[Sequence[Call], bool]:
        """Attempts of the newest so many runs that were made since; and whether these were all of them."""
        ...
