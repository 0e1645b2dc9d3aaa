"""SIGTERM ends a process whatever its threads do, and request handlers do not wait for work that hangs."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from foliot.core.threads import REQUESTS, WORK

SCRIPT = """
import asyncio, sys, time
from types import SimpleNamespace
from foliot.cli import process
from foliot.core.threads import WORK

process.MARGIN, process.LEAVE = 1.0, 0.5

class App:
    settings = SimpleNamespace(shutdown_seconds=0.0, health_file=None)
    engine = asgi = store = None

    async def start(self):
        loop = asyncio.get_running_loop()
        self.stuck = [loop.run_in_executor(None, time.sleep, 600), asyncio.ensure_future(WORK.run(time.sleep, 600))]

    async def stop(self, grace):
        if sys.argv[1] == "drain":
            await asyncio.Event().wait()
        print("drained", flush=True)

app = App()
sys.exit(process.run(process.live(app, None, lambda: print("up", flush=True))))
"""


@pytest.mark.parametrize(("stuck", "code"), [("threads", 0), ("drain", 1)])
def test_sigterm_ends_a_process_whose_threads_do_not(stuck: str, code: int) -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, stuck], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert started.stdout is not None
        assert started.stdout.readline() == "up\n"
        started.send_signal(signal.SIGTERM)
        said, complained = started.communicate(timeout=30)
    finally:
        started.kill()
        started.communicate()

    assert started.returncode == code, complained
    assert said == ("drained\n" if stuck == "threads" else "")


async def test_work_that_hangs_keeps_no_request_waiting() -> None:
    let = threading.Event()
    hanging = [asyncio.ensure_future(WORK.run(let.wait, 50)) for _ in range(3 * WORK.size)]
    try:
        async with asyncio.timeout(30):
            names = {await REQUESTS.run(lambda: threading.current_thread().name) for _ in range(REQUESTS.size)}
        assert not any(one.done() for one in hanging)
    finally:
        let.set()
        await asyncio.gather(*hanging)

    assert all(name.startswith("foliot-request") for name in names)
