"""Environment and limits of a child process: no secret of its parent, and bounded resources."""

from __future__ import annotations

import asyncio
import ctypes
import signal
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from foliot.cluster import machine, page_reader
from foliot.cluster.machine import PLACE, PYTHON, ChildLimits, environment
from foliot.cluster.page_reader import PoolCall, ProcessDied
from foliot.cluster.process_pool import Child, ProcessPool, reader_pool
from foliot.config.parse import SettingsError
from foliot.config.settings import Settings
from foliot.features.tasks.wiring import task_bounds
from tests import heavy_tasks
from tests.cluster.test_pool import ATTEMPT, LONG, Heard, asked

SECRETS = {"FOLIOT_JWT_SECRET": "hunter2-hunter2-hunter2", "DATABASE_URL": "postgresql://u:pw@db/x", "SHOP_TOKEN": "t"}
MEBIBYTE = 1024 * 1024


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def reads(function: Any, **parameters: Any) -> PoolCall:
    return page_reader.asked(function.__module__, function.__name__, parameters, b"")


async def told(pool: ProcessPool) -> dict[str, Any]:
    try:
        return (await pool.call(asked("told"), Heard(), LONG)).result  # type: ignore[no-any-return]
    finally:
        await pool.close()


async def test_a_reader_is_told_nothing_and_may_start_nothing() -> None:
    found = await told(reader_pool(machine.ReaderCapacity(1, 300 * MEBIBYTE)))

    assert set(found["environ"]) <= set(PYTHON)
    assert found["no_new_privs"] == "1"
    assert found["memory"] == 300 * MEBIBYTE
    assert found["files"] == [64, 64]
    assert found["processes"] == [0, 0]
    assert found["cores"] == 0
    assert found["seconds"] < LONG.total_seconds() + 30


async def test_a_task_is_told_where_it_is_and_what_the_operator_names() -> None:
    settings = Settings.load({"FOLIOT_TASK_ENV": "SHOP_TOKEN, NOT_THERE"})
    pool = ProcessPool(size=1, bounds=task_bounds(), environment=environment((*PLACE, *settings.task_env)))
    found = await told(pool)

    assert "SHOP_TOKEN" in found["environ"]
    assert set(found["environ"]) <= {*PYTHON, *PLACE, "SHOP_TOKEN"}
    assert found["no_new_privs"] == "1"
    assert found["memory"] < machine.memory()
    assert (found["files"][0], found["processes"][0]) <= (4096, 4096)


@pytest.mark.parametrize("given", ["FOLIOT_JWT_SECRET", "A-B", "A B", "foliot_secret_key"])
def test_what_is_no_variable_or_a_setting_of_ours_cannot_be_named(given: str) -> None:
    with pytest.raises(SettingsError, match="FOLIOT_TASK_ENV"):
        Settings.load({"FOLIOT_TASK_ENV": given})


async def test_one_that_takes_more_memory_than_its_share_fails_by_itself() -> None:
    pool = reader_pool(machine.ReaderCapacity(1, 300 * MEBIBYTE))
    try:
        held = await pool.call(reads(heavy_tasks.hold, gigabytes=1), Heard(), LONG)
        after = await pool.call(reads(heavy_tasks.hold, gigabytes=0), Heard(), LONG)
    finally:
        await pool.close()

    assert (held.error or "").startswith("MemoryError")
    assert after.result == 0


async def test_one_that_computes_for_longer_than_its_call_may_is_ended_though_its_parent_does_nothing() -> None:
    child = await Child.start(ChildLimits(), environment())
    spin = asked("spin")
    call = {"module": spin.module, "function": "spin", "task": "spin", "parameters": {}, "attempt": asdict(ATTEMPT)}
    await child.send({"call": call, "number": 1, "seconds": 0.1})
    async with asyncio.timeout(50):
        await child.process.wait()

    assert child.process.returncode == -signal.SIGXCPU


async def test_loading_is_not_the_time_of_the_first_call() -> None:
    pool = ProcessPool(size=1, grace=0.1, warm_up=reads(heavy_tasks.naps, seconds=2.2))
    try:
        # A start of its own and what it loads take longer than this; what is asked for does not.
        async with asyncio.timeout(50):
            slept = await pool.call(reads(heavy_tasks.naps, seconds=0.0), Heard(), heavy_tasks.MOMENT)
    finally:
        await pool.close()

    assert slept.result == 0.0


async def test_one_that_dies_while_it_loads_is_not_left_behind() -> None:
    pool = ProcessPool(size=1, warm_up=PoolCall(module="os", function="abort", task="", parameters={}, attempt=ATTEMPT))
    with pytest.raises(ProcessDied):
        await pool.call(asked("told"), Heard(), LONG)

    assert pool.processes == 0
    await pool.close()


# --- the machine ------------------------------------------------------------------------------------------------------


def test_readers_share_what_the_cgroup_gives() -> None:
    small, large = machine.ReaderCapacity.of(2, 1024 * MEBIBYTE), machine.ReaderCapacity.of(8, 64 * 1024 * MEBIBYTE)

    assert (small.many, small.memory) == (2, 192 * MEBIBYTE), "the worker's pod of deploy/"
    assert small.memory * small.many * machine.POOLS + machine.OURS <= 1024 * MEBIBYTE
    assert (large.many, large.memory) == (8, 1024 * MEBIBYTE)
    assert machine.ReaderCapacity.of(64, 1024 * MEBIBYTE).many == 2, "a node has many cores, and the pod little memory"
    assert machine.ReaderCapacity.of(4, 100 * MEBIBYTE) == machine.ReaderCapacity(1, 192 * MEBIBYTE)


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/", {"memory.max": "1073741824\n", "cpu.max": "100000 100000\n"}),
        (
            "0::/pod/one",
            {"pod/memory.max": "1073741824\n", "pod/one/memory.max": "max\n", "pod/cpu.max": "50000 100000"},
        ),
        (
            "4:memory:/pod\n1:cpu,cpuacct:/pod",
            {
                "memory/pod/memory.limit_in_bytes": "1073741824",
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "cpu,cpuacct/pod/cpu.cfs_quota_us": "100000",
                "cpu,cpuacct/pod/cpu.cfs_period_us": "100000",
            },
        ),
    ],
)
def test_the_limits_of_a_cgroup_are_found(own: str, files: dict[str, str], tmp_path: Path) -> None:
    groups = tmp_path / "cgroup"
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    (tmp_path / "own").write_text(f"{own}\n")

    assert machine.memory(groups, tmp_path / "own") == 1024 * MEBIBYTE
    assert machine.cores(groups, tmp_path / "own") == 1


def test_without_a_cgroup_there_is_the_machine(tmp_path: Path) -> None:
    assert machine.memory(tmp_path, tmp_path / "none") > 100 * MEBIBYTE
    assert machine.cores(tmp_path, tmp_path / "none") >= 1


async def test_whoever_has_started_a_child_is_not_shown_to_it() -> None:
    await told(ProcessPool(size=1))

    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0, "PR_GET_DUMPABLE"
