"""One program: started with an environment of its own, its output read as lines, killed with all it has started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from foliot.cluster import process_tree
from foliot.cluster.machine import hide_from_children
from foliot.core.ports import BackPressure

GRACE = 5.0
"""Seconds that a program has after SIGTERM, before it and everything that it has started is killed."""
CHUNK = 64 * 1024
LONGEST_LINE = 16 * 1024
"""Bytes; a longer line is split."""
PassLine = Callable[[str, str], None]
"""Takes a line of output and the name of its stream: `stdout` or `stderr`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start."""

    path: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    cwd: str
    stdin: str = ""
    grace: float = GRACE

    async def run(self, pass_line: PassLine, room: BackPressure) -> int:
        """Its exit code, negative for a signal. Cancelled: it is killed, with everything that it has started."""
        hide_from_children()
        process = await asyncio.create_subprocess_exec(
            *self._command(),
            stdin=PIPE if self.stdin else DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self.cwd,
            env=dict(self.environment),
            start_new_session=True,
        )
        try:
            await asyncio.gather(
                self._feed(process),
                _read(process.stdout, "stdout", pass_line, room),
                _read(process.stderr, "stderr", pass_line, room),
            )
            return await process.wait()
        finally:
            await asyncio.shield(self._end(process))

    def _command(self) -> list[str]:
        program = [self.path, *self.arguments]
        if sys.platform != "linux":
            # No subreaper: what leaves the process group by itself is out of reach.
            return program
        bounds = f"0:{self.grace:g}"
        return [sys.executable, "-I", "-S", process_tree.__file__, str(os.getpid()), bounds, *program]

    async def _feed(self, process: Process) -> None:
        if process.stdin is None:
            return
        with contextlib.suppress(ConnectionError):
            process.stdin.write(self.stdin.encode("utf-8", "replace"))
            await process.stdin.drain()
        process.stdin.close()

    async def _end(self, process: Process) -> None:
        """Its supervisor passes SIGTERM on, waits for the grace period, and kills the tree."""
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM, group=sys.platform != "linux")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.grace + process_tree.LOOK * 4):
                    await process.wait()
        _signal(process.pid, signal.SIGKILL, group=True)
        await process.wait()


def _signal(pid: int, number: signal.Signals, *, group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


async def _read(stream: asyncio.StreamReader | None, name: str, pass_line: PassLine, room: BackPressure) -> None:
    """Lines as they come; the program waits while the log has no room."""
    assert stream is not None  # noqa: S101 -- asked for above
    rest = b""
    while chunk := await stream.read(CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            _pass(line, name, pass_line)
        while len(rest) > LONGEST_LINE:
            _pass(rest[:LONGEST_LINE], name, pass_line)
            rest = rest[LONGEST_LINE:]
        await room()
    if rest:
        _pass(rest, name, pass_line)


def _pass(line: bytes, name: str, pass_line: PassLine) -> None:
    text = line.rstrip(b"\r").decode("utf-8", "replace")
    for start in range(0, max(len(text), 1), LONGEST_LINE):
        pass_line(text[start : start + LONGEST_LINE], name)
