"""Heavy tasks, for tests of the processes that run them."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from foliot import TaskContext, task


@task("add", cpu=True)
def add(ctx: TaskContext, a: int, b: int) -> dict[str, int]:
    ctx.logger.info("adding %d and %d", a, b)
    ctx.progress(done=1)
    print("this goes to the log of the server, and spoils nothing")
    return {"sum": a + b, "pid": os.getpid()}


@task("spin", cpu=True)
def spin(ctx: TaskContext) -> None:
    """Busy for ever, and deaf."""
    ctx.progress(pid=os.getpid())
    busy = True
    while busy:
        pass


@task("polite", cpu=True)
def polite(ctx: TaskContext) -> None:
    """Busy until it is asked to stop."""
    ctx.progress(pid=os.getpid())
    while not ctx.cancelled:
        pass
    ctx.check_cancelled()


@task("killed", cpu=True)
def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@task("leaves", cpu=True)
def leaves(how: str) -> None:
    if how == "hard":
        os._exit(7)
    sys.exit(7)


@task("raises", cpu=True)
def raises() -> None:
    raise ValueError("no")


@task("again", cpu=True)
def again(ctx: TaskContext) -> None:
    ctx.retry(after=60)


@task("writes_on", cpu=True)
def writes_on(ctx: TaskContext) -> int:
    """Leaves a thread behind that goes on talking."""
    gone = threading.Event()

    def talk() -> None:
        for _ in range(200):
            ctx.logger.info("from beyond")
            gone.wait(0.01)

    threading.Thread(target=talk, daemon=True).start()
    return os.getpid()


@task("returns", cpu=True)
def returns(value: Any) -> Any:
    return value


def hold(body: bytes, gigabytes: int) -> int:
    """No task, but a reader: takes so much memory at once."""
    return len(bytearray(gigabytes * 1024**3))


def niceness(body: bytes) -> int:
    """Another reader: how much it gives way."""
    return os.getpriority(os.PRIO_PROCESS, 0)


@task("floods", cpu=True, timeout=120)
def floods(ctx: TaskContext, lines: int) -> None:
    for number in range(lines):
        ctx.logger.info("line %d", number)


@task("told", cpu=True)
def told() -> dict[str, Any]:
    """What this process can find out about itself."""
    import resource

    own = Path("/proc/self")
    environ = (own / "environ").read_bytes().split(b"\0")
    status = (own / "status").read_text().splitlines()
    return {
        "environ": [entry.partition(b"=")[0].decode() for entry in environ if entry],
        "no_new_privs": next(line.split()[1] for line in status if line.startswith("NoNewPrivs")),
        "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "processes": resource.getrlimit(resource.RLIMIT_NPROC),
        "cores": resource.getrlimit(resource.RLIMIT_CORE)[0],
        "seconds": resource.getrlimit(resource.RLIMIT_CPU)[0],
    }


MOMENT = timedelta(seconds=2)


def naps(body: bytes, seconds: float) -> float:
    """Another reader: takes its time."""
    threading.Event().wait(seconds)
    return seconds


@task("leaves_a_daemon", cpu=True)
def leaves_a_daemon(note: str) -> None:
    """Starts a process in a session of its own, and goes on for ever."""
    program = f"import os, time; open({note!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    busy = True
    while busy:
        pass


@task("hoards", cpu=True)
def hoards() -> None:
    """Has another process fill the memory."""
    subprocess.run([sys.executable, "-c", "import time; a = b'x' * 400_000_000; time.sleep(600)"], check=False)


def breaks_out(body: bytes, secret: str, folder: str, port: int) -> dict[str, str]:
    """Another reader, in an attacker's hands: what it could do of this."""
    attempts: dict[str, Callable[[], object]] = {
        "read a file": lambda: Path(secret).read_bytes(),
        "list a folder": lambda: os.listdir(folder),  # noqa: PTH208 -- as an attacker would
        "write a file": lambda: Path(folder, "new").write_bytes(b"x"),
        "delete a file": lambda: Path(secret).unlink(),
        "connect": lambda: socket.create_connection(("127.0.0.1", port), timeout=1),
        "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "start a program": lambda: subprocess.run(["/bin/true"], check=True),
        "start a process": os.fork,
        "signal its parent": lambda: os.kill(os.getppid(), 0),
        "read its parent's memory": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "start a thread": lambda: threading.Thread(target=int).start(),
        "load a module": lambda: importlib.import_module("wave"),
    }
    found = {}
    for name, attempt in attempts.items():
        try:
            attempt()
        except (OSError, RuntimeError) as error:
            found[name] = type(error).__name__
        else:
            found[name] = "done"
    return found
