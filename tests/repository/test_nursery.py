"""A process from the nursery is one like any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nursery import ROOT, foliot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every process begins by itself")
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def test_it_speaks_on_its_own_streams_and_leaves_with_its_own_code() -> None:
    with foliot("--version", env=os.environ, **PIPES) as good, foliot("nonsense", env=os.environ, **PIPES) as bad:
        assert good.communicate()[0].startswith("foliot ")
        assert "nonsense" in bad.communicate()[1]

    assert (good.returncode, bad.returncode) == (0, 2)
    assert good.pid != bad.pid


def test_it_has_its_own_environment_and_hears_signals(tmp_path: Path) -> None:
    given = os.environ | {"FOLIOT_HOME": str(tmp_path / "home"), "FOLIOT_GRPC_PORT": "off"}
    with foliot("up", "--port", "0", env=given, **PIPES) as process:
        assert process.stdout is not None
        assert "is up" in process.stdout.readline()
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert (tmp_path / "home" / "foliot.db").exists()


def test_who_is_killed_has_been_killed(tmp_path: Path) -> None:
    given = os.environ | {"FOLIOT_HOME": str(tmp_path / "home"), "FOLIOT_GRPC_PORT": "off"}
    with foliot("up", "--port", "0", env=given, **PIPES) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
        process.communicate()

    assert process.returncode == -signal.SIGKILL


def test_what_only_a_new_interpreter_can_obey_gets_one() -> None:
    ours, particular = os.environ, os.environ | {"PYTHONWARNINGS": "ignore"}
    with foliot("--version", env=ours, **PIPES) as born, foliot("--version", env=particular, **PIPES) as begun:
        born.communicate()
        begun.communicate()

    assert type(begun) is subprocess.Popen
    assert type(born) is not subprocess.Popen


def test_children_hear_signals_also_where_the_whole_suite_was_started_to_ignore_them() -> None:
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    suite = (
        "import signal, subprocess, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import tests.conftest\n"
        "class Config: add_cleanup = lambda *_: None; workerinput = None\n"
        "tests.conftest.pytest_configure(Config())\n"
        f"sys.stdout.write(subprocess.run([sys.executable, '-c', {child!r}], capture_output=True, text=True).stdout)\n"
    )
    said = subprocess.run([sys.executable, "-c", suite], capture_output=True, text=True, check=True, cwd=ROOT)

    assert said.stdout == "False\n"
