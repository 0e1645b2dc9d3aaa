"""Measures the layout of the code: `make shape`. The limits on these figures are in tests/repository/test_shape.py."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "foliot"
GENERATED = ("_pb2", "_pb2_grpc")
CLIENT = frozenset(f"client/{name}.py" for name in ("types", "operations", "resources", "async_resources"))
"""Modules of the client that `make reference` writes."""
GERUNDS = {
    "wiring": "the field's word for how parts are joined",
    "paging": "the field's word for pages of a list",
    "testing": "what users import: foliot.testing",
    "keyring": "a noun",
    "finding": "a noun: what a check found",
}
"""Last words of module names that end in -ing and are allowed, each with its reason."""


def place(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text(), filename=str(module))


def modules() -> list[Path]:
    """Every module that people write and change; a migration is never changed again."""
    return [
        path
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.stem.endswith(GENERATED)
        and place(path) not in CLIENT
        and not place(path).startswith("db/migrations/versions/")
    ]


def folders(among: Iterable[Path]) -> dict[str, list[Path]]:
    """The modules of each folder; `__init__.py` is the folder itself."""
    found: dict[str, list[Path]] = defaultdict(list)
    for module in among:
        if module.name != "__init__.py":
            found[place(module.parent)].append(module)
    return found


def is_gerund(module: Path) -> bool:
    last = module.stem.rpartition("_")[2]
    return last.endswith("ing") and last not in GERUNDS


def classes(among: Iterable[Path]) -> Iterator[tuple[Path, ast.ClassDef]]:
    for module in among:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                yield module, node


def doubled(among: Iterable[Path]) -> dict[str, list[str]]:
    """Class names that are defined more than once, and where."""
    return _doubled(tuple(among))


@cache
def _doubled(among: tuple[Path, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for module, node in classes(among):
        found[node.name].append(place(module))
    return {name: where for name, where in sorted(found.items()) if len(where) > 1}


def spans(among: Iterable[Path]) -> dict[str, int]:
    """How many folders hold modules of each feature: its own, and those outside of `features` with one of its name."""
    names = [path.name for path in sorted((SOURCE / "features").iterdir()) if (path / "__init__.py").exists()]
    found = {name: {f"features/{name}"} for name in names}
    for module in among:
        for name in names:
            if not place(module).startswith("features/") and module.stem in {name, name.removesuffix("s")}:
                found[name].add(place(module.parent))
    return {name: len(where) for name, where in found.items()}


def protocols(among: list[Path]) -> dict[str, list[str]]:
    """The Protocols that exactly one class has all members of; those with `__call__` alone are types of functions."""
    known = {node.name: node for _, node in classes(among)}
    members = {name: _members(node, known) for name, node in known.items()}
    asked = {name for name, node in known.items() if any(_word(base) == "Protocol" for base in node.bases)}
    found: dict[str, list[str]] = {}
    for name in sorted(asked):
        wanted = members[name] - {"__call__"}
        if wanted:
            found[name] = [other for other in known if other not in asked and wanted <= members[other]]
    return {name: those for name, those in found.items() if len(those) == 1}


def _word(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Subscript():
            return _word(node.value)
        case _:
            return ""


def _members(node: ast.ClassDef, known: dict[str, ast.ClassDef]) -> set[str]:
    found: set[str] = set()
    for part in node.body:
        match part:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(part.name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign():
                found |= {target.id for target in part.targets if isinstance(target, ast.Name)}
            case _:
                pass
    for base in node.bases:
        if (above := known.get(_word(base))) and above is not node:
            found |= _members(above, known)
    return found


def figures() -> list[tuple[str, str]]:
    among = modules()
    sizes = Counter({folder: len(inside) for folder, inside in folders(among).items()})
    largest, size = sizes.most_common(1)[0]
    wide = Counter(spans(among))
    gerunds = [place(module) for module in among if is_gerund(module)]
    single = protocols(among)
    lines = sum(len(module.read_text().splitlines()) for module in among)
    return [
        ("modules, without migrations and generated code", f"{len(among)}"),
        ("lines of src, of the same modules", f"{lines:,}"),
        ("largest flat folder", f"{size} ({largest})"),
        (
            "folders a feature spans",
            f"1 to {max(wide.values())}; more than 1: {_listed([f'{n} {k}' for n, k in wide.items() if k > 1])}",
        ),
        ("gerund modules", f"{len(gerunds)}{_named(gerunds)}"),
        ("class names defined more than once", f"{len(doubled(among))}{_named(doubled(among))}"),
        ("Protocols with a single implementation", f"{len(single)}{_named(single)}"),
    ]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _named(names: Collection[str]) -> str:
    return f": {', '.join(names)}" if names else ""


def main() -> None:
    from tests import webhook_path

    for what, figure in [*figures(), *webhook_path.figures()]:
        print(f"{what:<58} {figure}")


if __name__ == "__main__":
    main()
