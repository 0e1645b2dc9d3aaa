"""Two schedulers and two doors around a PostgreSQL of their own, struck under load: a short campaign of `chaos/`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaos import campaign
from chaos.plan import Plan
from chaos.stage import fake_clock
from tests.services import Missing, absent


@pytest.mark.services
@pytest.mark.timeout(150)
def test_nothing_is_lost_or_doubled_whatever_breaks(tmp_path: Path) -> None:
    skew = 7.0 if fake_clock() is not None else 0.0
    load = Plan(name="short", work=tmp_path, seed=7, seconds=8, faults=6, rate=24, slow=0.1, skew=skew)

    try:
        report = campaign.run(replace(load, lead=2, spared=0.3, settle=30, patience=3))
    except Missing as missing:
        absent(missing)

    assert report.violations == []
    assert report.verdict == "sound", report.hindered
    assert (report.duplicates, report.lost, report.stale_accepted) == (0, 0, 0)
    assert report.runs + report.in_ledger == report.instants
    assert report.instants > 100
    assert set(report.faults) >= {"kill", "restart_immediate", "partition"}
    assert report.audit.startswith("all accounted")
    assert (tmp_path / "timeline.svg").read_text().startswith("<svg")
