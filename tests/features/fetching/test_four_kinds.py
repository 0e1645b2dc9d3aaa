"""Four kinds of work and a real spider share one host's limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.fetching.four_kinds import KINDS, run

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(120)]


def test_four_kinds_of_work_and_a_spider_keep_the_delay_of_one_host(tmp_path: Path) -> None:
    site = run(tmp_path, seconds=35, delay=1, least=12)

    assert min(site.gaps) >= 0.95, site.gaps
    assert set(site.kinds) >= KINDS, site.kinds
