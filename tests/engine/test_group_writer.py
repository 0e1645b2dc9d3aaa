"""Group writes: how much goes into one, and what becomes of an entry that cannot be stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from foliot.core.errors import Unavailable
from foliot.engine.group_writer import GroupWriter


@dataclass
class Table:
    """Takes numbers, but none of those that are refused; a group that is too large looks as if it were away."""

    refused: frozenset[int] = frozenset()
    most: int = 1000
    written: list[list[int]] = field(default_factory=list)
    asked: int = 0

    async def write(self, entries: Sequence[int]) -> int:
        self.asked += 1
        if len(entries) > self.most:
            raise Unavailable("away")
        if self.refused.intersection(entries):
            raise ValueError("refused")
        self.written.append(list(entries))
        return len(entries)


def lesser(entry: int) -> Iterator[int]:
    """Tens are what is left of an entry; of those below zero there is nothing."""
    if entry >= 0:
        yield entry * 10


def writer(table: Table, **changes: int) -> GroupWriter[int, int]:
    return GroupWriter(transaction=table.write, weight=abs, lesser=lesser, key=str, **changes)


def test_a_group_ends_before_it_is_too_heavy_and_holds_at_least_one() -> None:
    one = writer(Table(), heavy=10, most=4)

    assert one.group([1, 2, 3, 4, 5]) == [1, 2, 3, 4]
    assert one.group([6, 4, 1]) == [6, 4]
    assert one.group([500, 1]) == [500]
    assert one.group([1, 1, 1, 1, 1]) == [1, 1, 1, 1]
    assert one.group([]) == []


async def test_what_is_sound_is_one_transaction() -> None:
    table = Table()

    assert await writer(table).write(range(100)) == [100]
    assert table.asked == 1


async def test_one_that_cannot_be_stored_is_found_by_halves_and_kept_with_less() -> None:
    table = Table(refused=frozenset({77}))
    results = await writer(table).write(range(128))

    kept = sorted(entry for group in table.written for entry in group)
    assert kept == sorted({*range(128)} - {77} | {770})
    assert sum(results) == 128
    assert table.asked < 20, "not one by one"


async def test_one_that_cannot_be_stored_in_any_form_is_left_out() -> None:
    table = Table(refused=frozenset({2, 20, -3}))

    assert sum(await writer(table).write([1, 2, -3, 4])) == 2


async def test_groups_are_smaller_after_one_that_the_database_did_not_take() -> None:
    table = Table(most=25)
    one = writer(table, most=100)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await one.write(one.group([1] * 100))
    await one.write(one.group([1] * 100))

    assert [len(group) for group in table.written] == [25]
    assert one.limit == 50, "and larger again after one that it did"
