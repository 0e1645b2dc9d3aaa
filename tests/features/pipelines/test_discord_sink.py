"""DiscordSink, against a stand-in of Discord's API: what is said, how many items at once, and how fast."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from foliot.features.pipelines.chain.context import Transform
from foliot.features.pipelines.chain.run import ChainFailed, ChainRun, is_permanent
from foliot.features.pipelines.model import DiscordCredentials, Item
from foliot.features.pipelines.steps.discord_sink import DiscordSink
from foliot.net.client import HttpEgress
from foliot.testing import Streamed, contexts
from tests.discord_server import CHANNEL, TOKEN, DiscordServer, a_discord, api_of

Item_ = dict[str, Any]


class Given(Transform):
    """The items of a test."""

    given: list[dict[str, Any]]

    async def run(self, items: AsyncIterator[Item], ctx: Any) -> AsyncIterator[Item]:
        for item in self.given:
            yield item


class World:
    """A channel, and a way to it."""

    def __init__(self, discord: DiscordServer, egress: HttpEgress) -> None:
        self.discord = discord
        self.egress = egress
        self.token: str | None = TOKEN

    async def send(self, items: Iterable[Item_], on_error: Any = "fail", **kwargs: Any) -> Streamed:
        sink = DiscordSink.model_validate({"channel_id": CHANNEL, **kwargs})
        said: list[str] = []
        kept: list[Item_] = []
        steps = contexts(
            [Given(given=list(items)), sink], on_error=on_error, egress=self.egress, secrets={"bot": TOKEN}, said=said
        )
        for _, ctx in steps:
            ctx.outside = replace(ctx.outside, discord=DiscordCredentials(api=api_of(self.discord), token=self.token))
        chain = ChainRun(steps=steps, tell=lambda _: None, keep=kept.append)
        await chain.run()
        return Streamed(items=kept, failed=chain.tallies[-1].failed, steps=[], log=said)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [one.body for one in self.discord.sent]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with a_discord() as discord:
        egress = HttpEgress(loopback=True)
        await egress.start()
        try:
            yield World(discord, egress)
        finally:
            await egress.close()


async def test_items_share_a_message_as_long_as_they_fit(world: World) -> None:
    items = [{"title": f"{number:03} " + "x" * 90, "url": f"http://x/{number}"} for number in range(40)]

    done = await world.send(items)

    assert [len(one["content"]) <= 2000 for one in world.messages] == [True] * 3
    assert "\n".join(one["content"] for one in world.messages).splitlines() == [
        f"{item['title']} {item['url']}" for item in items
    ]
    assert done.items == items
    [authorization] = {one.authorization for one in world.discord.sent}
    assert authorization == f"Bot {TOKEN}"


async def test_a_template_says_what_is_said_and_nobody_is_mentioned(world: World) -> None:
    item = {"name": "@everyone", "price": {"amount": 9.5}, "__class__": "x"}

    await world.send([item], template="**{name}** costs {price.amount}{missing} {name.__class__}")

    [message] = world.messages
    assert message["content"] == "**@everyone** costs 9.5"
    assert message["allowed_mentions"] == {"parse": []}


async def test_embeds_come_ten_at_once_with_title_and_link(world: World) -> None:
    items = [{"title": f"t{number}", "url": "https://x.test/a", "summary": "s"} for number in range(12)]
    items[0]["url"] = "javascript:alert(1)"

    await world.send(items, embeds=True)

    assert [len(one["embeds"]) for one in world.messages] == [10, 2]
    assert world.messages[0]["embeds"][:2] == [
        {"title": "t0", "description": "s"},
        {"title": "t1", "description": "s", "url": "https://x.test/a"},
    ]


async def test_what_is_too_long_is_cut_and_what_is_no_text_is_json(world: World) -> None:
    await world.send([{"title": "é" * 3000}, {"a": [1, None]}])

    assert [one["content"] for one in world.messages] == ["é" * 1999 + "…", '{"a":[1,null]}']


async def test_an_empty_bucket_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("foliot.features.pipelines.steps.discord_sink.asyncio.sleep", _noting(slept))
    world.discord.headers = [
        {"X-RateLimit-Remaining": "1", "X-RateLimit-Reset-After": "4.5"},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "1.25"},
    ]

    await world.send([{"title": "x" * 1900} for _ in range(3)])

    assert slept == [1.25]


async def test_a_refused_message_is_sent_again_when_discord_says_so_and_only_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("foliot.features.pipelines.steps.discord_sink.asyncio.sleep", _noting(slept))
    world.discord.limits = [
        {"status": 429, "headers": {"Retry-After": "1"}, "body": {"retry_after": 0.75, "global": False}},
        {"status": 429, "body": {"retry_after": 2.5}},
    ]

    done = await world.send([{"title": "a"}])

    assert slept == [1.0, 2.5]
    assert len({one["nonce"] for one in world.messages}) == 1
    assert world.messages[0]["enforce_nonce"] is True
    assert len(done.items) == 1


async def test_who_is_asked_to_wait_long_leaves_and_comes_back(world: World) -> None:
    world.discord.limits = [{"status": 429, "body": {"retry_after": 900}}]

    with pytest.raises(ChainFailed, match="accepts no more messages for 900 s"):
        await world.send([{"title": "a"}])


@pytest.mark.parametrize(
    ("status", "words", "permanent"),
    [
        (401, "refuses the bot's token", True),
        (403, "may not write", True),
        (404, "cannot see such a channel", True),
        (500, "Discord answered 500", False),
    ],
)
async def test_why_it_failed_is_said(world: World, status: int, words: str, permanent: bool) -> None:
    world.discord.limits = [{"status": status, "body": {"message": "No"}}]

    with pytest.raises(ChainFailed, match=words) as failed:
        await world.send([{"title": "a"}])

    assert is_permanent(failed.value.cause) is permanent


async def test_left_out_items_are_counted(world: World) -> None:
    world.discord.limits = [{"status": 500}]

    done = await world.send([{"title": "x" * 1900}, {"title": "y" * 1900}], on_error="skip")

    assert (len(done.items), done.failed) == (1, 1)


async def test_the_token_may_be_a_secret_and_must_be_somewhere(world: World) -> None:
    world.token = None

    with pytest.raises(ChainFailed, match="set DISCORD_TOKEN"):
        await world.send([{"title": "a"}])
    await world.send([{"title": "a"}], token={"secret": "bot"})

    assert len(world.messages) == 1


@pytest.mark.parametrize(
    "kwargs",
    [{"channel_id": 0}, {"channel_id": "x"}, {"channel_id": 1, "template": " "}, {"channel_id": 1, "chanel": 2}],
)
def test_wrong_kwargs_are_refused(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DiscordSink.model_validate(kwargs)


def _noting(slept: list[float]) -> Any:
    async def sleep(seconds: float) -> None:
        if seconds:
            slept.append(seconds)

    return sleep
