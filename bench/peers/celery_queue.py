"""Plain Celery with a result backend in Redis, prefork, two processes. argv: broker URL, URL of the results, count."""

# The peers are optional: where they are not installed, nothing is known of their types.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, no-any-return, no-untyped-call"

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import redis
from celery import Celery
from draining import body, drain

BROKER = os.environ.get("FOLIOT_BENCH_BROKER") or sys.argv[1]
RESULTS = os.environ.get("FOLIOT_BENCH_RESULTS") or sys.argv[2]
QUEUE = "foliot_bench_plain"
app = Celery("celery_queue", broker=BROKER, backend=RESULTS)
app.conf.task_default_queue = QUEUE


@app.task
def noop(sent: float | None = None) -> int:
    return body(sent)


def enqueue(count: int) -> None:
    for _ in range(count):
        noop.delay()


def main(count: int) -> dict[str, float]:
    results = redis.Redis.from_url(RESULTS)
    if results.dbsize():
        raise SystemExit(f"{RESULTS} must be empty: name another with --results")
    os.environ["FOLIOT_BENCH_BROKER"], os.environ["FOLIOT_BENCH_RESULTS"] = BROKER, RESULTS
    command = [
        sys.executable, "-m", "celery", "-A", "celery_queue", "worker", "--concurrency", "2", "--queues", QUEUE,
        "--without-gossip", "--without-mingle", "--loglevel", "error",
    ]  # fmt: skip
    try:
        return drain(count, enqueue, noop.delay, lambda: len(results.keys("celery-task-meta-*")), command)
    finally:
        app.control.purge()
        results.flushdb()


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[3]))))
