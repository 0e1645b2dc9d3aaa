"""What is asked of the store about those who are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from foliot.domain.endpoint import Call, Sender


class Endpoints(Protocol):
    """The targets of webhooks."""

    async def calls(self, tenant_id: str, since: datetime, runs: int) -> tuple[Sequence[Call], bool]:
        """Attempts of the newest so many runs that were made since; and whether these were all of them."""
        ...

    async def senders(self, tenant_id: str, schedule_ids: Sequence[str]) -> Mapping[str, Sender]:
        """Those of the schedules that are the tenant's, by their ids."""
        ...
