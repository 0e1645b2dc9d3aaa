"""A process that keeps schedules in a SQLite file, names each when it is committed, and dies without a word."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from sqlalchemy import event

from foliot.db.database import Database
from tests.givens import keep, schedule


async def main(path: str, count: int, synchronous: str) -> None:
    store = Database(f"sqlite+aiosqlite:///{path}", bind_clock=True)
    if synchronous:

        @event.listens_for(store.engines.write.sync_engine, "connect")
        def weaken(connection: Any, _record: Any) -> None:
            connection.cursor().execute(f"PRAGMA synchronous={synchronous}")

    for number in range(count):
        await keep(store, schedule(id=f"sch_{number}"))
        print(f"sch_{number}", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))
