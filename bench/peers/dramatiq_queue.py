"""Dramatiq on Redis, results kept, two processes of eight threads. argv: database URL (not used), Redis URL, count."""

# The peers are optional: where they are not installed, nothing is known of their types.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, no-any-return, no-untyped-call"

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import dramatiq
import redis
from draining import body, drain
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

URL = os.environ.get("FOLIOT_BENCH_REDIS") or sys.argv[2]
AFTER = URL.rsplit("/", 1)[0] + f"/{int(URL.rsplit('/', 1)[1]) + 1}"
broker = RedisBroker(url=URL)
broker.add_middleware(Results(backend=RedisBackend(url=AFTER)))
dramatiq.set_broker(broker)


@dramatiq.actor(store_results=True, queue_name="foliot_bench", max_retries=0)
def noop(sent: float | None = None) -> int:
    return body(sent)


def enqueue(count: int) -> None:
    for _ in range(count):
        noop.send()


def main(count: int) -> dict[str, float]:
    queue, results = redis.Redis.from_url(URL), redis.Redis.from_url(AFTER)
    if queue.dbsize() or results.dbsize():
        raise SystemExit(f"{URL} and {AFTER} must be empty: name others with --redis")
    os.environ["FOLIOT_BENCH_REDIS"] = URL
    command = [sys.executable, "-m", "dramatiq", "dramatiq_queue", "--processes", "2", "--threads", "8"]
    try:
        return drain(count, enqueue, noop.send, lambda: int(str(results.dbsize())), command)
    finally:
        queue.flushdb()
        results.flushdb()


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[3]))))
