"""The documentation as a site: it builds, every link and anchor leads somewhere, and no page asks another host."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "build.py"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    there = tmp_path_factory.mktemp("docs") / "site"
    built = subprocess.run([sys.executable, SCRIPT, there], capture_output=True, text=True, timeout=120, check=False)
    assert built.returncode == 0, built.stderr
    return there


def test_every_page_of_the_documentation_is_in_the_site(site: Path) -> None:
    pages = {page.relative_to(site).with_suffix("").as_posix() for page in site.rglob("*.html")}
    written = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in (ROOT / "docs").rglob("*.md")}

    assert {name.replace("README", "index") for name in written} <= pages
    assert {"project/readme", "project/upgrading", "project/examples-embedded-py"} <= pages


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|link)[^>]*(?:src|href)="(?:https?:)?//')
    assert [page for page in site.rglob("*.html") if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_a_broken_link_and_a_missing_anchor_are_named(tmp_path: Path) -> None:
    broken_links = runpy.run_path(str(SCRIPT))["broken_links"]
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><a href="c.html">c</a><a href="b.html#gone">d</a>')
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1><a href="https://example.com/x">e</a>')

    assert list(broken_links(tmp_path)) == ["a.html: c.html does not exist", "a.html: b.html#gone has no such anchor"]
