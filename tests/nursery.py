"""Starts `python -m foliot …` from a process that has imported everything already: a fork instead of a second of CPU.

What is born has its own process id, environment, streams, signals and exit code, as any other process. Only what it
would have imported is there from the beginning; the pages of the documentation and `.ci/smoke` start the real command.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOT_IMPORTED = ("foliot.__main__", "foliot.celery", "foliot.scrapy", "foliot.db.migrations.")
"""They begin to work as they are imported, or belong to processes that others start."""
MODULES = (
    "aiosqlite", "alembic.command", "alembic.config", "asyncmy", "asyncpg", "fastapi.telemetry._runtime",
    "sqlalchemy.dialects.sqlite.aiosqlite", "uvicorn.lifespan.on", "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.websockets_sansio_impl", "uvloop",
)  # fmt: skip
"""What Foliot's modules import as they are needed."""
PARTICULAR = ("PYTHON", "COV", "GRPC", "LANG", "LC_", "TZ")
"""Variables that a process reads as it begins: whoever has others of these than we have begins by itself."""

_NUMBER = struct.Struct("!i")


def foliot(*arguments: str, env: Mapping[str, str], **streams: Any) -> subprocess.Popen[str]:
    """A process that runs this command; `streams` are as for `Popen`."""
    command = [sys.executable, "-m", "foliot", *arguments]
    kind = _Born if sys.platform == "linux" and _particular(env) == _particular(os.environ) else subprocess.Popen
    return kind(command, env=env, text=True, **streams)


def _particular(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(PARTICULAR)}


def let_children_hear() -> None:
    """Give children the usual signals, also where we were started to ignore them, as a background job is.

    What is ignored stays ignored in whatever is started; a handler does not, so ours does nothing instead.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


class _Born(subprocess.Popen[str]):
    """A Popen whose process is a child of the nursery, which tells us how it ended."""

    def _execute_child(self, args: list[str], *rest: Any) -> None:
        _, _, _, _, _, env, _, _, _, *pipes = rest
        stdin, _, _, stdout, _, stderr = pipes[:6]
        theirs = [own if given == -1 else given for own, given in enumerate((stdin, stdout, stderr))]
        self._ending, told = os.pipe()
        self.pid = nursery().bear(args[3:], env, [*theirs, told])
        os.close(told)
        self._child_created = True
        self._close_pipe_fds(*pipes[:6])  # type: ignore[attr-defined]

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        return self._wait(0)

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._ending], [], [], timeout)[0]:
            status = os.read(self._ending, _NUMBER.size)
            os.close(self._ending)
            # No word: the nursery died, and took its children along.
            self.returncode = os.waitstatus_to_exitcode(_NUMBER.unpack(status)[0]) if status else -signal.SIGKILL
        if self.returncode is None and timeout:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode


class Nursery:
    """The near side: asks for processes."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.nursery", str(theirs.fileno())],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                start_new_session=True,
            )  # fmt: skip

    def bear(self, arguments: list[str], env: Mapping[str, str], streams: list[int]) -> int:
        """The id of a new process; the last of the streams is where its end will be told."""
        asked = json.dumps({"arguments": arguments, "env": dict(env), "cwd": str(Path.cwd())}).encode()
        with self._lock:
            socket.send_fds(self._control, [_NUMBER.pack(len(asked))], streams)
            self._control.sendall(asked)
            pid: int = _NUMBER.unpack(self._control.recv(_NUMBER.size, socket.MSG_WAITALL))[0]
        return pid

    def close(self) -> None:
        self._control.close()
        self._process.wait()


@cache
def nursery() -> Nursery:
    """Opened by whoever asks first."""
    return Nursery()


def close() -> None:
    """End it, and whoever was born there and lives."""
    if nursery.cache_info().currsize:
        nursery().close()
        nursery.cache_clear()


# --- the far side -----------------------------------------------------------------------------------------------------


def _grow_up() -> None:
    """Import whatever a command may need; a fork copies no threads, so there must be none."""
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    gc.disable()
    ours = pkgutil.walk_packages([str(ROOT / "src" / "foliot")], "foliot.")
    for name in [*MODULES, *(found.name for found in ours)]:
        if not name.startswith(NOT_IMPORTED):
            importlib.import_module(name)
    assert os.listdir("/proc/self/task") == [str(os.getpid())], "something started a thread as it was imported"  # noqa: PTH208
    gc.freeze()


def _bear(control: socket.socket) -> list[str]:
    """Bears until nobody asks any more; returns only in those who are born, with their arguments."""
    waking, woken = os.pipe()
    for end in (waking, woken):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    endings: dict[int, int] = {}
    for asked, streams in _asked(control, waking, endings):
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (waking, woken, *endings.values()):
                os.close(end)
            control.close()
            _settle_in(asked, streams)
            return [*asked["arguments"]]
        endings[pid] = streams.pop()
        for each in streams:
            os.close(each)
        control.sendall(_NUMBER.pack(pid))
    for pid in endings:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


def _asked(control: socket.socket, waking: int, endings: dict[int, int]) -> Iterator[tuple[dict[str, Any], list[int]]]:
    both: list[Any] = [control, waking]
    while ready := select.select(both, [], [])[0]:
        if waking in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(waking, 4096)
            _tell(endings)
        if control in ready:
            length, streams, _, _ = socket.recv_fds(control, _NUMBER.size, 4)
            if not length:
                return
            yield json.loads(control.recv(_NUMBER.unpack(length)[0], socket.MSG_WAITALL)), streams


def _tell(endings: dict[int, int]) -> None:
    for pid in [*endings]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            ending = endings.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(ending, _NUMBER.pack(status))
            os.close(ending)


def _settle_in(asked: dict[str, Any], streams: list[int]) -> None:
    for own, given in enumerate(streams[:3]):
        os.dup2(given, own)
    for each in streams:
        os.close(each)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.path[0] = asked["cwd"]
    # So that whatever starts a process like this one starts `python -m foliot`.
    main = importlib.import_module("foliot.__main__")
    sys.modules["__main__"] = main
    sys.argv = [str(main.__file__), *asked["arguments"]]
    sys.orig_argv = [sys.executable, "-m", "foliot", *asked["arguments"]]
    gc.enable()


if __name__ == "__main__":
    _grow_up()
    _bear(socket.socket(fileno=int(sys.argv[1])))
    importlib.import_module("foliot.cli").main()
