"""A process that calls URLs through the egress, all at once, and reports what came of it and what it cost."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from foliot.core.egress import EgressFailed, OutgoingRequest
from foliot.net.client import HttpEgress


def kibibytes(what: str) -> int:
    """`VmRSS` is what this process holds now, `VmHWM` the most since it was reset."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


async def call(egress: HttpEgress, url: str, seconds: float) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        reply = await egress.send(OutgoingRequest(method="GET", url=url, timeout=timedelta(seconds=seconds)))
    except EgressFailed as failure:
        told: dict[str, Any] = {"code": failure.code}
    else:
        told = {"status": reply.status, "truncated": reply.truncated, "kept": len(reply.body)}
    return {**told, "seconds": round(loop.time() - began, 3)}


async def longest_pause() -> float:
    """How much this process computed at most while others waited for a turn, until cancelled.

    Told by the processor's clock: a busy machine makes everybody wait, and that is not the bomb's doing.
    """
    longest = 0.0
    try:
        while True:
            began = time.process_time()
            await asyncio.sleep(0.01)
            longest = max(longest, time.process_time() - began)
    except asyncio.CancelledError:
        return longest


async def main(warm_up: str, seconds: float, urls: list[str]) -> None:
    async with HttpEgress(loopback=True) as egress:
        await call(egress, warm_up, seconds)
        # 5 resets the high-water mark of this process's memory.
        Path("/proc/self/clear_refs").write_text("5")
        before = kibibytes("VmRSS")
        watching = asyncio.create_task(longest_pause())
        told = await asyncio.gather(*(call(egress, url, seconds) for url in urls))
        watching.cancel()
        grown = (kibibytes("VmHWM") - before) / 1024
        again = await call(egress, warm_up, seconds)
        print(json.dumps({"told": told, "grown": grown, "pause": await watching, "again": again}))


def new_loop() -> asyncio.AbstractEventLoop:
    """The loop that `foliot up` runs on."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main(sys.argv[1], float(sys.argv[2]), sys.argv[3:]))
