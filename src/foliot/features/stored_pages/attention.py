"""A full quota of stored pages, as an entry of what needs attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.ports import Clock
from foliot.db.database import Transaction
from foliot.features.insights.model.attention import AttentionEntry, AttentionKind, Severity
from foliot.features.stored_pages.sql import SqlPages

RECENT = timedelta(hours=24)
"""How long a deletion is shown."""


@dataclass(frozen=True, slots=True)
class FullQuotas:
    """Whether pages of the caller's tenant were lately deleted before their time."""

    clock: Clock

    async def __call__(self, tx: Transaction, caller: Caller) -> Sequence[AttentionEntry]:
        if not may(caller, Verb.READ, Thing.PAGE):
            return ()
        drops = await SqlPages(tx).drops(caller.tenant_id, self.clock.now() - RECENT)
        if drops is None:
            return ()
        reason = f"{drops.pages:,} pages were deleted early, because the quota is full (FOLIOT_PAGES_QUOTA)"
        return [
            AttentionEntry(
                kind=AttentionKind.PAGES,
                key="quota",
                severity=Severity.ATTENTION,
                title="Stored pages",
                reason=reason,
                since=drops.first_at,
                count=drops.pages,
            )
        ]
