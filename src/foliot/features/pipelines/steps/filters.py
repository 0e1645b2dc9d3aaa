"""Filters of items, and the fields of items that they and other steps read."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Annotated, Any, Self, TypeVar

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from foliot.core import json_values
from foliot.features.pipelines.chain.context import StepContext, Transform
from foliot.features.pipelines.model import Item

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
    return json_values.dumps(item)


def text(value: Any) -> str:
    """A value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | tuple | dict):
        return json_values.dumps(value).decode()
    return str(value)


PATIENCE = 0.05
"""Time limit of one regular expression search: a pattern that exceeds it backtracks catastrophically."""
LONGEST = 100_000
"""Maximum characters of a text that are searched."""


def _pattern(text: str) -> str:
    import regex

    try:
        regex.compile(text)
    except (regex.error, RecursionError, OverflowError) as wrong:
        raise ValueError(f"is not a regular expression: {wrong}") from None
    return text


Pattern = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_pattern)]
Plain = str | int | float | bool | None


class Filter(Transform):
    """Lets an item go on if its field is as said: `equals` a value (or one of a list), `contains` a text (or a list
    has that element), or `matches` a regular expression anywhere. With `negate`, if it is not.

    An item without the field is as none of them says.
    """

    field: Name
    equals: Plain | list[Plain] = None
    contains: Plain = None
    matches: Pattern | None = None
    negate: bool = False
    ignore_case: bool = False

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if len(self.model_fields_set & {"equals", "contains", "matches"}) != 1:
            raise ValueError("needs exactly one of equals, contains and matches")
        return self

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        found = None if self.matches is None else self._compiled()
        async for item in items:
            try:
                fits = self._fits(reach(item, self.field), found)
            except TimeoutError:
                ctx.fail(item, f"matches takes longer than {PATIENCE:g} s; simplify it", permanent=True)
                continue
            if fits is not self.negate:
                yield item

    def _compiled(self) -> Any:
        import regex

        return regex.compile(self.matches, regex.I if self.ignore_case else 0)

    def _fits(self, value: Any, found: Any) -> bool:
        if value is MISSING:
            return False
        if found is not None:
            return value is not None and found.search(str(value)[:LONGEST], timeout=PATIENCE) is not None
        value = self._folded(value)
        if "contains" in self.model_fields_set:
            part = self._folded(self.contains)
            return part in value if isinstance(value, list) else value is not None and str(part) in str(value)
        wanted = self.equals if isinstance(self.equals, list) else [self.equals]
        return any(_same(value, self._folded(one)) for one in wanted)

    def _folded(self, value: Any) -> Any:
        return value.casefold() if self.ignore_case and isinstance(value, str) else value


def _same(value: Any, wanted: Any) -> bool:
    """Equality of JSON: true is not 1."""
    return value == wanted and isinstance(value, bool) is isinstance(wanted, bool)


class Deduplicate(Transform):
    """Lets only the first item with the same `key` go on, of those in one run. Items without the key all go on."""

    key: Annotated[Names, Field(min_length=1)]
    """A field, or several that count together."""
    ignore_case: bool = False
    remember: Annotated[int, Field(ge=1, le=10_000_000)] = 1_000_000
    """How many distinct keys are remembered (LRU)."""

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        seen: OrderedDict[bytes, None] = OrderedDict()
        double = 0
        async for item in items:
            mark = self._mark(item)
            if mark is not None and mark in seen:
                seen.move_to_end(mark)
                double += 1
                continue
            if mark is not None:
                seen[mark] = None
                if len(seen) > self.remember:
                    seen.popitem(last=False)
            yield item
        if double:
            ctx.log(f"{double:,} items were duplicates")

    def _mark(self, item: Item) -> bytes | None:
        """A hash of the key, because a run may see millions."""
        values = [reach(item, name) for name in self.key]
        if all(value is MISSING or value is None for value in values):
            return None
        told = [None if value is MISSING else value for value in values]
        if self.ignore_case:
            told = [value.casefold() if isinstance(value, str) else value for value in told]
        text = orjson.dumps(told, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
        return hashlib.blake2b(text, digest_size=16).digest()
