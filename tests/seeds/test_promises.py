"""The page about five other systems names each of their promises: as different, or as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "replaced.md").read_text()
PROMISES = {"S000": 78, "S001": 43, "S002": 49, "S003": 42, "S004": 52}


def numbers(text: str) -> list[int]:
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return found


@pytest.mark.parametrize(("system", "count"), PROMISES.items())
def test_each_promise_is_named_once_as_written_or_in_the_table(system: str, count: int) -> None:
    (section,) = [part for part in PAGE.split("\n## ") if f"| {system}- |" in part]
    rows = [line.split(" | ") for line in section.splitlines() if re.match(r"\| \d", line)]
    different = {number for row in rows for number in numbers(row[0])}
    (written,) = re.findall(r"As written: ([\d, -]+)\.", section)

    assert all(row[1].strip() and row[2].strip() for row in rows)
    assert different.isdisjoint(numbers(written))
    assert sorted(different | set(numbers(written))) == list(range(1, count + 1))
