"""Supervisor of several server processes: forks them, restarts those that die, and stops all of them together."""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import structlog
import typer

from foliot.cli.process import MARGIN, RESTART, STOPPED_AT_ONCE
from foliot.core.errors import Conflict

if TYPE_CHECKING:
    from foliot.features.health.health_file import JointHealthFile

DEATHS, WINDOW = 5, 60.0
"""After so many deaths within so many seconds the supervisor gives up, so that its own supervisor sees it."""
FIRST_DELAY = 1.0
"""Pause before a second restart within the window; each further one doubles it. The first is immediate."""
RESTART_STATUS = 96
"""Exit status of a process that an operator asked to restart."""
LONGEST_TEXT = 65_536

log = structlog.get_logger("foliot.supervisor")


@dataclass(slots=True)
class ServerProcess:
    """One of the processes, as it sees itself: its number, and its pipes to the supervisor."""

    number: int
    control: int
    """Reads one byte for each request to stop; its end means that the supervisor is gone."""
    ready: int

    def announce(self, text: str) -> None:
        """Report that it serves, with the text to print; the first process describes the installation."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.ready, text.encode()[:LONGEST_TEXT] or b"\n")
        os.close(self.ready)


@dataclass(slots=True)
class SupervisedProcess:
    """A process, as the supervisor sees it."""

    number: int
    pid: int
    control: int
    ready: int | None
    """Where it reports that it serves; None after that."""
    said: bytes = b""


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """Runs no event loop and starts no thread, so that a fork at any time is safe."""

    count: int
    serve: Callable[[ServerProcess], int]
    announce: Callable[[str, list[int]], None]
    """Called once, with the text of the first process and all process ids, when every process serves."""
    grace: float
    health: JointHealthFile | None = None
    _children: dict[int, SupervisedProcess] = field(default_factory=dict)
    """By number."""
    _due: dict[int, float] = field(default_factory=dict)
    """When to start the missing ones."""
    _deaths: deque[float] = field(default_factory=deque)
    _announced: bool = False
    _signals: int = 0
    _stopping: bool = False
    _stop_by: float = 0.0
    _failed: int = 0
    _first: str = ""

    def run(self) -> int:
        """Until all processes have ended; returns the exit code."""
        with _signals_in_a_pipe() as heard:
            # The first migrates the database: what is wrong with that is reported once.
            self._start(1)
            while self._children or self._due:
                self._wait(heard)
                for each in _read(heard):
                    if each in {signal.SIGTERM, signal.SIGINT}:
                        self._signalled()
                self._reap()
                self._start_due()
                self._overdue()
        if self.health is not None:
            self.health.remove()
        return STOPPED_AT_ONCE if self._signals > 1 else self._failed

    # --- waiting ------------------------------------------------------------------------------------------------------

    def _wait(self, heard: int) -> None:
        pipes = {child.ready: child for child in self._children.values() if child.ready is not None}
        for end in select.select([heard, *pipes], [], [], self._patience())[0]:
            if end != heard:
                self._hear(pipes[end])
        if self.health is not None and self._announced and not self._stopping:
            self.health.write()

    def _patience(self) -> float:
        moments = [*self._due.values(), *([self._stop_by] if self._stop_by else [])]
        left = min((moment - time.monotonic() for moment in moments), default=WINDOW)
        return max(min(left, WINDOW if self.health is None else self.health.period), 0.0)

    def _hear(self, child: SupervisedProcess) -> None:
        assert child.ready is not None  # noqa: S101 -- only such are waited for
        text = os.read(child.ready, LONGEST_TEXT)
        child.said += text
        if text:
            return
        os.close(child.ready)
        child.ready = None
        if child.said:
            self._serves(child)

    def _serves(self, child: SupervisedProcess) -> None:
        if self._announced:
            log.info("the process is ready", action="process_ready", process=child.number, pid=child.pid)
            return
        if child.number == 1:
            self._first = child.said.decode()
            for number in range(2, self.count + 1):
                if not self._stopping:
                    self._start(number)
        if len(self._children) == self.count and all(each.ready is None for each in self._children.values()):
            self._announced = True
            self.announce(self._first, [each.pid for each in self._children.values()])

    # --- starting -----------------------------------------------------------------------------------------------------

    def _start(self, number: int) -> None:
        told, control = os.pipe()
        ready, serves = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(control)
            os.close(ready)
            self._become(ServerProcess(number, told, serves))
        os.close(told)
        os.close(serves)
        self._children[number] = SupervisedProcess(number, pid, control, ready)

    def _become(self, own: ServerProcess) -> NoReturn:
        """The rest of the life of a new process; it never returns into the supervisor's code."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            # Ctrl-C reaches every process of the terminal; the supervisor passes it on.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for sibling in self._children.values():
                # With a copy of these, a sibling would not see the end of the supervisor.
                os.close(sibling.control)
                if sibling.ready is not None:
                    os.close(sibling.ready)
            code = self.serve(own)
        except typer.Exit as ended:
            code = ended.exit_code
        except BaseException:  # noqa: BLE001 -- the process ends here, and says why
            traceback.print_exc()
        finally:
            logging.shutdown()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
            os._exit(RESTART_STATUS if code == RESTART else code)

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [number for number, moment in self._due.items() if moment <= now]:
            del self._due[number]
            self._start(number)

    # --- ending -------------------------------------------------------------------------------------------------------

    def _signalled(self) -> None:
        """The first signal asks every process to drain, the second ends them at once."""
        self._signals += 1
        self._stop()

    def _stop(self) -> None:
        self._due.clear()
        self._stopping, self._stop_by = True, time.monotonic() + self.grace + 2 * MARGIN
        if self.health is not None:
            self.health.remove()
        for child in self._children.values():
            with contextlib.suppress(BrokenPipeError):
                os.write(child.control, b"s")

    def _overdue(self) -> None:
        """Each process ends itself when its drain takes too long; this is for one that is suspended or stuck."""
        if self._stop_by and time.monotonic() >= self._stop_by:
            for child in self._children.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
            self._stop_by = 0.0

    def _reap(self) -> None:
        for child in [*self._children.values()]:
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                while child.ready is not None:
                    # It may have reported just before it ended.
                    self._hear(child)
                del self._children[child.number]
                os.close(child.control)
                self._ended(child, os.waitstatus_to_exitcode(status))

    def _ended(self, child: SupervisedProcess, code: int) -> None:
        if self.health is not None:
            self.health.forget(child.number)
        if self._stopping:
            self._failed = self._failed or (0 if code in {0, RESTART_STATUS} else 1)
            return
        if not self._announced:
            # It has said why. The others would fail the same way.
            self._failed = code if code > 0 else 1
            self._stop()
            return
        about = {"process": child.number, "pid": child.pid, "exit_code": code}
        if code == RESTART_STATUS:
            log.info("the process restarts at an operator's request", action="process_restarted", **about)
            self._due[child.number] = time.monotonic()
            return
        now = time.monotonic()
        self._deaths.append(now)
        while self._deaths[0] < now - WINDOW:
            self._deaths.popleft()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        if len(self._deaths) >= DEATHS:
            text = "too many processes ended within a minute; ending all of them"
            log.error(text, action="supervisor_gave_up", ends=len(self._deaths), how=how, **about)
            self._failed = 1
            self._stop()
            return
        delay = 0.0 if len(self._deaths) == 1 else FIRST_DELAY * 2 ** (len(self._deaths) - 2)
        log.error("a process ended; starting another", action="process_ended", how=how, delay=delay, **about)
        self._due[child.number] = now + delay


@contextlib.contextmanager
def _signals_in_a_pipe() -> Iterator[int]:
    """Signals as bytes that `select` waits for, instead of code that runs between any two lines."""
    if not hasattr(os, "fork"):
        raise Conflict("several processes need a system with fork; run one process here (--processes 1)")
    heard, woken = os.pipe()
    os.set_blocking(heard, False)
    os.set_blocking(woken, False)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    previous = signal.set_wakeup_fd(woken)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(previous)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(heard)
        os.close(woken)


def _read(heard: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(heard, 4096)
    return b""
