"""The supervisor of several processes: what it does when they die, fail to start, restart or are asked to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from foliot.cli.supervisor import DEATHS
from foliot.features.health.health_file import JointHealthFile
from tests.services import alive, wait_until

SCRIPT = """
import os, pathlib, sys
from foliot.cli import supervisor
from foliot.cli.process import RESTART

supervisor.FIRST_DELAY = 0.01
how, marker = sys.argv[1], pathlib.Path(sys.argv[2])

def serve(own):
    if how == "unable":
        return 4
    print("serving", own.number, os.getpid(), flush=True)
    own.announce("text" if own.number == 1 else "")
    if how == "dying" and own.number == 2:
        return 3
    if how == "restarting" and own.number == 2 and not marker.exists():
        marker.touch()
        return RESTART
    if os.read(own.control, 1):
        return 0
    print("orphan", own.number, flush=True)
    return 0

def announce(text, pids):
    print("up", text, *pids, flush=True)

sys.exit(supervisor.Supervisor(count=2, serve=serve, grace=30, announce=announce).run())
"""


class Supervised:
    """A supervisor in a process of its own, and what it and its processes print."""

    def __init__(self, how: str, marker: Path) -> None:
        command = [sys.executable, "-c", SCRIPT, how, str(marker)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def read(self, words: str) -> list[str]:
        """The words of the next line that begins with these."""
        assert self.process.stdout is not None
        line = next(line for line in self.process.stdout if line.startswith(words))
        return line.split()

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)

    def rest(self) -> str:
        """What it still prints, to the end of the last process."""
        assert self.process.stdout is not None
        return self.process.stdout.read()


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[[str], Supervised]]:
    with ExitStack() as stack:

        def start(how: str) -> Supervised:
            ours = Supervised(how, tmp_path / "restarted")
            stack.callback(ours.process.communicate)
            stack.callback(ours.process.kill)
            return ours

        yield start


Start = Callable[[str], Supervised]


def test_one_that_dies_is_replaced_and_a_signal_ends_all(supervise: Start) -> None:
    ours = supervise("serving")
    _, _, first, second = ours.read("up")
    os.kill(int(second), signal.SIGKILL)

    pid = ours.read("serving 2")[2]

    assert pid != second
    assert ours.end(signal.SIGTERM) == 0
    assert not alive(int(first))
    assert not alive(int(pid))


def test_processes_that_keep_dying_end_the_supervisor(supervise: Start) -> None:
    ours = supervise("dying")
    ours.read("up")

    said = ours.rest()

    assert ours.process.wait(30) == 1
    assert said.count("starting another") == DEATHS - 1
    assert "with exit code 3" in said
    assert "ending all of them" in said


def test_one_that_cannot_start_ends_the_supervisor_with_its_code(supervise: Start) -> None:
    ours = supervise("unable")

    assert "up" not in ours.rest()
    assert ours.process.wait(30) == 4


def test_one_that_an_operator_restarts_is_not_counted_as_dead(supervise: Start) -> None:
    ours = supervise("restarting")
    ours.read("up")
    ours.read("serving 2")

    assert ours.end(signal.SIGINT) == 0
    assert "starting another" not in ours.rest()


def test_processes_end_when_their_supervisor_is_killed(supervise: Start) -> None:
    ours = supervise("serving")
    pids = [int(pid) for pid in ours.read("up")[2:]]

    ours.end(signal.SIGKILL)

    assert ours.rest().count("orphan") == 2
    assert wait_until(lambda: not any(alive(pid) for pid in pids), seconds=30)


def test_the_joint_health_file_is_as_fresh_as_the_stalest_and_ready_when_all_are(tmp_path: Path) -> None:
    joint = JointHealthFile(tmp_path / "health", 2)
    for number in (1, 2):
        joint.part(number).write_text("ready\n")
    os.utime(joint.part(2), (1000, 1000))

    joint.write()
    assert joint.path.read_text() == "ready\n"
    assert joint.path.stat().st_mtime == 1000

    joint.part(2).write_text("not ready: the database did not answer\n")
    joint.write()
    assert joint.path.read_text() == "not ready: process 2: the database did not answer\n"

    joint.forget(1)
    joint.write()
    assert joint.path.read_text().startswith("not ready: process 1: it is starting; process 2: ")

    joint.remove()
    assert list(tmp_path.iterdir()) == []
