"""Tasks of the operator in the campaign `isolation`: one for every tenant, one for the operator's own."""

from __future__ import annotations

import os

from foliot import TaskContext, task


@task("flood", tenants="all")
def flood(ctx: TaskContext, lines: int) -> int:
    """Log as fast as possible."""
    for number in range(lines):
        if number % 1_000 == 0:
            ctx.check_cancelled()
        ctx.logger.info("line %d of a log that nobody will read, long enough to be one of a real spider", number)
    return lines


@task("operators_own")
def operators_own() -> list[str]:
    """Reads what only the operator may: the environment of this process."""
    return sorted(os.environ)
