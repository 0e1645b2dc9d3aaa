"""A hostile tenant beside a good one, on a real `foliot up`: `make chaos ARGS=isolation` at small size."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos import isolation
from chaos.attacks import ATTACKS


@pytest.mark.timeout(240)
def test_a_hostile_tenant_delays_a_good_one_by_nothing_and_refuses_it_nothing(tmp_path: Path) -> None:
    plan = isolation.Plan(work=tmp_path, seconds=4, quiet=3, size=0.15, patience=2)

    report = isolation.run(plan)

    assert report.violations == [], isolation.told(report)
    assert [one.name for one in report.stretches] == ["quiet", *(attack.__name__ for attack in ATTACKS)]
