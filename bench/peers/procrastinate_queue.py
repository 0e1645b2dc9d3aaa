"""Procrastinate on PostgreSQL, one asyncio worker, ten at a time. argv: database URL, Redis URL (not used), count."""

# The peers are optional: where they are not installed, nothing is known of their types.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, no-any-return, no-untyped-call"

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import psycopg
from draining import body, drain
from procrastinate import App, PsycopgConnector
from sqlalchemy import make_url

URL = os.environ.get("FOLIOT_BENCH_URL") or make_url(sys.argv[1]).set(drivername="postgresql").render_as_string(
    hide_password=False
)
app = App(connector=PsycopgConnector(conninfo=URL), import_paths=["procrastinate_queue"])


@app.task(name="noop", queue="bench")
async def noop(sent: float | None = None) -> int:
    return body(sent)


async def _deferred(sent: float) -> None:
    await noop.defer_async(sent=sent)


async def _opened() -> None:
    await app.open_async()


def main(count: int) -> dict[str, float]:
    os.environ["FOLIOT_BENCH_URL"] = URL
    with psycopg.connect(URL, autocommit=True) as seen, asyncio.Runner() as runner:
        runner.run(_opened())
        row = seen.execute("SELECT to_regclass('procrastinate_jobs')").fetchone()
        if row is None or row[0] is None:
            runner.run(app.schema_manager.apply_schema_async())
        seen.execute("TRUNCATE procrastinate_jobs CASCADE")

        async def many(jobs: int) -> None:
            for start in range(0, jobs, 500):
                await noop.batch_defer_async(*[{} for _ in range(min(500, jobs - start))])

        def one(sent: float) -> None:
            runner.run(_deferred(sent))

        def done() -> int:
            found = seen.execute("SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'").fetchone()
            return int(found[0]) if found else 0

        command = [sys.executable, "-m", "procrastinate", "--app", "procrastinate_queue.app", "worker"]
        answer = drain(count, lambda jobs: runner.run(many(jobs)), one, done, [*command, "--concurrency", "10"])
        runner.run(app.close_async())
    return answer


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[3]))))
