"""foliot-client alone: its wheel in an empty environment, and a program that mypy checks strictly."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(300)

PROGRAM = """\
from datetime import UTC, datetime, timedelta

from foliot.client import AsyncFoliot, Foliot, Invalid, TooMany
from foliot.client import types as t


def create(client: Foliot) -> t.Schedule:
    try:
        return client.schedules.create(name="Prices", every=timedelta(hours=4), webhook="https://example.com")
    except Invalid as refused:
        raise SystemExit("\\n".join(error["field"] for error in refused.errors)) from refused


async def names(client: AsyncFoliot) -> list[str]:
    run: t.Run = await client.schedules.run_now("sch_1", payload={"body": {"a": 1}})
    events = [event["message"] async for event in client.runs.follow(run["id"], after=0)]
    since = datetime(2026, 1, 1, tzinfo=UTC)
    done = await client.schedules.backfill("sch_1", from_=since, to=since + timedelta(days=1))
    states = [failed["state"] async for failed in client.runs.list(q="state:failed")]
    return [done["id"], *states, *events]
"""
WRONG = """\
from foliot.client import Foliot

client = Foliot()
client.schedules.create(name="Prices", chron="0 2 * * *")
client.runs.get("run_1")["stat"]
client.runs.list(limit="many")
"""


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, "clients/python", cwd=ROOT)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the client and nothing else."""
    place = tmp_path_factory.mktemp("empty")
    run(sys.executable, "-m", "venv", place / "venv", cwd=place)
    python = place / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel, cwd=place)
    return python


def test_the_wheel_holds_the_client_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    modules = {f"foliot/client/{path.name}" for path in (ROOT / "src" / "foliot" / "client").glob("*.py")}

    assert {name for name in names if not name.startswith("foliot_client-")} == {*modules, "foliot/client/py.typed"}
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert (ROOT / "clients" / "python" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert wheel.stat().st_size < 100_000


def test_it_is_imported_without_the_server(empty: Path, tmp_path: Path) -> None:
    names = run(empty, "-m", "pip", "list", "--format", "freeze", cwd=tmp_path).stdout.lower()
    code = "import foliot.client, sys; foliot.client.Foliot(); print(*sys.modules)"
    modules = run(empty, "-I", "-c", code, cwd=tmp_path).stdout.split()

    assert "fastapi" not in names
    assert "sqlalchemy" not in names
    assert len(names.splitlines()) < 15
    assert "foliot.client.types" not in modules, "loaded by those who ask for it"


def test_a_program_passes_mypy_strictly(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run(sys.executable, "-m", "mypy", "--strict", "--python-executable", empty, "program.py", cwd=tmp_path)

    assert "Success" in done.stdout


def test_mypy_finds_wrong_arguments_and_fields(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(empty), "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)

    assert {line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line} == {"4", "5", "6"}


def test_the_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    build = "import os, sys; os.chdir(sys.argv[1]); from hatchling.build import build_sdist as b; print(b(sys.argv[2]))"
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "hatchling", cwd=tmp_path)
    name = run(python, "-c", build, ROOT / "clients" / "python", tmp_path, cwd=tmp_path).stdout.split()[-1]
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path / "again", name, cwd=tmp_path)
    (again,) = (tmp_path / "again").glob("*.whl")

    def content(path: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    assert content(again) == content(wheel)
