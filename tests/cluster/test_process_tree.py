"""The supervisor of a program: nothing that the program has started outlives the program, the supervisor or us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.cluster import process_tree
from foliot.cluster.machine import ChildLimits
from foliot.cluster.page_reader import ProcessDied
from foliot.cluster.process_pool import ProcessPool
from tests.cluster.test_pool import Heard, asked, is_there

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs prctl and /proc")

DAEMON = """
import os, sys, time
def note(): open(sys.argv[1], "a").write(f"{os.getpid()}\\n")
note()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note()
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(float(sys.argv[2]))
"""
"""Leaves a process behind in a session of its own, as daemons and the crash handlers of browsers do."""


def supervised(pids: Path, seconds: float, memory: int = 0, program: str = DAEMON) -> list[str]:
    command = [sys.executable, "-c", program, str(pids), str(seconds)]
    return [sys.executable, "-I", "-S", process_tree.__file__, str(os.getpid()), str(memory), *command]


def started(pids: Path, many: int = 2) -> list[int]:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found = pids.read_text().split() if pids.exists() else []
        if len(found) >= many:
            return [int(each) for each in found]
        time.sleep(0.02)  # noqa: TID251 -- another process's file
    raise AssertionError(f"{many} processes did not start")


def all_gone(pids: list[int], seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while any(is_there(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)  # noqa: TID251 -- other processes
    return True


def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    ended = subprocess.run(supervised(tmp_path / "pids", 0), check=False, timeout=30)
    assert ended.returncode == 0
    assert all_gone(started(tmp_path / "pids"))


def test_asking_the_supervisor_to_end_kills_all_of_it(tmp_path: Path) -> None:
    process = subprocess.Popen(supervised(tmp_path / "pids", 600))
    pids = started(tmp_path / "pids")
    process.terminate()
    process.wait(timeout=10)
    assert all_gone(pids)


def test_nothing_is_left_when_the_parent_is_killed(tmp_path: Path) -> None:
    command = supervised(tmp_path / "pids", 600)
    code = "import os, subprocess, sys; a = sys.argv[1:]; a[4] = str(os.getpid()); subprocess.Popen(a).wait()"
    parent = subprocess.Popen([sys.executable, "-c", code, *command])
    pids = started(tmp_path / "pids")
    parent.kill()
    parent.wait(timeout=10)
    assert all_gone(pids)


def test_the_program_dies_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    process = subprocess.Popen(supervised(tmp_path / "pids", 600))
    program, daemon = started(tmp_path / "pids")
    process.kill()
    process.wait(timeout=10)
    assert all_gone([program])
    os.kill(daemon, signal.SIGKILL)


def test_a_tree_that_grows_too_large_is_killed(tmp_path: Path) -> None:
    hoard = DAEMON.replace("time.sleep(600)", "kept = bytearray(os.urandom(1024)) * 300_000; time.sleep(600)")
    ended = subprocess.run(supervised(tmp_path / "pids", 600, 100 * 1024 * 1024, hoard), check=False, timeout=40)
    assert ended.returncode == process_tree.TOO_MUCH_MEMORY
    assert all_gone(started(tmp_path / "pids"))


def test_the_exit_code_and_the_signal_of_the_program_are_passed_on(tmp_path: Path) -> None:
    exits = subprocess.run(supervised(tmp_path / "a", 0, program="raise SystemExit(7)"), check=False, timeout=30)
    assert exits.returncode == 7
    aborts = subprocess.run(
        supervised(tmp_path / "b", 0, program="import os; os.kill(os.getpid(), 9)"), check=False, timeout=30
    )
    assert aborts.returncode == -signal.SIGKILL


def test_a_supervisor_whose_parent_is_gone_already_starts_nothing(tmp_path: Path) -> None:
    command = supervised(tmp_path / "pids", 600)
    command[4] = "1"
    assert subprocess.run(command, check=False, timeout=30).returncode == 1
    assert not (tmp_path / "pids").exists()


async def test_a_call_that_takes_too_long_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    pool = ProcessPool(size=1, grace=0.1, bounds=ChildLimits(tree=0))
    with pytest.raises(TimeoutError):
        await pool.call(asked("leaves_a_daemon", note=str(tmp_path / "pids")), Heard(), timedelta(seconds=3))
    assert all_gone(started(tmp_path / "pids", 1))
    told = await pool.call(asked("add", a=1, b="2"), Heard(), timedelta(seconds=50))
    assert told.result["sum"] == 3
    await pool.close()
    assert await asyncio.to_thread(all_gone, [told.result["pid"]])


async def test_a_process_that_hoards_memory_with_what_it_has_started_is_reported() -> None:
    pool = ProcessPool(size=1, grace=0.1, bounds=ChildLimits(tree=150 * 1024 * 1024))
    with pytest.raises(ProcessDied, match="more memory than allowed"):
        await pool.call(asked("hoards"), Heard(), timedelta(seconds=50))
    await pool.close()
