"""What every queue is put through: fill it, start its worker, time the drain, then single jobs on an idle worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

LONGEST = 90
SINGLES = 60
WHERE = "FOLIOT_BENCH_LATENCIES"


def body(sent: float | None = None) -> int:
    """Nothing; or, for a single job, the time since it was sent, noted in a file."""
    if sent is not None:
        with Path(os.environ[WHERE]).open("a", encoding="ascii") as notes:
            notes.write(f"{time.time() - sent:.6f}\n")
    return 1


def drain(
    count: int,
    enqueue: Callable[[int], None],
    one: Callable[[float], None],
    done: Callable[[], int],
    worker: Sequence[str],
) -> dict[str, float]:
    """Jobs per second from the first tenth to the last job, and the median of single jobs in milliseconds."""
    enqueue(count)
    with tempfile.TemporaryDirectory(prefix="foliot-bench-") as folder:
        notes = Path(folder) / "latencies"
        notes.touch()
        environment = {**os.environ, WHERE: str(notes), "PYTHONPATH": os.pathsep.join(sys.path)}
        running = subprocess.Popen(
            worker, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            answer = {"per_second": _rate(count, done)}
            time.sleep(0.5)
            for _ in range(SINGLES):
                one(time.time())
                time.sleep(0.03)
            time.sleep(1)
            taken = sorted(float(line) * 1e3 for line in notes.read_text(encoding="ascii").split())
            if taken:
                answer["idle_from_request_p50_ms"] = taken[len(taken) // 2]
        finally:
            _stop(running)
    return answer


def _rate(count: int, done: Callable[[], int]) -> float:
    begun, first = 0.0, 0
    limit = time.perf_counter() + LONGEST
    while (found := done()) < count:
        now = time.perf_counter()
        if not first and found >= count // 10:
            begun, first = now, found
        if now > limit:
            raise SystemExit(f"only {found} of {count} were done after {LONGEST} s")
        time.sleep(0.01)
    return (found - first) / (time.perf_counter() - begun)


def _stop(running: subprocess.Popen[bytes]) -> None:
    """End the worker and the processes it started: a process group of its own."""
    os.killpg(running.pid, signal.SIGTERM)
    try:
        running.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
