"""Stored pages are read again by a process that is killed in between, and their site is not asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features.reextractions.thousand_pages import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


def test_each_page_is_read_once_although_the_process_is_killed_and_its_site_is_not_asked(tmp_path: Path) -> None:
    found = run(tmp_path, pages=60, kills=1, rate=20)

    assert (found.state, found.versions, found.distinct, found.connections) == ("finished", 60, 60, 0)
    assert found.stored <= found.raw / 4
