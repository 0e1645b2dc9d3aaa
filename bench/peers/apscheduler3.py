"""APScheduler 3 with its SQLAlchemy job store on PostgreSQL: many schedules due at one instant.

argv: database URL, how many. Prints one JSON object.
"""

# The peers are optional: where they are not installed, nothing is known of their types.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, no-any-return, no-untyped-call"

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import make_url

LONGEST = 60
ran: list[float] = []


def fire() -> None:
    ran.append(time.time())


def scheduler(url: str) -> Any:
    database = make_url(url).set(drivername="postgresql+psycopg")
    store = SQLAlchemyJobStore(database.render_as_string(hide_password=False), tablename="apscheduler_jobs")
    return BackgroundScheduler(jobstores={"default": store}, timezone="UTC")


def main(url: str, count: int) -> dict[str, float]:
    filling = scheduler(url)
    filling.start(paused=True)
    filling.remove_all_jobs()
    due = time.time() + 3 + count * 0.002
    moment = datetime.fromtimestamp(due, UTC)
    trigger = IntervalTrigger(hours=1, start_date=moment, timezone="UTC")
    for at in range(count):
        filling.add_job("peers.apscheduler3:fire", trigger, id=str(at), next_run_time=moment, misfire_grace_time=3600)
    filling.shutdown()
    firing = scheduler(url)
    firing.start()
    due = max(due, time.time())
    time.sleep(due - time.time())
    from peers import apscheduler3

    seen = apscheduler3.ran  # the job runs in the imported module, not in this one
    while len(seen) < count and time.time() < due + LONGEST:
        time.sleep(0.01)
    last = max(seen) - due
    return {"per_second": len(seen) / last, "last_late_s": last, "ran": float(len(seen))}


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 -- where `child` starts us
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))), flush=True)
    os._exit(0)  # its threads would wait for more
