"""Supervisor of one program: kills everything that the program has started, however deep, when it or our parent ends.

A program of its own, started by its path with the standard library alone:
`process_tree.py PARENT MEMORY[:GRACE] program …`. A subreaper (prctl) inherits every process whose parent is gone, so
that none escapes by a double fork or a session of its own. Where the kernel has no subreapers, the process group is
killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping

PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36
"""Options of prctl(2)."""
LOOK = 0.25
"""Seconds between two looks at the memory of the tree."""
TOO_MUCH_MEMORY = 137
"""Exit code when the tree was killed because of its memory."""
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_PPID = 1
"""Field of /proc/PID/stat after the command's name."""


def control(option: int, value: int) -> bool:
    """prctl(2), where it exists."""
    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0)
    return False


def parents() -> Mapping[int, int]:
    """The parent of every process that can be seen."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 -- the fastest way: this is done several times a second
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    found[int(name)] = int(_read(f"/proc/{name}/stat").rpartition(")")[2].split()[_PPID])
    return found


def descendants(root: int) -> Iterator[int]:
    """Every process below this one, parents first."""
    below: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        below.setdefault(parent, []).append(pid)
    waiting = below.get(root, [])
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += below.get(pid, [])


def memory_of(pids: Iterator[int]) -> int:
    """Bytes that belong to these processes alone: resident, without what is shared or mapped from files."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            _, resident, shared, *_ = _read(f"/proc/{pid}/statm").split()
            total += max(int(resident) - int(shared), 0) * _PAGE
    return total


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 -- see above
        return file.read()


def kill_tree() -> None:
    """Kill until nothing is left: a process may start another while it is being killed."""
    for _ in range(200):
        pids = list(descendants(os.getpid()))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not pids:
            return
        time.sleep(0.01)  # noqa: TID251 -- a process without an event loop


def start(program: list[str]) -> int:
    """The process of the program; it dies with this one even when this one is killed."""
    pid = os.fork()
    if pid:
        return pid
    try:
        control(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execv(program[0], program)  # noqa: S606 -- as an exec of ours: no shell is wanted
    finally:
        os._exit(127)


def supervise(pid: int, most: int, grace: float) -> int:
    """Wait for the program, for a request to end, or for too much memory; the exit code.

    After a request to end the program has `grace` seconds to end by itself: each process of the tree gets SIGTERM.
    """
    code = None
    while code is None:
        if most and memory_of(descendants(os.getpid())) > most:
            return TOO_MUCH_MEMORY
        got = signal.sigtimedwait({signal.SIGCHLD, signal.SIGTERM}, LOOK if most else 3600.0)
        if got is not None and got.si_signo == signal.SIGTERM:
            if grace:
                wait_for_end(pid, grace)
            return 128 + signal.SIGTERM
        code = ended(pid)
    return code


def wait_for_end(pid: int, grace: float) -> None:
    """Ask every process of the tree to end; returns when the program has, or its time is over."""
    for each in list(descendants(os.getpid())):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGTERM)
    until = time.monotonic() + grace
    while ended(pid) is None and (left := until - time.monotonic()) > 0:
        signal.sigtimedwait({signal.SIGCHLD}, left)


def ended(pid: int) -> int | None:
    """Reap what has ended; the program's exit code, if that is among it."""
    with contextlib.suppress(ChildProcessError):
        while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
            if reaped[0] == pid:
                return os.waitstatus_to_exitcode(reaped[1])
    return None


def main(arguments: list[str]) -> int:
    parent, bounds, *program = arguments
    most, _, grace = bounds.partition(":")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control(CHILD_SUBREAPER, 1)
    control(PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != int(parent):
        return 1
    try:
        return supervise(start(program), int(most), float(grace or 0))
    finally:
        kill_tree()
        # Whatever a kernel without subreapers or /proc has left in our group, and us with it.
        if not parents():
            os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    if code < 0:
        # As the program died, so that its parent sees the same.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(-code, signal.SIG_DFL) if -code not in {signal.SIGKILL, signal.SIGSTOP} else None
        os.kill(os.getpid(), -code)
    sys.exit(code)
