"""Those who ask at the same time share a transaction, and nothing else: not their errors, not their fates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from foliot.commands.group_commit import SMALL, GroupCommit, small
from foliot.core.errors import Conflict, Contended, Unavailable


@dataclass
class Desk:
    """Writes groups down, as slowly as it is told."""

    groups: list[tuple[str, list[int]]] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    fails: BaseException | None = None
    refuses: int | None = None

    async def write(self, tenant_id: str, group: Sequence[int]) -> list[str | Exception | None]:
        self.groups.append((tenant_id, list(group)))
        self.begun.set()
        await self.open.wait()
        if self.fails is not None:
            raise self.fails
        return [Conflict(f"{one} may not") if one == self.refuses else f"made {one}" for one in group]


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def together() -> GroupCommit[int, str]:
    return GroupCommit()


async def test_who_comes_alone_is_written_at_once_and_who_comes_meanwhile_goes_together(
    together: GroupCommit[int, str], desk: Desk
) -> None:
    first = asyncio.create_task(together.ask("acme", 0, desk.write))
    await desk.begun.wait()
    others = [asyncio.create_task(together.ask("acme", number, desk.write)) for number in range(1, 6)]
    await asyncio.sleep(0)

    assert desk.groups == [("acme", [0])]
    assert not first.done(), "nobody is answered before the commit"
    desk.open.set()
    assert await asyncio.gather(first, *others) == [f"made {number}" for number in range(6)]
    assert desk.groups == [("acme", [0]), ("acme", [1, 2, 3, 4, 5])]
    assert together._lines == {}


async def test_those_of_one_moment_go_together_from_the_start(together: GroupCommit[int, str], desk: Desk) -> None:
    desk.open.set()

    await asyncio.gather(*(together.ask("acme", number, desk.write) for number in range(5)))

    assert desk.groups == [("acme", [0, 1, 2, 3, 4])]


async def test_a_group_has_its_size(desk: Desk) -> None:
    desk.open.set()
    together: GroupCommit[int, str] = GroupCommit(most=2)

    await asyncio.gather(*(together.ask("acme", number, desk.write) for number in range(5)))

    assert [group for _, group in desk.groups] == [[0, 1], [2, 3], [4]]


async def test_an_error_is_its_owners_alone(together: GroupCommit[int, str], desk: Desk) -> None:
    desk.open.set()
    desk.refuses = 1

    heard = await asyncio.gather(
        *(together.ask("acme", number, desk.write) for number in range(3)), return_exceptions=True
    )

    assert [heard[0], heard[2]] == ["made 0", "made 2"]
    assert isinstance(heard[1], Conflict)


@pytest.mark.parametrize("fails", [Contended("a deadlock"), RuntimeError("a poisoned one")])
async def test_where_a_group_fails_each_is_asked_alone(
    together: GroupCommit[int, str], desk: Desk, fails: Exception
) -> None:
    desk.open.set()
    desk.fails = fails

    assert await asyncio.gather(*(together.ask("acme", number, desk.write) for number in range(3))) == [None] * 3
    desk.fails = None
    assert await together.ask("acme", 3, desk.write) == "made 3"


async def test_that_the_database_is_away_is_told_to_all_of_them(together: GroupCommit[int, str], desk: Desk) -> None:
    desk.open.set()
    desk.fails = Unavailable("ConnectionError: 10.0.0.1", told="the database did not answer")

    heard = await asyncio.gather(
        *(together.ask("acme", number, desk.write) for number in range(3)), return_exceptions=True
    )

    assert len({id(one) for one in heard}) == 3, "each has an error of its own to raise"
    assert [one.told for one in heard if isinstance(one, Unavailable)] == ["the database did not answer"] * 3


@pytest.mark.parametrize(("patience", "tried"), [(0.0, [[0]]), (60.0, [[0], [1, 2]])])
async def test_who_waits_while_the_database_takes_its_time_to_be_away_hears_it_too(
    desk: Desk, patience: float, tried: list[list[int]]
) -> None:
    together: GroupCommit[int, str] = GroupCommit(patience=patience)
    desk.fails = Unavailable("ConnectionError: 10.0.0.1", told="the database did not answer")
    first = asyncio.create_task(together.ask("acme", 0, desk.write))
    await desk.begun.wait()
    others = [asyncio.create_task(together.ask("acme", number, desk.write)) for number in (1, 2)]
    await asyncio.sleep(0)
    desk.open.set()

    heard = await asyncio.wait_for(asyncio.gather(first, *others, return_exceptions=True), 5)

    assert [type(one) for one in heard] == [Unavailable] * 3
    assert [group for _, group in desk.groups] == tried, "one that fails at once fails for its own group"
    desk.fails = None
    assert await together.ask("acme", 3, desk.write) == "made 3"


async def test_nobody_waits_for_a_group_that_was_stopped(together: GroupCommit[int, str], desk: Desk) -> None:
    first = asyncio.create_task(together.ask("acme", 0, desk.write))
    await desk.begun.wait()
    waiting = asyncio.create_task(together.ask("acme", 1, desk.write))
    await asyncio.sleep(0)
    desk.fails = asyncio.CancelledError()
    desk.open.set()

    ended, hanging = await asyncio.wait({first, waiting}, timeout=5)

    assert not hanging
    assert all(one.cancelled() for one in ended)
    assert together._lines == {}


async def test_tenants_never_share_a_group_nor_wait_for_each_other(together: GroupCommit[int, str], desk: Desk) -> None:
    slow, quick = asyncio.create_task(together.ask("acme", 0, desk.write)), Desk()
    quick.open.set()
    await desk.begun.wait()

    assert await asyncio.wait_for(together.ask("other", 1, quick.write), 1) == "made 1"
    assert not slow.done()
    desk.open.set()
    assert await slow == "made 0"
    assert (desk.groups, quick.groups) == ([("acme", [0])], [("other", [1])])


async def test_a_client_that_goes_away_takes_nobody_along_and_is_not_written_if_it_is_soon_enough(
    together: GroupCommit[int, str], desk: Desk
) -> None:
    first = asyncio.create_task(together.ask("acme", 0, desk.write))
    await desk.begun.wait()
    gone = asyncio.create_task(together.ask("acme", 1, desk.write))
    stays = asyncio.create_task(together.ask("acme", 2, desk.write))
    await asyncio.sleep(0)
    first.cancel()
    gone.cancel()
    await asyncio.sleep(0)
    desk.open.set()

    assert await stays == "made 2"
    assert desk.groups == [("acme", [0]), ("acme", [2])]


def test_what_is_large_or_no_document_travels_alone() -> None:
    assert small({"url": "https://example.com"})
    assert not small({"body": "x" * SMALL})
    assert not small({"number": 2**70})
