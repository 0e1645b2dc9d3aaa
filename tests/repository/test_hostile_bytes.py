"""The bytes of a stranger's page meet a parser only in processes that can be killed."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "foliot"
PARSERS = frozenset(
    {"bs4", "cssselect", "extruct", "feedparser", "html5lib", "lxml", "parsel", "protego", "selectolax", "trafilatura"}
)
"""Libraries that read pages, feeds and the like."""
READERS = frozenset({"pages", "features/pipelines/steps/parsers.py", "features/pipelines/steps/feeds.py"})
"""Modules whose functions of bytes are called in those processes."""
EXCEPTIONS = {
    "features/fetching/robots.py": "robots.txt: bounded in bytes and lines, by a parser of lines without recursion",
}
UTF_8 = {"valid_utf8"}
"""Decodes by Python's own codec and detects nothing."""


def place(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def is_reader(module: Path) -> bool:
    return place(module).split("/")[0] in READERS or place(module) in READERS


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(), filename=str(module))


def parsers_of(module: Path) -> set[str]:
    """The parser libraries that a module imports, also inside its functions."""
    found: set[str] = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).partition(".")[0])
    return found & PARSERS


def functions_of_bytes() -> dict[str, set[str]]:
    """Module-level functions of the readers whose first parameter is `body`, by their modules."""
    found: dict[str, set[str]] = {}
    for module in SOURCE.rglob("*.py"):
        if is_reader(module):
            dotted = "foliot." + place(module).removesuffix(".py").replace("/", ".")
            found[dotted] = {
                node.name
                for node in tree(module).body
                if isinstance(node, ast.FunctionDef)
                and node.args.args
                and node.args.args[0].arg == "body"
                and node.name not in UTF_8
            }
    return found


def called_directly(module: Path, readers: dict[str, set[str]]) -> list[str]:
    """Functions of bytes that a module calls itself, instead of handing them to another process."""
    names: dict[str, str] = {}
    modules: dict[str, str] = {}
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module in readers:
            names |= {each.asname or each.name: each.name for each in node.names if each.name in readers[node.module]}
        if isinstance(node, ast.ImportFrom):
            modules |= {
                each.asname or each.name: f"{node.module}.{each.name}"
                for each in node.names
                if f"{node.module}.{each.name}" in readers
            }
    found = []
    for node in ast.walk(tree(module)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in names:
                found.append(names[name])
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if name in readers.get(
                modules.get(owner, ""), set()
            ):
                found.append(name)
    return found


def test_parsers_are_imported_by_what_runs_apart_alone() -> None:
    found = {place(module) for module in SOURCE.rglob("*.py") if parsers_of(module) and not is_reader(module)}
    # What runs in a spider's process is Scrapy's, and no process of ours.
    assert {each for each in found if not each.startswith("scrapy/")} == set(EXCEPTIONS)


def test_no_module_calls_a_reader_of_bytes_itself() -> None:
    readers = functions_of_bytes()
    assert {"read_page", "read_feed", "extract", "read_watched"} <= set().union(*readers.values())

    found = {
        place(module): called_directly(module, readers) for module in SOURCE.rglob("*.py") if not is_reader(module)
    }
    assert {name: each for name, each in found.items() if each} == {}


def test_a_direct_call_is_found(tmp_path: Path) -> None:
    module = tmp_path / "hasty.py"
    module.write_text(
        "from foliot.pages import article\nfrom foliot.pages.watched import read_watched\n"
        "article.extract(body, kind, url)\nread_watched(body, {}, {})\napart(read_watched, body)\n"
    )
    assert sorted(called_directly(module, functions_of_bytes())) == ["extract", "read_watched"]
