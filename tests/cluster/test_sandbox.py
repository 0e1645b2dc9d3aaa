"""A reader in an attacker's hands: it reaches no file, no network and no process, and still reads pages."""

from __future__ import annotations

import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foliot.cluster import machine, sandbox
from foliot.cluster.page_reader import SILENCE, asked
from foliot.cluster.process_pool import SAMPLE, ProcessPool, reader_pool
from tests import heavy_tasks
from tests.cluster.test_pool import LONG
from tests.net.outside import serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own sandboxes are Linux's")

FILES = {"read a file", "list a folder", "write a file", "delete a file", "read its parent's memory"}
CALLS = {"open a socket", "start a program", "start a process", "signal its parent"}
HARMLESS = {"load a module"}


async def test_a_reader_that_is_taken_over_reaches_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    pool = reader_pool(machine.ReaderCapacity(1, 300 * 1024 * 1024))
    try:
        async with serving() as decoy:
            parameters = {"secret": str(secret), "folder": str(tmp_path), "port": decoy.port}
            call = asked(heavy_tasks.__name__, heavy_tasks.breaks_out.__name__, parameters, b"")
            result = (await pool.call(call, SILENCE, LONG)).result
    finally:
        await pool.close()

    refused = (FILES if sandbox.landlock_version() else set()) | (CALLS if sandbox.has_seccomp() else set())
    assert {name for name, how in result.items() if how == "done"}.isdisjoint(refused)
    assert {name for name, how in result.items() if how == "done"} >= HARMLESS
    assert decoy.connections == 0 or not refused
    assert secret.exists() or not sandbox.landlock_version()


async def test_a_sealed_reader_still_reads_pages() -> None:
    pool = reader_pool(machine.ReaderCapacity(1, 300 * 1024 * 1024))
    about = {"content_type": "text/html", "url": "http://localhost/"}
    try:
        answer = await pool.call(asked("foliot.pages.article", "extract", about, SAMPLE), SILENCE, LONG)
    finally:
        await pool.close()
    assert answer.error is None
    assert "bright cold day" in str(answer.result)


def test_a_sealed_process_may_still_abort() -> None:
    """The C library aborts by a signal to itself."""
    code = "import os; from foliot.cluster import machine as m; m.confine({'sealed': True}); os.abort()"
    ended = subprocess.run([sys.executable, "-c", code], check=False, timeout=30)
    assert ended.returncode == -signal.SIGABRT


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_the_filter_of_each_architecture_is_well_formed(name: str) -> None:
    program = sandbox._program(name, 1)
    steps = [program[at : at + 8] for at in range(0, len(program), 8)]
    assert len(program) % 8 == 0
    assert len(steps) < 4096
    for at, step in enumerate(steps):
        code, yes, no = int.from_bytes(step[:2], sys.byteorder), step[2], step[3]
        assert at + 1 + max(yes, no) < len(steps) or code == sandbox._RETURN
    assert steps[-1] == sandbox._step(sandbox._RETURN, sandbox._ALLOW)


def test_a_process_that_is_not_told_to_be_sealed_is_not() -> None:
    assert not ProcessPool(size=1).bounds.sealed
    assert machine.ChildLimits(**machine.ChildLimits(sealed=True).as_dict()).sealed  # type: ignore[arg-type]
    assert platform.machine() not in {"x86_64", "aarch64"} or sandbox.has_seccomp()
