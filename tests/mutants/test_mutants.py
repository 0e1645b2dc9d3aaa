"""Keeps `make mutants` honest between its runs: every mutant still applies, and a few are tried."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaos import __main__ as chaos
from tests.mutants.campaigns import CAMPAIGNS
from tests.mutants.run import ROOT, Copy, Fate, apply
from tests.mutants.table import GUARANTEES, MUTANTS, Edit, Mutant


@pytest.mark.parametrize("mutant", [*MUTANTS, *CAMPAIGNS], ids=lambda one: one.name)
def test_a_mutant_still_applies_and_names_a_test_that_exists(mutant: Mutant) -> None:
    originals = {edit.file: (ROOT / edit.file).read_text() for edit in mutant.edits}

    broken = apply(mutant, originals)

    assert not isinstance(broken, str), broken
    for name, text in broken.items():
        compile(text, name, "exec")
    if mutant.campaign:
        assert chaos.parser().parse_args(mutant.campaign).campaign == mutant.campaign[0]
        return
    file, _, test = mutant.killer.partition("::")
    assert f"def {test.partition('[')[0]}(" in (ROOT / file).read_text()


@pytest.mark.timeout(180)
def test_the_four_faults_that_matter_most_are_noticed() -> None:
    """No unique instant, no fence, claim without looking, publish and forget."""
    done = subprocess.run(
        [sys.executable, "tests/mutants/run.py", "--suite"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 mutants killed" in done.stdout


@pytest.mark.timeout(120)
def test_a_mutant_that_nobody_notices_is_called_a_survivor(tmp_path: Path) -> None:
    harmless = Edit("src/foliot/engine/model/outcome.py", "MAX_RETRIES = 100\n", "MAX_RETRIES = 101\n")
    mutant = Mutant("harmless", (harmless,), GUARANTEES + "test_three_attempts_are_three_attempts", fast=False)

    verdict = Copy.of(ROOT, tmp_path).judge(mutant)

    assert verdict.fate is Fate.SURVIVED, verdict
    assert (tmp_path / harmless.file).read_text() == (ROOT / harmless.file).read_text()


def test_a_mutant_whose_text_is_gone_is_called_broken(tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text("x = 1\n")
    mutant = Mutant("gone", (Edit("file.py", "y = 1", "y = 2"),), "tests/nowhere.py::test_nothing")

    assert Copy(tmp_path).judge(mutant).fate is Fate.BROKEN
