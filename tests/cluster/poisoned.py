"""A worker that dies of its first run. argv: a JSON object with the database, the broker, the queue and the scale."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from foliot.cluster.celery.worker import CeleryIntake
from foliot.core.ids import new_id
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.loop import EnginePace
from foliot.engine.model.node import NodeRole
from foliot.engine.model.run import Outcome
from foliot.engine.ports import ActionContext
from foliot.testing import GivenActions
from foliot.wakeups.feed import MemoryFeed

DIED = 9
IDLE = 3.0


class Poison:
    """Takes the whole process with it."""

    kind = "probe"
    timeout = timedelta(seconds=30)

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        os._exit(DIED)


async def main(told: Mapping[str, Any]) -> None:
    queues = [told["queue"]]
    engine = Engine(
        node_id=new_id("poisoned"),
        clock=StoreClock(),
        store=Database(told["database"]),
        feed=MemoryFeed(),
        actions=GivenActions.of(Poison()),
        pace=EnginePace(scale=told["scale"], tick=0.2, retention=None),
        workers_of=lambda executor: EmbeddedWorkers(executor, 1),
        queues=queues,
        role=NodeRole.WORKER,
        intake=CeleryIntake(told["broker"], name=f"p{os.getpid()}@test", queues=queues, slots=1),
    )
    await engine.start()
    await asyncio.sleep(IDLE)
    await engine.stop(0)


asyncio.run(main(json.loads(sys.argv[1])))
