"""DiscordSink: posts items to a channel, several per message, within Discord's rate limits."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from pydantic import Field, field_validator

from foliot.features.pipelines.chain.context import Confidential, StepContext, Transform
from foliot.features.pipelines.chain.fetch import Fetched, FetchFailed
from foliot.features.pipelines.model import Item
from foliot.features.pipelines.steps.filters import plain, text

MESSAGE = 2000
"""Maximum characters of a message."""
EMBEDS = 10
"""Maximum embeds of a message, and characters of all of them."""
EMBEDS_CHARACTERS = 6000
TITLE, DESCRIPTION = 256, 1500
TRIES = 5
"""Maximum tries of a message after 429."""
LONGEST_WAIT = 60.0
ANSWER = 64 * 1024
_FIELD = re.compile(r"\{([A-Za-z0-9_][A-Za-z0-9_.-]{0,99})\}")
_WEB = re.compile(r"https?://\S{1,2000}")

Part = tuple[Item, Any]
"""An item, and its part of a message: text, or an embed."""


class DiscordSink(Transform):
    """Writes items into a channel of Discord. They go on to the next step when Discord has taken them.

    `template` is what is said of an item: `{field}` stands for its value. Without one it is the title and the URL, or
    the whole item. Mentions in items are disabled.
    """

    sink = True

    channel_id: Annotated[int, Field(ge=1, lt=2**64)]
    template: Annotated[str, Field(max_length=MESSAGE)] | None = None
    embeds: bool = False
    """Each item in a frame of its own, with its `title`, linked to its `url`."""
    token: Confidential | None = None
    """The bot's, if it is not that of `DISCORD_TOKEN`."""

    @field_validator("template")
    @classmethod
    def _says_something(cls, template: str | None) -> str | None:
        if template is not None and not template.strip():
            raise ValueError("must not be empty; give text such as {title} {url}")
        return template

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        channel = DiscordChannel(self.channel_id, await self._token(ctx), ctx)
        group: list[Part] = []
        async for item in items:
            part = self._part(item, ctx)
            if part is None:
                continue
            if group and not _fits([*group, part]):
                for one in await channel.send(group):
                    yield one
                group.clear()
            group.append(part)
        if group:
            for one in await channel.send(group):
                yield one

    async def _token(self, ctx: StepContext) -> str:
        token = ctx.outside.discord.token if self.token is None else await ctx.reveal(self.token)
        if not token:
            ctx.give_up("there is no bot to send with: set DISCORD_TOKEN where this runs, or token: {secret: name}")
        ctx.hide(token)
        return token

    def _part(self, item: Item, ctx: StepContext) -> Part | None:
        try:
            said = self._said(item)
        except TypeError as wrong:
            ctx.fail(item, f"cannot be written: {str(wrong)[:300]}", permanent=True)
            return None
        if not self.embeds:
            return item, _cut(said, MESSAGE) or "(nothing)"
        embed = {"title": _cut(text(item.get("title")), TITLE), "description": _cut(said, DESCRIPTION)}
        if _WEB.fullmatch(link := text(item.get("url"))):
            embed["url"] = link
        return item, {name: value for name, value in embed.items() if value} or {"description": "(nothing)"}

    def _said(self, item: Item) -> str:
        if self.template is not None:
            return _FIELD.sub(lambda found: text(_value(item, found[1])), self.template).strip()
        if self.embeds and item.get("title"):
            return text(item.get("summary") or item.get("text") or "")
        named = [text(item[name]) for name in ("title", "url") if item.get(name)]
        return " ".join(named) if named else plain(item).decode()


def _value(item: Item, path: str) -> Any:
    """A field by its path, such as `price.amount`; empty when it is missing."""
    if path in item:
        return item[path]
    found: Any = item
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _cut(said: str, most: int) -> str:
    return said if len(said) <= most else f"{said[: most - 1]}…"


def _fits(group: list[Part]) -> bool:
    if isinstance(group[0][1], str):
        return sum(len(said) + 1 for _, said in group) - 1 <= MESSAGE
    taken = sum(len(embed.get("title", "")) + len(embed.get("description", "")) for _, embed in group)
    return len(group) <= EMBEDS and taken <= EMBEDS_CHARACTERS


class DiscordChannel:
    """Posts to one channel, and waits as its rate limit demands."""

    def __init__(self, channel_id: int, token: str, ctx: StepContext) -> None:
        self._url = f"{ctx.outside.discord.api}/channels/{channel_id}/messages"
        self._headers = {"Authorization": f"Bot {token}", "Content-Type": "application/json"}
        self._ctx = ctx
        self._wait = 0.0
        self._sent = 0

    async def send(self, group: list[Part]) -> list[Item]:
        """Posts a message; returns the items that Discord accepted."""
        body = orjson.dumps(self._message(group))
        for _ in range(TRIES):
            await self._turn()
            try:
                answer = await self._ctx.fetch(
                    self._url, method="POST", headers=self._headers, body=body, most=ANSWER, follow=False
                )
            except FetchFailed as failed:
                return self._lost(group, str(failed), permanent=failed.permanent)
            self._wait = _pause(answer)
            if answer.status != 429:
                break
        else:
            return self._lost(group, f"Discord asked to wait {TRIES} times")
        if answer.ok:
            self._sent += 1
            return [item for item, _ in group]
        return self._lost(group, _why(answer), permanent=not answer.passing)

    async def _turn(self) -> None:
        wait, self._wait = self._wait, 0.0
        if wait > LONGEST_WAIT:
            self._ctx.retry(f"Discord accepts no more messages for {wait:.0f} s", wait)
        if wait > 0:
            await asyncio.sleep(wait)

    def _message(self, group: list[Part]) -> dict[str, Any]:
        parts = [said for _, said in group]
        told = {"content": "\n".join(parts)} if isinstance(parts[0], str) else {"embeds": parts}
        # Nonce: Discord deduplicates the same message of a later attempt, if it comes soon.
        again = hashlib.blake2b(f"{self._ctx.run_id} {self._sent} ".encode() + orjson.dumps(told), digest_size=12)
        return {**told, "allowed_mentions": {"parse": []}, "nonce": again.hexdigest(), "enforce_nonce": True}

    def _lost(self, group: list[Part], why: str, *, permanent: bool = False) -> list[Item]:
        for item, _ in group:
            self._ctx.fail(item, why, permanent=permanent)
        return []


def _pause(answer: Fetched) -> float:
    """Seconds to wait, from the rate limit headers of an empty bucket or from a 429."""
    if answer.status == 429:
        return max(_number(_body(answer).get("retry_after")), _number(answer.headers.get("retry-after")), 0.05)
    if answer.headers.get("x-ratelimit-remaining") == "0":
        return _number(answer.headers.get("x-ratelimit-reset-after"))
    return 0.0


def _why(answer: Fetched) -> str:
    said = {
        401: "Discord refuses the bot's token",
        403: "the bot may not write in this channel: allow it to see the channel and to send messages there",
        404: "the bot cannot see such a channel",
    }
    return said.get(answer.status, f"Discord answered {answer.status}: {str(_body(answer).get('message', ''))[:200]}")


def _body(answer: Fetched) -> dict[str, Any]:
    try:
        read = orjson.loads(answer.body)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if 0 <= number < 86_400 else 0.0
