"""Huey on SQLite, two threads, results kept. argv: database URL (not used), Redis URL (not used), count."""

# The peers are optional: where they are not installed, nothing is known of their types.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, no-any-return, no-untyped-call"

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from draining import body, drain
from huey import SqliteHuey

FILE = os.environ.setdefault("FOLIOT_BENCH_HUEY", str(Path(tempfile.mkdtemp(prefix="foliot-bench-")) / "huey.db"))
huey = SqliteHuey("bench", filename=FILE)


@huey.task()
def noop(sent: float | None = None) -> int:
    return body(sent)


def enqueue(count: int) -> None:
    for _ in range(count):
        noop()


def main(count: int) -> dict[str, float]:
    consumer = str(Path(sys.executable).with_name("huey_consumer"))
    try:
        return drain(
            count, enqueue, noop, huey.storage.result_store_size, [consumer, "huey_queue.huey", "-w", "2", "-q"]
        )
    finally:
        huey.storage.close()
        for file in Path(FILE).parent.iterdir():
            file.unlink()
        Path(FILE).parent.rmdir()


if __name__ == "__main__":
    import huey_queue  # a task is known by its module, and to the consumer this one is not `__main__`

    print(json.dumps(huey_queue.main(int(sys.argv[3]))))
