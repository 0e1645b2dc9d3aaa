"""Parcels that come together are claimed together; when that fails, none of them is left waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from foliot.cluster.frames import BrokerMessage
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.broker.receiver import Receiver
from foliot.wakeups.feed import MemoryFeed

NOON = datetime(2027, 5, 1, 12, tzinfo=UTC)


@dataclass
class Workers:
    """Hold the first claim until they are let go; the second breaks."""

    slots: int = 10
    claims: list[list[str]] = field(default_factory=list)
    first: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    passed_over: int = 0

    def free(self) -> int:
        return self.slots

    room = free

    async def submit(self, run_ids: Sequence[str]) -> int:
        self.claims.append(list(run_ids))
        if len(self.claims) > 1:
            raise RuntimeError("a row that breaks a rule")
        self.first.set()
        await self.go.wait()
        return len(run_ids)


async def test_a_claim_that_breaks_is_heard_of_by_everybody_who_waits_for_it() -> None:
    workers = Workers()
    store = cast("Database", None)
    receiver = Receiver(clock=StoreClock(), store=store, feed=MemoryFeed(), workers=workers)

    def receive(run_id: str) -> asyncio.Task[Any]:
        return asyncio.create_task(receiver.receive(BrokerMessage("default", 5, [run_id], NOON)))

    first = receive("run_1")
    await workers.first.wait()
    others = [receive("run_2"), receive("run_3")]
    await asyncio.sleep(0)
    workers.go.set()
    heard = await asyncio.wait_for(asyncio.gather(first, *others, return_exceptions=True), 20)

    assert workers.claims == [["run_1"], ["run_2", "run_3"]]
    assert [type(one) for one in heard] == [type(None), RuntimeError, RuntimeError]
