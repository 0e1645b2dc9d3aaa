"""Tasks of one's own. In this directory: `FOLIOT_TASKS=tasks foliot up`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from foliot import TaskContext, task

REPORTS = Path(os.environ.get("REPORTS", ".")).resolve()
"""The folder of reports: a path that a schedule gives leads nowhere else."""


@task("import_report", retries=20)
def import_report(ctx: TaskContext, path: Path) -> dict[str, Any]:
    """Count the lines of a report as soon as it is there."""
    report = (REPORTS / path).resolve()
    if not report.is_relative_to(REPORTS):
        ctx.give_up("only files in the folder of reports are read")
    if not report.exists():
        ctx.retry(after=1, reason=f"{report.name} is not there yet")
    lines = report.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        ctx.check_cancelled()
        ctx.logger.info("%s", line)
        ctx.progress(done=number, total=len(lines))
    return {"lines": len(lines), "attempts": ctx.attempt}


@task(
    "my_custom_task",
    queue="custom",
    retries=3,
    schedule="30 14 * * *",
    parameters={"param1": "param_value", "param2": 42},
)
async def my_custom_task(ctx: TaskContext, param1: str, param2: int) -> dict[str, Any]:
    """Custom task implementation."""
    ctx.logger.info("Starting custom task %s", ctx.run_id)
    return {"success": True, "data": f"{param1} {param2}"}


@task("count_primes", cpu=True)
def count_primes(below: Annotated[int, Field(ge=2, le=100_000_000)]) -> int:
    """Count the primes below a number, in a process of its own."""
    sieve = bytearray([1]) * below
    sieve[:2] = bytes(2)
    for number in range(2, int(below**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, below, number)))
    return sum(sieve)
