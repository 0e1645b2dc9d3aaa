"""Breaks Foliot in known ways, in a copy, and fails when a break goes unnoticed: `make mutants`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutants.table import MUTANTS, Mutant  # noqa: E402 -- a script finds its siblings only now

COPIED = ("src", "tests", "pyproject.toml")
LIMIT = 120
FAILED = 1
"""What pytest answers when a test failed; anything else but 0 means that it could not run."""


class Fate(StrEnum):
    """What became of a mutant; only the first is good."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A fate with its reason."""

    fate: Fate
    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the tree, in which the breaking happens."""

    root: Path

    @classmethod
    def of(cls, tree: Path, where: Path) -> Copy:
        for name in COPIED:
            source = tree / name
            if source.is_dir():
                shutil.copytree(source, where / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, where / name)
        return cls(where)

    def test(self, *nodes: str) -> tuple[int, str]:
        """Pytest's answer and what it said, with this copy in front of the installed Foliot."""
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTEST_XDIST_WORKER", None)
        command = [sys.executable, "-m", "pytest", *nodes]
        options = ["-q", "-rs", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line"]
        try:
            done = subprocess.run(
                [*command, *options], cwd=self.root, env=environment, capture_output=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return FAILED, f"no end within {LIMIT} s"
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def judge(self, mutant: Mutant) -> Verdict:
        """Apply, test, restore."""
        began = time.monotonic()
        originals = {name: (self.root / name).read_text() for name in {edit.file for edit in mutant.edits}}
        broken = apply(mutant, originals)
        if isinstance(broken, str):
            return Verdict(Fate.BROKEN, 0, broken)
        try:
            for name, text in broken.items():
                (self.root / name).write_text(text)
            code, said = self.test(mutant.killer)
        finally:
            for name, text in originals.items():
                (self.root / name).write_text(text)
        seconds = time.monotonic() - began
        if code == FAILED:
            return Verdict(Fate.KILLED, seconds, _last(said, "Error"))
        if code == 0:
            return Verdict(Fate.SURVIVED, seconds, f"{mutant.killer} passes")
        return Verdict(Fate.BROKEN, seconds, f"pytest could not run the test (exit {code}): {said.strip()[-300:]}")


def apply(mutant: Mutant, originals: dict[str, str]) -> dict[str, str] | str:
    """The broken texts, or why they cannot be made."""
    texts = dict(originals)
    for edit in mutant.edits:
        found = texts[edit.file].count(edit.old)
        if found != 1:
            return f"{edit.file} has {found} times, not once: {edit.old.strip().splitlines()[0]}"
        texts[edit.file] = texts[edit.file].replace(edit.old, edit.new)
    return texts


def sound(copy: Copy, mutants: Sequence[Mutant]) -> str | None:
    """Why the unbroken tree is not fit to judge: a test that fails, or is skipped, proves nothing."""
    killers = sorted({mutant.killer for mutant in mutants})
    code, said = copy.test(*killers)
    if code != 0:
        return f"the unbroken tree fails:\n{said[-3000:]}"
    if f"{len(killers)} passed" not in said:
        return f"some of the tests did not run:\n{said[-3000:]}"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="only those that need no server")
    parser.add_argument("--only", default="", help="only those whose name contains this")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to copy and break")
    options = parser.parse_args(arguments)
    chosen = [one for one in MUTANTS if options.only in one.name and (one.fast or not options.fast)]
    if not chosen:
        parser.error(f"no mutant's name contains {options.only!r}")
    with tempfile.TemporaryDirectory(prefix="foliot-mutants-") as where:
        copy = Copy.of(options.tree, Path(where))
        if complaint := sound(copy, chosen):
            print(complaint)
            return 2
        print(f"The unbroken tree passes {len({one.killer for one in chosen})} tests. {len(chosen)} mutants:")
        verdicts = [(mutant, _told(mutant, copy.judge(mutant))) for mutant in chosen]
    bad = [mutant.name for mutant, verdict in verdicts if verdict.fate is not Fate.KILLED]
    print(f"{len(verdicts) - len(bad)} of {len(verdicts)} mutants killed" + (f"; not: {'; '.join(bad)}" if bad else ""))
    return 1 if bad else 0


def _told(mutant: Mutant, verdict: Verdict) -> Verdict:
    test = mutant.killer.rpartition("::")[2]
    print(f"  {verdict.fate:<9}{verdict.seconds:5.1f} s  {mutant.name:<66} {test}", flush=True)
    if verdict.fate is not Fate.KILLED:
        print(f"            {verdict.why}", flush=True)
    return verdict


def _last(said: str, word: str) -> str:
    return next((line.strip() for line in reversed(said.splitlines()) if word in line), "")[:200]


if __name__ == "__main__":
    sys.exit(main())
