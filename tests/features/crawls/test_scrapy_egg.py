"""A Scrapy project becomes an egg: what goes in, what stays out, what is said about a project that is none."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from foliot.features.crawls.cli.deploy import Project, deploy
from foliot.terminal.output import Exit, Failure

NOW = datetime(2026, 11, 16, 7, 0, tzinfo=UTC)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    home = tmp_path / "bot"
    (home / "mybot" / "spiders" / "__pycache__").mkdir(parents=True)
    (home / "scrapy.cfg").write_text("[settings]\ndefault = mybot.settings\n\n[deploy]\nproject = MyBot\n")
    for name in ("__init__.py", "settings.py", "words.txt", ".secret", "spiders/__init__.py", "spiders/a.py"):
        (home / "mybot" / name).write_text("# here\n")
    (home / "mybot" / "spiders" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"x")
    (home / "mybot" / "old.pyc").write_bytes(b"x")
    (home / "setup.py").write_text("raise SystemExit('not to be run')\n")
    (home / "loose.py").write_text("X = 1\n")
    (home / ".env").write_text("PASSWORD=x\n")
    (home / "notes").mkdir()
    (home / "notes" / "x.py").write_text("no package\n")
    (tmp_path / "elsewhere").write_text("not ours\n")
    (home / "mybot" / "link.py").symlink_to(tmp_path / "elsewhere")
    return home


def names(egg: bytes) -> set[str]:
    with zipfile.ZipFile(BytesIO(egg)) as opened:
        return {name for name in opened.namelist() if not name.startswith("EGG-INFO/")}


def test_an_egg_holds_the_packages_and_nothing_else(project: Path) -> None:
    egg = Project.read(project).egg("7")

    wanted = {"__init__.py", "settings.py", "words.txt", "spiders/__init__.py", "spiders/a.py"}
    assert names(egg) == {f"mybot/{name}" for name in wanted} | {"loose.py"}
    with zipfile.ZipFile(BytesIO(egg)) as opened:
        assert opened.read("EGG-INFO/entry_points.txt") == b"[scrapy]\nsettings = mybot.settings\n"
        assert b"Version: 7\n" in opened.read("EGG-INFO/PKG-INFO")


def test_the_same_sources_are_the_same_bytes(project: Path) -> None:
    assert Project.read(project).egg("7") == Project.read(project).egg("7")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "has no scrapy.cfg"),
        ("[settings]\n", "must name its settings"),
        ("[settings]\ndefault = mybot.settings\n", "must name the project"),
        ("[settings]\ndefault = other.settings\n[deploy]\nproject = A\n", "has no package other"),
        ("no section\n", "cannot be read"),
        ("[settings]\ndefault = mybot.settings\n[deploy]\nproject = ../x\n", "project: must be 1 to 64 letters"),
    ],
)
def test_what_is_no_project_is_said_before_anything_is_sent(project: Path, text: str | None, said: str) -> None:
    file = project / "scrapy.cfg"
    file.unlink()
    if text is not None:
        file.write_text(text)

    with pytest.raises(Failure, match=said) as failed:
        deploy(project, ["http://127.0.0.1:1"], now=NOW)
    assert failed.value.code is Exit.USAGE


@pytest.mark.parametrize("nodes", [[], ["127.0.0.1:6800"], ["ftp://127.0.0.1"], ["http://bot:s3cret@"], ["http://a:b"]])
def test_an_address_that_is_none_is_not_repeated(project: Path, nodes: list[str]) -> None:
    with pytest.raises(Failure, match=r"SCRAPYD_URL|such as http://127\.0\.0\.1:6800") as failed:
        deploy(project, nodes, now=NOW)
    assert "s3cret" not in str(failed.value)
