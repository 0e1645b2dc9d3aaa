"""Filters and sinks of pipelines: which items go on, and what is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from foliot import Item, StepContext, Transform
from foliot.features.pipelines.chain.run import ChainFailed, is_permanent
from foliot.features.pipelines.steps.filters import Deduplicate, Filter
from foliot.features.pipelines.steps.sinks import CsvSink, JsonlSink, WebhookSink
from foliot.testing import GivenPages, contexts, stream
from tests.features.pipelines.pipeline_streams import made

SITE = "http://site.test"

ITEMS: list[Item] = [
    {"id": 1, "kind": "Book", "tags": ["new"], "in": {"stock": True}},
    {"id": 2, "kind": "book", "tags": [], "in": {"stock": 1}},
    {"id": 3, "kind": None},
    {"id": 4},
]


# --- Filter, Deduplicate ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ({"field": "kind", "equals": "Book"}, [1]),
        ({"field": "kind", "equals": "Book", "ignore_case": True}, [1, 2]),
        ({"field": "kind", "equals": ["book", None]}, [2, 3]),
        ({"field": "kind", "equals": "Book", "negate": True}, [2, 3, 4]),
        ({"field": "kind", "contains": "oo"}, [1, 2]),
        ({"field": "tags", "contains": "new"}, [1]),
        ({"field": "in.stock", "equals": True}, [1]),
        ({"field": "in.stock", "equals": 1}, [2]),
        ({"field": "kind", "matches": "^B"}, [1]),
        ({"field": "kind", "matches": "^B", "ignore_case": True}, [1, 2]),
        ({"field": "id", "matches": "[12]"}, [1, 2]),
    ],
)
async def test_filter_lets_go_on_what_is_as_said(rule: dict[str, Any], kept: list[int]) -> None:
    assert [item["id"] for item in (await stream(made(Filter, **rule), items=ITEMS)).items] == kept


async def test_a_pattern_that_takes_for_ever_fails_its_item_and_not_the_loop() -> None:
    rule = made(Filter, field="text", matches="^(a|aa|a?a)+$")
    items = [{"id": 1, "text": "a" * 5000 + "!"}, {"id": 2, "text": "aa"}]

    found = await stream(rule, items=items, on_error="skip")

    assert [item["id"] for item in found.items] == [2]
    assert "matches takes longer than 0.05 s" in found.log[0]


async def test_only_the_first_of_the_same_goes_on() -> None:
    pairs = [("a", 1), ("A", 1), ("a", 2), (None, 1), (None, 1), ("a", 1)]
    items: list[Item] = [{"n": n} if u is None else {"u": u, "n": n} for u, n in pairs]

    one = await stream(made(Deduplicate, key="u"), items=items)
    two = await stream(made(Deduplicate, key=["u", "n"], ignore_case=True), items=items)

    assert one.items == [items[0], items[1], items[3], items[4]]
    assert two.items == [items[0], items[2], items[3]]


async def test_what_is_remembered_is_bounded() -> None:
    items = [{"u": letter} for letter in "abacada"]

    found = await stream(made(Deduplicate, key="u", remember=2), items=items)

    assert "".join(item["u"] for item in found.items) == "abcd"


# --- JsonlSink, CsvSink -----------------------------------------------------------------------------------------------


async def test_jsonl_writes_a_line_for_each_item_and_lets_it_go_on(tmp_path: Path) -> None:
    items: list[Item] = [{"id": 1, "text": "å\n"}, {"id": 2, "when": None}]

    found = await stream(made(JsonlSink, path="a/b-{date}-{pipeline}.jsonl"), items=items, out=tmp_path)

    assert found.items == items
    path = tmp_path / "a" / "b-2027-01-04-test.jsonl"
    assert [orjson.loads(line) for line in path.read_bytes().splitlines()] == items
    assert [one.name for one in path.parent.iterdir()] == [path.name]


async def test_a_run_that_fails_leaves_the_old_file_and_no_half_of_a_new_one(tmp_path: Path) -> None:
    sink = made(JsonlSink, path="a.jsonl")
    await stream(sink, items=[{"id": 1}], out=tmp_path)

    class Break(Transform):
        async def handle(self, item: Item, ctx: StepContext) -> Item | None:
            if item["id"] == 5000:
                ctx.give_up("enough")
            return item

    with pytest.raises(ChainFailed):
        await stream(sink, Break(), items=[{"id": number, "x": "x" * 100} for number in range(9000)], out=tmp_path)

    assert (tmp_path / "a.jsonl").read_text() == '{"id":1}\n'
    assert [one.name for one in tmp_path.iterdir()] == ["a.jsonl"]


async def test_a_run_that_is_cancelled_in_the_middle_of_a_write_leaves_nothing(tmp_path: Path) -> None:
    from foliot.features.pipelines.chain.run import ChainRun

    class Endless(Transform):
        async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
            while not ctx.cancelled:
                yield {"x": "x" * 10_000}

    steps = contexts([Endless(), made(JsonlSink, path="a.jsonl")], out=tmp_path)
    running = asyncio.create_task(ChainRun(steps=steps, tell=lambda _: None).run())
    for _ in range(2000):
        await asyncio.sleep(0)
        if any(one.stat().st_size for one in tmp_path.iterdir()):
            break
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert list(tmp_path.iterdir()) == []


async def test_what_a_killed_attempt_left_is_swept_away_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".a.jsonl.run_test-0badf00d.part").write_text("half")
    (tmp_path / ".a.jsonl.run_other-0badf00d.part").write_text("of another run, which may go on")

    await stream(made(JsonlSink, path="a.jsonl"), items=[{"id": 1}], out=tmp_path)

    assert sorted(one.name for one in tmp_path.iterdir()) == [".a.jsonl.run_other-0badf00d.part", "a.jsonl"]


async def test_a_file_can_be_added_to_and_its_last_line_is_made_whole(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":1}\n{"id":')

    await stream(made(JsonlSink, path="a.jsonl", append=True), items=[{"id": 2}], out=tmp_path)

    assert (tmp_path / "a.jsonl").read_text() == '{"id":1}\n{"id":\n{"id":2}\n'


@pytest.mark.parametrize("path", ["/etc/foliot.jsonl", "link/a.jsonl"])
async def test_nothing_is_written_elsewhere(tmp_path: Path, path: str) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    other.mkdir()
    (out / "link").symlink_to(other)

    with pytest.raises(ChainFailed, match="path") as failed:
        await stream(made(JsonlSink, path=path), items=[{"id": 1}], out=out)

    assert is_permanent(failed.value.cause)
    assert not list(other.iterdir())


async def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other.txt"
    out.mkdir()
    other.write_text("mine")
    (out / "a.jsonl").symlink_to(other)

    await stream(made(JsonlSink, path="a.jsonl"), items=[{"id": 1}], out=out)

    assert other.read_text() == "mine"
    (out / "b.jsonl").symlink_to(other)
    with pytest.raises(ChainFailed, match="cannot be written"):
        await stream(made(JsonlSink, path="b.jsonl", append=True), items=[{"id": 1}], out=out)


async def test_what_json_cannot_hold_fails_its_item(tmp_path: Path) -> None:
    items: list[Item] = [{"id": 1, "x": "\ud800"}, {"id": 2, "x": 2**70}, {"id": 3, "x": object()}, {"id": 4}]

    found = await stream(made(JsonlSink, path="a.jsonl"), items=items, out=tmp_path, on_error="skip")

    assert (found.items, found.failed) == ([{"id": 4}], 3)


async def test_csv_writes_rows_below_the_fields_of_the_first(tmp_path: Path) -> None:
    items: list[Item] = [
        {"name": 'A "quoted", one', "n": 1, "list": [1, 2]},
        {"name": "=cmd()", "n": None},
        {"name": "x", "new": 1},
    ]

    found = await stream(made(CsvSink, path="a.csv"), items=items, out=tmp_path, on_error="skip")

    assert found.failed == 1
    assert "the file has no column 'new'" in found.log[0]
    assert (tmp_path / "a.csv").read_bytes().decode().split("\r\n") == [
        "name,n,list",
        '"A ""quoted"", one",1,"[1,2]"',
        "'=cmd(),,",
        "",
    ]


async def test_an_item_that_cannot_be_written_does_not_take_the_head_along(tmp_path: Path) -> None:
    sink = made(CsvSink, path="a.csv")

    found = await stream(sink, items=[{"a": "\ud800"}, {"a": 1}], out=tmp_path, on_error="skip")

    assert found.failed == 1
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"


async def test_csv_writes_the_columns_it_is_told(tmp_path: Path) -> None:
    sink = made(CsvSink, path="a.csv", columns=["b", "in.c"], delimiter=";")

    await stream(sink, items=[{"a": 1, "b": 2, "in": {"c": -3}}], out=tmp_path)

    assert (tmp_path / "a.csv").read_text() == "b;in.c\n2;-3\n"


# --- WebhookSink ------------------------------------------------------------------------------------------------------


async def test_a_webhook_gets_items_in_groups_and_the_same_key_for_the_same_group() -> None:
    pages = GivenPages({f"{SITE}/hook": (204, "")})
    sink = made(WebhookSink, url={"secret": "hook"}, batch_size=2, headers={"Authorization": "Bearer x"})

    items: list[Item] = [{"id": number} for number in range(3)]
    await stream(sink, items=items, egress=pages, secrets={"hook": f"{SITE}/hook"})
    again = await stream(sink, items=items, egress=pages, secrets={"hook": f"{SITE}/hook"})

    assert again.items == items
    first, second, third, _ = pages.asked
    assert orjson.loads(first.body or b"") == {
        "pipeline": "test",
        "run_id": "run_test",
        "items": [{"id": 0}, {"id": 1}],
    }
    assert first.headers["Idempotency-Key"] == third.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]
    assert (first.method, first.headers["Authorization"]) == ("POST", "Bearer x")


@pytest.mark.parametrize(("status", "permanent"), [(400, True), (302, True), (500, False), (429, False)])
async def test_a_webhook_that_refuses_fails_its_items(status: int, permanent: bool) -> None:
    pages = GivenPages({f"{SITE}/hook": (status, "")})
    sink = made(WebhookSink, url=f"{SITE}/hook", batch_size=2)
    items = [{"id": number} for number in range(3)]

    found = await stream(sink, items=items, egress=pages, on_error="skip")
    with pytest.raises(ChainFailed) as failed:
        await stream(sink, items=items, egress=pages)

    assert (found.items, found.failed) == ([], 3)
    assert is_permanent(failed.value.cause) is permanent
