"""Breaks Foliot in known ways, in a copy, and fails when a break goes unnoticed: `make mutants`."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from chaos.report import NO_VERDICT, SOUND  # noqa: E402 -- a script finds its siblings only now
from tests.mutants.campaigns import CAMPAIGNS  # noqa: E402 -- a script finds its siblings only now
from tests.mutants.table import MUTANTS, Mutant  # noqa: E402 -- a script finds its siblings only now

COPIED = ("src", "tests", "chaos", "pyproject.toml")
_LEFT_OUT = ("randomly", "cacheprovider", "xdist", "schemathesis", "hypothesispytest")
_KNOWN = "ignore::pytest.PytestAssertRewriteWarning"  # a fork has plugins in memory already
OPTIONS = ("-q", "-rs", "--tb=line", "-W", _KNOWN, *(f"-pno:{name}" for name in _LEFT_OUT))
LIBRARIES = ("sqlalchemy.ext.asyncio", "aiosqlite", "alembic.command", "fastapi", "pydantic", "uvicorn", "structlog")
"""What a fork need not import again."""

GUARANTEE = re.compile(r"G\d+:")
LIMIT = 300
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
        """Pytest's answer and what it said, in a new process, with this copy in front of the installed Foliot."""
        command = [sys.executable, "-m", "pytest", *OPTIONS, *nodes]
        try:
            done = subprocess.run(
                command, cwd=self.root, env=self._environment(), capture_output=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return FAILED, f"no end within {LIMIT} s"
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def test_quickly(self, *nodes: str) -> tuple[int, str]:
        """The same in a fork of this process, which has the libraries in memory, and nothing of Foliot."""
        said = self.root / "said"
        pid = os.fork()
        if pid == 0:
            self._become_pytest(said, nodes)
        deadline = time.monotonic() + LIMIT
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status), said.read_text(errors="replace")
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return FAILED, f"no end within {LIMIT} s"
            time.sleep(0.02)  # noqa: TID251 -- a script that waits for a process

    def _become_pytest(self, said: Path, nodes: Sequence[str]) -> NoReturn:
        code = 3
        try:
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.chdir(self.root)
            for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "foliot")]:
                del sys.modules[name]
            sys.path[:] = [str(self.root / "src"), *(path for path in sys.path if path != str(ROOT))]
            code = int(pytest.main([*OPTIONS, *nodes]))
        except BaseException:  # noqa: BLE001 -- the fork must not go on as its parent
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(code)

    def play(self, campaign: Sequence[str]) -> tuple[str, list[str]]:
        """A campaign's verdict and its violations; those of a campaign that did not end are what it said."""
        with tempfile.TemporaryDirectory(prefix="foliot-mutant-campaign-") as kept:
            command = [sys.executable, "-m", "chaos", *campaign, "--keep", kept]
            # It ends by itself what it started: so it is asked to, and not killed.
            process = subprocess.Popen(
                command, cwd=self.root, env=self._environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            try:
                said = process.communicate(timeout=LIMIT)[0]
            except subprocess.TimeoutExpired:
                process.terminate()
                said = process.communicate()[0] + f"no end within {LIMIT} s".encode()
            report = Path(kept) / "report.json"
            if not report.exists():
                return NO_VERDICT, [said.decode(errors="replace")[-1000:]]
            made = json.loads(report.read_text())
            return made["verdict"], [*made.get("hindered", ()), *made["violations"]]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.root / "src")}

    def _write(self, name: str, text: str) -> None:
        """And forget the compiled form: its check by second and size would not see a quick change back."""
        file = self.root / name
        file.write_text(text)
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()

    def judge(self, mutant: Mutant) -> Verdict:
        """Apply, test, restore."""
        began = time.monotonic()
        originals = {name: (self.root / name).read_text() for name in {edit.file for edit in mutant.edits}}
        broken = apply(mutant, originals)
        if isinstance(broken, str):
            return Verdict(Fate.BROKEN, 0, broken)
        try:
            for name, text in broken.items():
                self._write(name, text)
            fate, why = self._noticed(mutant)
        finally:
            for name, text in originals.items():
                self._write(name, text)
        return Verdict(fate, time.monotonic() - began, why)

    def _noticed(self, mutant: Mutant) -> tuple[Fate, str]:
        if mutant.campaign:
            return judged(mutant.guarantee, *self.play(mutant.campaign))
        code, said = (self.test_quickly if mutant.fast else self.test)(mutant.killer)
        if code == FAILED:
            return Fate.KILLED, _last(said, "Error") or _last(said, "no end")
        if code == 0:
            return Fate.SURVIVED, f"{mutant.killer} passes"
        return Fate.BROKEN, f"pytest could not run the test (exit {code}): {said.strip()[-300:]}"


def judged(guarantee: str, verdict: str, violations: Sequence[str]) -> tuple[Fate, str]:
    """A campaign notices a broken guarantee when it reports that one: another one's violation is no proof."""
    if verdict == NO_VERDICT:
        return Fate.BROKEN, f"no verdict: {'; '.join(violations)[:500]}"
    named = [one for one in violations if one.startswith(f"{guarantee}:")]
    counts = Counter(one.partition(":")[0] if GUARANTEE.match(one) else "others" for one in violations)
    told = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    if named:
        return Fate.KILLED, f"{named[0][:200]} ({told})"
    return Fate.SURVIVED, f"{guarantee} is not among the violations: {told or 'there is none'}; {violations[:1]}"


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
    for fast, test in ((True, copy.test_quickly), (False, copy.test)):
        killers = sorted({mutant.killer for mutant in mutants if mutant.fast is fast and mutant.killer})
        if not killers:
            continue
        code, said = test(*killers)
        if code != 0:
            return f"the unbroken tree fails:\n{said[-3000:]}"
        if f"{len(killers)} passed" not in said:
            return f"some of the tests did not run:\n{said[-3000:]}"
    for campaign in sorted({mutant.campaign for mutant in mutants if mutant.campaign}):
        verdict, violations = copy.play(campaign)
        print(f"  {verdict:<9} unbroken: chaos {' '.join(campaign)}", flush=True)
        if verdict != SOUND:
            return f"the unbroken tree is {verdict}: {violations[:5]}"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="only those that need no server")
    parser.add_argument("--suite", action="store_true", help="only the few that the test suite tries")
    parser.add_argument("only", nargs="?", default="", help="only those whose name contains this")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to copy and break")
    options = parser.parse_args(arguments)
    chosen = [one for one in (*MUTANTS, *CAMPAIGNS) if options.only in one.name and (one.fast or not options.fast)]
    chosen = [one for one in chosen if one.suite or not options.suite]
    if not chosen:
        parser.error(f"no mutant's name contains {options.only!r}")
    for name in LIBRARIES:
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="foliot-mutants-") as where:
        copy = Copy.of(options.tree, Path(where))
        if complaint := sound(copy, chosen):
            print(complaint)
            return 2
        killers = {(one.killer, one.campaign) for one in chosen}
        print(f"The unbroken tree passes {len(killers)} tests and campaigns. {len(chosen)} mutants:", flush=True)
        verdicts = [(mutant, _told(mutant, copy.judge(mutant))) for mutant in chosen]
    bad = [mutant.name for mutant, verdict in verdicts if verdict.fate is not Fate.KILLED]
    print(f"{len(verdicts) - len(bad)} of {len(verdicts)} mutants killed" + (f"; not: {'; '.join(bad)}" if bad else ""))
    return 1 if bad else 0


def _told(mutant: Mutant, verdict: Verdict) -> Verdict:
    test = mutant.killer.rpartition("::")[2] or f"chaos {mutant.campaign[0]}"
    print(f"  {verdict.fate:<9}{verdict.seconds:5.1f} s  {mutant.name:<66} {test}", flush=True)
    print(f"            {verdict.why}", flush=True)
    return verdict


def _last(said: str, word: str) -> str:
    return next((line.strip() for line in reversed(said.splitlines()) if word in line), "")[:200]


if __name__ == "__main__":
    sys.exit(main())
