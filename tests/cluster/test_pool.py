"""Processes for heavy tasks: used again, replaced, killed when they must stop, and survived when they die."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from foliot.cluster.page_reader import AttemptInfo, CallResult, PoolCall, ProcessDied
from foliot.cluster.process_pool import ProcessPool

# Generous: the machine that runs the tests may have other things to do.
LONG = timedelta(seconds=50)
ATTEMPT = AttemptInfo(run_id="run_1", tenant_id="acme", schedule_id=None, attempt=1, max_attempts=4, scheduled_for=None)


@dataclass
class Heard:
    """What a function said, and that it began."""

    lines: list[str] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    began: asyncio.Event = field(default_factory=asyncio.Event)

    def log(self, message: str, level: str) -> None:
        self.lines.append(message)

    def progress(self, data: Mapping[str, Any]) -> None:
        self.steps.append(data)
        self.began.set()


def asked(function: str, **parameters: Any) -> PoolCall:
    return PoolCall(
        module="tests.heavy_tasks", function=function, task=function, parameters=parameters, attempt=ATTEMPT
    )


@pytest.fixture
async def pool() -> AsyncIterator[ProcessPool]:
    made = ProcessPool(size=2, most=3, grace=1.0)
    yield made
    await made.close()


async def call(pool: ProcessPool, function: str, **parameters: Any) -> CallResult:
    return await pool.call(asked(function, **parameters), Heard(), LONG)


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_nothing_runs_until_the_first_call_and_nothing_after_the_close() -> None:
    pool = ProcessPool(size=2)
    assert pool.processes == 0

    heard = Heard()
    told = await pool.call(asked("add", a=1, b="2"), heard, LONG)
    assert told.result["sum"] == 3
    assert (heard.lines, heard.steps) == (["adding 1 and 2"], [{"done": 1}])
    assert pool.processes == 1
    assert is_there(told.result["pid"])

    await pool.close()
    assert pool.processes == 0
    assert not is_there(told.result["pid"])
    with pytest.raises(ProcessDied, match="shutting down"):
        await call(pool, "add", a=1, b=1)


async def test_a_process_is_used_again_and_replaced_after_so_many_calls(pool: ProcessPool) -> None:
    pids = [(await call(pool, "add", a=number, b=1)).result["pid"] for number in range(4)]

    assert len(set(pids[:3])) == 1
    assert pids[3] != pids[0]
    assert not is_there(pids[0])


async def test_no_more_run_at_once_than_there_are_processes(pool: ProcessPool) -> None:
    pids = {told.result["pid"] for told in await asyncio.gather(*(call(pool, "add", a=n, b=1) for n in range(4)))}

    assert len(pids) <= 2
    assert pool.processes <= 2


async def test_what_a_function_raises_and_asks_for_comes_back(pool: ProcessPool) -> None:
    wrong = await call(pool, "raises")
    later = await call(pool, "again")
    odd = await call(pool, "add", a="x", b=1)

    assert wrong.error == "ValueError: no"
    assert "heavy_tasks.py" in wrong.trace
    assert later.retry_after == 60
    assert odd.permanent
    assert "a: input should be a valid integer" in (odd.error or "")


async def test_a_process_that_the_system_kills_is_a_failure_that_says_so_and_the_next_call_works(
    pool: ProcessPool,
) -> None:
    with pytest.raises(ProcessDied, match=r"signal 9 \(SIGKILL\); the operating system does that when memory runs out"):
        await call(pool, "killed")

    assert (await call(pool, "add", a=1, b=1)).result["sum"] == 2


async def test_one_that_is_killed_from_outside_in_the_middle(pool: ProcessPool) -> None:
    heard = Heard()
    running = asyncio.create_task(pool.call(asked("spin"), heard, LONG))
    await asyncio.wait_for(heard.began.wait(), 50)

    os.kill(heard.steps[0]["pid"], signal.SIGSEGV)

    with pytest.raises(ProcessDied, match="SIGSEGV"):
        await running


async def test_an_idle_process_that_died_is_not_used(pool: ProcessPool) -> None:
    pid = (await call(pool, "add", a=1, b=1)).result["pid"]
    os.kill(pid, signal.SIGKILL)

    for _ in range(2):
        # Whoever meets it before its death was noticed is told; nobody waits for ever.
        try:
            told = await call(pool, "add", a=2, b=2)
            break
        except ProcessDied:
            continue
    assert told.result["sum"] == 4
    assert told.result["pid"] != pid


async def test_leaving_by_oneself(pool: ProcessPool) -> None:
    with pytest.raises(ProcessDied, match="exited with code 7"):
        await call(pool, "leaves", how="hard")

    assert (await call(pool, "leaves", how="soft")).error == "RuntimeError: the task called sys.exit(7)"


async def test_one_that_does_not_stop_in_time_is_killed(pool: ProcessPool) -> None:
    heard = Heard()

    with pytest.raises(TimeoutError):
        await pool.call(asked("spin"), heard, timedelta(seconds=4))

    assert pool.processes == 0
    assert all(not is_there(step["pid"]) for step in heard.steps)


async def test_one_that_is_cancelled_is_asked_first_and_kept_if_it_listens(pool: ProcessPool) -> None:
    patient = ProcessPool(size=1, grace=50)
    heard = Heard()
    running = asyncio.create_task(patient.call(asked("polite"), heard, LONG))
    await asyncio.wait_for(heard.began.wait(), 50)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    pid = heard.steps[0]["pid"]
    assert (await call(patient, "add", a=1, b=1)).result["pid"] == pid
    await patient.close()
    assert not is_there(pid)


async def test_one_that_is_cancelled_and_deaf_is_killed(pool: ProcessPool) -> None:
    heard = Heard()
    running = asyncio.create_task(pool.call(asked("spin"), heard, LONG))
    await asyncio.wait_for(heard.began.wait(), 50)

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert not is_there(heard.steps[0]["pid"])


async def test_one_that_reads_nothing_any_more_is_killed_all_the_same(pool: ProcessPool) -> None:
    pid = (await call(pool, "add", a=1, b=1)).result["pid"]
    os.kill(pid, signal.SIGSTOP)

    # More than a pipe holds: neither the call nor the request to stop can be written to its end.
    stuck = asyncio.create_task(pool.call(asked("returns", value="x" * 1_000_000), Heard(), timedelta(seconds=1)))
    await asyncio.wait([stuck], timeout=30)

    assert stuck.done()
    assert isinstance(stuck.exception(), TimeoutError)
    assert not is_there(pid)


async def test_a_thread_that_a_call_leaves_behind_does_not_talk_into_the_next_one(pool: ProcessPool) -> None:
    first = await call(pool, "writes_on")
    heard = Heard()
    second = await pool.call(asked("add", a=1, b=1), heard, LONG)

    assert second.result["pid"] == first.result
    assert heard.lines == ["adding 1 and 1"]


async def test_a_module_that_is_not_there_is_named(pool: ProcessPool) -> None:
    there = asked("add")
    told = await pool.call(PoolCall(**{**_fields(there), "module": "tests.no_such"}), Heard(), LONG)

    assert (told.error or "").startswith("tests.no_such.add cannot be loaded: ModuleNotFoundError")


def _fields(call: PoolCall) -> dict[str, Any]:
    return {name: getattr(call, name) for name in ("module", "function", "task", "parameters", "attempt")}
