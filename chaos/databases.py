"""The database of a campaign: a server of its own that may be stopped and started, or a SQLite file."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sqlalchemy import URL, make_url

from chaos.postgres import NAME, START_SECONDS, Postgres
from tests import databases
from tests.services import MARIADB, Missing, answers, free_port, wait_for, wait_until


class Database(Protocol):
    """What a campaign asks of it."""

    port: int
    """0 where there is no server."""

    def url(self, port: int | None = None) -> str:
        """Straight, or through a wire."""

    def start(self) -> None: ...

    def stop(self, mode: str) -> None:
        """`fast` ends every session in good order; `immediate` is a crash, with recovery at the next start."""

    def end(self) -> None: ...


@dataclass
class MariaDb:
    """One server that keeps what it has committed; `begin` makes it, `end` leaves nothing behind."""

    home: Path
    binary: str
    port: int
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def begin(cls) -> MariaDb:
        installer, binary = shutil.which("mariadb-install-db"), shutil.which("mariadbd", path=_places())
        if installer is None or binary is None:
            raise Missing(MARIADB)
        home = Path(tempfile.mkdtemp(prefix="foliot-chaos-mariadb-"))
        server = cls(home, binary, free_port())
        try:
            init = [installer, *server._where(), "--auth-root-authentication-method=normal", "--skip-test-db"]
            with (home / "log").open("ab") as out:
                subprocess.run(init, stdout=out, stderr=out, cwd=home, check=True)
            server.start()
            wait_for(databases.create(server.server, NAME, crashes=True))
        except BaseException:
            server.end()
            raise
        return server

    @property
    def server(self) -> URL:
        return make_url(f"mysql+asyncmy://root@127.0.0.1:{self.port}/")

    def url(self, port: int | None = None) -> str:
        return self.server.set(database=NAME, port=port or self.port).render_as_string(hide_password=False)

    def start(self) -> None:
        # Each commit is written before it is answered: a crash of the server, not of the machine, loses nothing.
        options = ["--innodb-flush-log-at-trx-commit=2", "--skip-log-bin", "--max-connections=300"]
        serve = [self.binary, *self._where(), f"--port={self.port}", "--bind-address=127.0.0.1", *options]
        with (self.home / "log").open("ab") as out:
            self.process = subprocess.Popen(
                [*serve, f"--socket={self.home / 'socket'}"],
                stdout=out,
                stderr=out,
                cwd=self.home,
                start_new_session=True,
            )
        if not wait_until(lambda: answers(self.server), seconds=START_SECONDS):
            raise TimeoutError(f"MariaDB did not come up: {(self.home / 'log').read_text()[-1000:]}")

    def stop(self, mode: str) -> None:
        if self.process is not None:
            self.process.send_signal({"fast": signal.SIGTERM, "immediate": signal.SIGKILL}[mode])
            self.process.wait(60)
            self.process = None

    def end(self) -> None:
        try:
            self.stop("immediate")
        finally:
            shutil.rmtree(self.home, ignore_errors=True)

    def _where(self) -> list[str]:
        # As root the server insists on being told so; as anybody else the option is refused.
        user = [f"--user={pwd.getpwuid(0).pw_name}"] if os.geteuid() == 0 else []
        return ["--no-defaults", f"--datadir={self.home / 'data'}", *user]


@dataclass
class Sqlite:
    """A file; only `foliot up` runs the engine on it."""

    file: Path
    port: int = 0

    def url(self, port: int | None = None) -> str:
        return f"sqlite:///{self.file}"

    def start(self) -> None:
        """Nothing runs."""

    def stop(self, mode: str) -> None:
        """Nothing runs."""

    def end(self) -> None:
        """The file stays with the history of its campaign."""


def begin(kind: str, work: Path) -> Database:
    match kind:
        case "sqlite":
            return Sqlite(work / "foliot.db")
        case "mariadb":
            return MariaDb.begin()
        case _:
            return Postgres.begin()


def _places() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/libexec"])
