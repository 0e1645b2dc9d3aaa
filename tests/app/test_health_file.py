"""The health file and the program that looks at it: a process is watched without being asked, and without a Python."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from foliot.features.health.health_file import HealthFile
from tests.nursery import ROOT, foliot
from tests.services import free_port, wait_until

LOOK = ROOT / "deploy" / "image" / "foliot-health"


@dataclass
class Database:
    """Answers what it is told to, or never."""

    why: str | None = None
    silent: bool = False
    name: str = "database"
    kind: str = "database"

    async def check(self) -> str | None:
        if self.silent:
            await asyncio.Event().wait()
        return self.why


def look(file: Path, *words: str) -> int:
    given = {"PATH": os.environ["PATH"], "FOLIOT_HEALTH_FILE": str(file)}
    return subprocess.run([LOOK, *words], env=given, capture_output=True, check=False).returncode


def aged(file: Path, seconds: float) -> None:
    then = time.time_ns() - int(seconds * 1e9)
    os.utime(file, ns=(then, then))


async def test_it_says_ready_while_the_database_answers_and_why_when_it_does_not(tmp_path: Path) -> None:
    database = Database()
    kept = HealthFile(path=tmp_path / "run" / "health", database=database)  # type: ignore[arg-type]

    await kept.run_once()
    assert (look(kept.path, "live"), look(kept.path, "ready")) == (0, 0)

    database.why = "the database did not answer"
    await kept.run_once()
    assert kept.path.read_text() == "not ready: the database did not answer\n"
    assert (look(kept.path, "live"), look(kept.path, "ready")) == (0, 1)

    database.why = None
    await kept.run_once()
    assert look(kept.path, "ready") == 0


async def test_a_database_that_says_nothing_makes_it_unready_and_not_dead(tmp_path: Path) -> None:
    kept = HealthFile(path=tmp_path / "health", database=Database(silent=True))  # type: ignore[arg-type]

    await asyncio.wait_for(kept.run_once(), 30)

    assert (look(kept.path, "live"), look(kept.path, "ready")) == (0, 1)


async def test_it_is_touched_each_round_and_gone_when_the_process_stops(tmp_path: Path) -> None:
    kept = HealthFile(path=tmp_path / "health", database=Database())  # type: ignore[arg-type]
    await kept.run_once()
    aged(kept.path, 60)
    assert (look(kept.path, "live"), look(kept.path, "ready"), look(kept.path, "live", "120")) == (1, 1, 0)

    await kept.run_once()
    assert look(kept.path, "live") == 0

    kept.remove()
    await kept.run_once()
    assert look(kept.path, "live") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_server_is_ready_whatever_its_broker_and_scrapyd_do_and_dead_when_its_loop_stands(tmp_path: Path) -> None:
    file = tmp_path / "health"
    away = {
        "SCRAPYD_URL": f"http://127.0.0.1:{free_port()}",
        "CELERY_BROKER_URL": f"amqp://u:p@127.0.0.1:{free_port()}/x",
    }
    given = os.environ | away | {"FOLIOT_HOME": str(tmp_path / "home"), "FOLIOT_GRPC_PORT": "off"}
    given |= {"FOLIOT_HEALTH_FILE": str(file), "FOLIOT_TIME_SCALE": "0.05"}
    with foliot("up", "--port", "0", env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert wait_until(lambda: look(file, "ready") == 0, seconds=30)
        os.kill(process.pid, signal.SIGSTOP)
        assert wait_until(lambda: look(file, "live", "1") == 1, seconds=30)
        os.kill(process.pid, signal.SIGCONT)
        assert wait_until(lambda: look(file, "ready", "5") == 0, seconds=30)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=40)

    assert process.returncode == 0
    assert look(file, "live", "3600") == 1
