"""The architecture page lists every actor and every table, and the paths that pages name exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from foliot.db.metadata import metadata

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "foliot"
ARCHITECTURE = ROOT / "docs" / "concepts" / "architecture.md"
GLOSSARY = ROOT / "docs" / "glossary.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"


def section(title: str) -> list[list[str]]:
    """The cells of the table below a heading of the page, row by row."""
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", ARCHITECTURE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page has no section {title!r}"
    lines = [line for line in found[1].splitlines() if line.startswith("| ")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines[1:]]


@cache
def actors() -> set[tuple[str, str]]:
    """Every class that has `run_once`, with its file; the Protocol that describes them is none."""
    return {
        (node.name, path.relative_to(SOURCE).as_posix())
        for path in SOURCE.rglob("*.py")
        if "def run_once" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and not any("Protocol" in ast.unparse(base) for base in node.bases)
        and any(isinstance(part, ast.AsyncFunctionDef) and part.name == "run_once" for part in node.body)
    }


@cache
def tables() -> set[tuple[str, str]]:
    """Every table of the metadata, with the folder that defines it; a module in `sql/` belongs to the folder above."""
    owners: dict[str, str] = {}
    for path in SOURCE.rglob("*.py"):
        names = re.findall(r'^\w+ = Table\(\s*"(\w+)",\s*metadata\b', path.read_text(), re.MULTILINE)
        if names:
            import_module("foliot." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
            folder = path.parent.parent if path.parent.name == "sql" else path.parent
            owners |= dict.fromkeys(names, folder.relative_to(SOURCE).as_posix())
    assert set(owners) == set(metadata.tables)
    return set(owners.items())


def test_the_page_lists_every_actor_and_no_other() -> None:
    listed = {(row[1], row[2]) for row in section("The actors")}

    assert (actors() - listed, listed - actors()) == (set(), set()), "missing from the page, and gone from the code"


def test_the_page_lists_every_table_and_no_other() -> None:
    listed = {(row[0], row[1]) for row in section("The tables")}

    assert (tables() - listed, listed - tables()) == (set(), set()), "missing from the page, and gone from the code"


def test_the_glossary_defines_every_actor() -> None:
    defined = {word.lower() for word in re.findall(r"^\| \*\*(.+?)\*\* \|", GLOSSARY.read_text(), re.MULTILINE)}

    assert [row[0] for row in section("The actors") if row[0].lower() not in defined] == []


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=lambda page: page.name)
def test_paths_of_the_source_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:app|auth|cli|cluster|commands|config|core|db|engine|features|net|pages|servers|wakeups)/[\w./]+)`",
        page.read_text(),
    )

    assert named
    assert [path for path in named if not (SOURCE / path).exists()] == []
