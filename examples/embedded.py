"""A program with Foliot inside: it says hello every second until Ctrl-C.

.venv/bin/python examples/embedded.py [sqlite:///jobs.db | postgresql://user:password@host/name]
"""

from __future__ import annotations

import sys

from foliot import Scheduler, task


@task("say_hello", retries=2)
def say_hello(name: str) -> dict[str, str]:
    print(f"hello {name}", flush=True)
    return {"greeted": name}


scheduler = Scheduler(
    db_url=sys.argv[1] if len(sys.argv) > 1 else None,
    timezone="Europe/Stockholm",
    # Schedules of an earlier start fire at once, before `add` is reached: they need their function from the beginning.
    tasks=[say_hello],
)


async def begin() -> None:
    # Added at every start, there once: the name decides.
    await scheduler.add(say_hello, "every 1s", parameters={"name": "reader"})
    await scheduler.add(say_hello, "0 9 * * 1-5", name="every-morning", parameters={"name": "morning"})
    for schedule in await scheduler.list():
        print(f"{schedule.name}: {schedule.spec.trigger.summary}", flush=True)


if __name__ == "__main__":
    scheduler.run(begin)
