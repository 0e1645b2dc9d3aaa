"""Tasks that give the pages something to show: long logs, loud ones, large results."""

from __future__ import annotations

import asyncio
from typing import Any

from foliot import TaskContext, task

TRAP = "<img src=/nowhere onerror=\"window.pwned=1\"><script>window.pwned=1</script><b id='made'>bold</b>"


@task("write_slowly")
async def write_slowly(ctx: TaskContext, count: int, pause: float = 0.1) -> int:
    """Write a line now and then, until all are written or somebody asks to stop."""
    for number in range(1, count + 1):
        if ctx.cancelled:
            return number
        ctx.logger.info("tick %d", number)
        await asyncio.sleep(pause)
    return count


@task("set_a_trap")
async def set_a_trap(ctx: TaskContext) -> dict[str, Any]:
    """Write what a page must show and never obey."""
    ctx.logger.error("%s", TRAP)
    ctx.logger.info("\x1b[31mred\x1b[0m and %s", "x" * 16_000)
    return {"html": TRAP}


@task("return_much")
async def return_much(ctx: TaskContext, mebibytes: int) -> list[str]:
    """Return more than anybody wants to look at."""
    return ["y" * 1023] * (1024 * mebibytes)


@task("return_exactly")
async def return_exactly(ctx: TaskContext, size: int) -> list[str]:
    """Return a result of so many bytes of JSON."""
    rows, rest = divmod(size - 2, 1024)
    return [*(["y" * 1021] * (rows - 1)), "z" * (1021 + rest + 1)]


@task("stumble")
async def stumble(ctx: TaskContext) -> str:
    """Fail at first, and write the lines that crawls write."""
    for number in range(3 * ctx.attempt):
        ctx.logger.warning("Retrying <GET https://shop.example/p/%d> (failed 1 times): 503", number)
    ctx.logger.info("Redirecting (302) to <GET https://shop.example/> from <GET https://shop.example/old>")
    ctx.logger.info("this is attempt %d", ctx.attempt)
    if ctx.attempt == 1:
        raise ConnectionError("the shop is closed")
    return "done"
