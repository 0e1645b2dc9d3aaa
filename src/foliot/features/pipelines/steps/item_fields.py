"""Shared by transforms: paths into items, parameter types, encoding, and ordered concurrent mapping."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import AfterValidator, BeforeValidator, Field

from foliot.core import jsonable
from foliot.features.pipelines.model.definition import Item

T = TypeVar("T")
S = TypeVar("S")

MISSING: Any = object()

BUDGET = 6 * 1024 * 1024
"""Maximum bytes of JSON in one answer of a separate process."""


def reach(value: Any, path: str) -> Any:
    """The value at a path such as `offers.0.price`, else `MISSING`. A key with a dot in it matches too."""
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part, MISSING)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return MISSING
    return value


def within(made: Iterable[T], budget: int) -> tuple[list[T], bool]:
    """The first elements whose JSON fits the budget, and whether there are more."""
    kept: list[T] = []
    for one in made:
        budget -= len(orjson.dumps(one))
        if budget < 0:
            return kept, True
        kept.append(one)
    return kept, False


def _listed(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


def _nameable(name: str) -> str:
    if not name.strip() or "\x00" in name:
        raise ValueError("must be the name of a field")
    return name


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_nameable)]
"""Name of a field; a path such as `offers.0.price` reaches into it."""

Names = Annotated[list[Name], Field(max_length=1000), BeforeValidator(_listed)]
"""One name, or several."""

Url = Annotated[str, Field(min_length=1, max_length=8192)]
Urls = Annotated[list[Url], Field(max_length=100_000), BeforeValidator(_listed)]
"""One URL, or several."""

Workers = Annotated[int, Field(ge=1, le=64)]
Seconds = Annotated[float, Field(gt=0, le=600)]


async def ahead(given: AsyncIterator[T], work: Callable[[T], Awaitable[S]], most: int) -> AsyncGenerator[S]:
    """Maps concurrently with at most `most` calls under way; results keep their order."""
    under_way: deque[asyncio.Future[S]] = deque()
    try:
        async for one in given:
            under_way.append(asyncio.ensure_future(work(one)))
            if len(under_way) >= most:
                yield await under_way.popleft()
        while under_way:
            yield await under_way.popleft()
    finally:
        await closed(given)
        for future in under_way:
            future.cancel()
        if under_way:
            await asyncio.wait(under_way)
            # After an early exit, exceptions of the other futures are dropped.
            for future in under_way:
                future.cancelled() or future.exception()


async def closed(stream: AsyncIterator[Any]) -> None:
    """Closes an async generator; other iterators have nothing to close."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()


async def sources(urls: list[str], items: AsyncIterator[Item], field: str) -> AsyncGenerator[Item]:
    """An item for each of these URLs, then the items of the step before that have one."""
    for url in urls:
        yield {field: url}
    async for item in items:
        yield item


def plain(item: Item) -> bytes:
    """The item as JSON; `TypeError` for values that JSON cannot represent."""
    return jsonable.dumps(item)


def text(value: Any) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | tuple | dict):
        return jsonable.dumps(value).decode()
    return str(value)
