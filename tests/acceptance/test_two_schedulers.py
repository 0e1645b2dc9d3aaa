"""Two schedulers and two doors on one database, killed and frozen under load: a short campaign of `chaos/`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaos import campaign
from chaos.campaign import Plan


@pytest.mark.parametrize("server_database_url", ["postgresql"], indirect=True)
@pytest.mark.services
@pytest.mark.timeout(150)
def test_nothing_is_lost_or_doubled_while_processes_die(server_database_url: str, tmp_path: Path) -> None:
    load = Plan(url=server_database_url, work=tmp_path, seconds=8, schedules=25, every=1, lead=3)
    plan = replace(load, spared=0.5, seed=7)

    report = campaign.run(plan)

    assert report.violations == []
    assert report.runs + report.in_ledger == report.instants
    assert report.instants >= 150
    assert report.kills.total() >= 2
    assert report.audit.startswith("all accounted")
