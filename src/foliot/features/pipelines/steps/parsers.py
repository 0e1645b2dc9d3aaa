"""Parsers of pages: by selectors, and articles and prices without them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from itertools import islice
from typing import Annotated, Any, Self
from urllib.parse import urljoin

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from foliot.core.limits import count_tags
from foliot.features.pipelines.chain.context import StepContext, Transform
from foliot.features.pipelines.model import Item, Unreadable
from foliot.features.pipelines.steps.filters import BUDGET, MISSING, Name, Names, Workers, ahead, reach, within
from foliot.pages.selectors import Match, as_xpath, compiled, elements, select

MOST_TEXT = 1024 * 1024
_LINKS = frozenset({"href", "src", "action", "data-src", "poster"})


def read_page(body: bytes, url: str, each: str | None, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the page, or of every element that `each` matches, as JSON.

    `wanted` has for each field its selector, and whether all matches are wanted.
    """
    count_tags(body)
    tree = _tree(body)
    if tree is None:
        return {"error": "it is not HTML", "found": []}
    roots = [tree] if each is None else elements(tree, each)
    base = _base(tree, url)
    found, over = within(({name: _read(root, base, *said) for name, said in wanted.items()} for root in roots), BUDGET)
    return {"error": "its selectors find more than 6 MiB" if over else None, "found": [] if over else found}


def _tree(body: bytes) -> Any:
    from lxml import etree, html

    try:
        # Without network access and with the parser's limit on depth.
        return html.document_fromstring(
            body, parser=html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False)
        )
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def _base(tree: Any, url: str) -> str:
    said = tree.xpath("//base/@href")
    return _joined(url, str(said[0])) if said else url


def _read(root: Any, base: str, selector: str, every: bool) -> Any:  # noqa: FBT001 -- as it came through JSON
    found = (value for match in select(root, selector) if (value := _value(match, base)) is not None)
    return list(found) if every else next(found, None)


def _value(match: Match, base: str) -> str | None:
    if match.attribute is None:
        text = match.element.text_content() if match.text is None else match.text
        return " ".join(text.split())[:MOST_TEXT] or None
    value = match.text or ""
    return _joined(base, value.strip()) if match.attribute in _LINKS else value[:MOST_TEXT]


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link


LARGE = 256 * 1024
"""Bytes; a larger document is parsed in a separate process, because its objects may take a hundred times the memory."""


def _css(selector: str) -> str:
    compiled(selector)
    return selector


Css = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_css)]
"""A CSS selector, or an XPath where it begins with `/`, `./` or `(`.

`::text` at the end of a CSS selector takes an element's own text only, `::attr(href)` an attribute.
"""
Xpath = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(as_xpath), AfterValidator(_css)]


class FieldSelector(BaseModel):
    """A selector with options: `{css: "li::text", all: true}`, `{xpath: "count(//li)"}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    css: Css | None = None
    xpath: Xpath | None = None
    all: bool = False
    """A list of all matches, instead of the first."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.css is None) == (self.xpath is None):
            raise ValueError("must have either css or xpath")
        return self

    @property
    def selector(self) -> str:
        """As one selector text."""
        return self.css or self.xpath or ""


def _pick(given: Any) -> Any:
    # Checked here, so that an error names the field and not the key of the long form.
    return {"css": _css(given)} if isinstance(given, str) else given


class HtmlParser(Transform):
    """Reads fields off a page by CSS or XPath selectors; with `each`, one item for every element that it finds.

    A field whose selector finds nothing is null. Links are made whole. The page itself is left out of the item unless
    `keep` is set.
    """

    selectors: Annotated[
        dict[Name, Annotated[FieldSelector, BeforeValidator(_pick)]],
        Field(min_length=1, max_length=200),
    ]
    """By the field that each makes: a selector, `{css: …, all: true}` or `{xpath: …}`."""
    each: Css | None = None
    """One item per element that this finds; the selectors then look inside it."""
    field: Name = "body"
    """Where the page is."""
    required: Names = Field(default_factory=list)
    """Fields without which an item has failed."""
    keep: bool = False

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        wanted = {name: [pick.selector, pick.all] for name, pick in self.selectors.items()}
        async for item in items:
            for found in await self._found(item, ctx, wanted):
                made = {**(item if self.keep else without(item, self.field)), **found}
                missing = [name for name in self.required if made.get(name) in (None, "", [])]
                if missing:
                    ctx.fail(item, f"nothing was found for {', '.join(missing)}", permanent=True)
                else:
                    yield made

    async def _found(self, item: Item, ctx: StepContext, wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
        page = text_of(item, self.field, ctx)
        if page is None:
            return []
        url = str(item.get("url") or "")
        try:
            read = await ctx.apart(read_page, page.encode("utf-8", "replace"), url=url, each=self.each, wanted=wanted)
        except Unreadable as wrong:
            ctx.fail(item, f"the page cannot be read: {wrong}", permanent=True)
            return []
        if read["error"] is not None:
            ctx.fail(item, f"the page cannot be read: {read['error']}", permanent=True)
        return list(read["found"])


class JsonParser(Transform):
    """Reads JSON out of a field. What it finds at `path` becomes the item: every element of a list, one each.

    With `fields`, an item has those: `{name: path}`; without, all that the object has. What the item had before stays,
    except the text itself.
    """

    path: str = ""
    """Where to look, such as `data.products`; nothing is the whole document."""
    fields: dict[Name, Name] = Field(default_factory=dict, max_length=200)
    field: Name = "body"
    """Where the text is."""
    keep: bool = False

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        async for item in items:
            text = text_of(item, self.field, ctx)
            if text is None:
                continue
            kept = item if self.keep else without(item, self.field)
            at: int | None = 0
            while at is not None:
                read = await self._read(text, at, ctx)
                if read["error"] is not None:
                    ctx.fail(item, read["error"], permanent=True)
                for one in read["found"]:
                    yield {**kept, **one}
                at = read["next"]

    async def _read(self, text: str, at: int, ctx: StepContext) -> Mapping[str, Any]:
        body = text.encode("utf-8", "replace")
        asked: dict[str, Any] = {"path": self.path, "fields": self.fields, "start": at}
        if len(body) <= LARGE:
            return read_json(body, **asked)
        try:
            read: Mapping[str, Any] = await ctx.apart(read_json, body, **asked)
        except Unreadable as wrong:
            return _no_json(f"the document cannot be read: {wrong}")
        return read


def read_json(body: bytes, path: str, fields: Mapping[str, str], start: int = 0) -> dict[str, Any]:
    """The elements at a path, as JSON, from `start` on; as many as one answer can hold, and where the rest begins."""
    try:
        document = orjson.loads(body)
    except ValueError as wrong:
        return _no_json(f"this is not JSON: {str(wrong)[:200]}")
    found = reach(document, path) if path else document
    if found is MISSING or found is None:
        return _no_json(f"the document has nothing at {path!r}")
    listed = found if isinstance(found, list) else [found]
    part, over = within((_made(one, fields) for one in islice(listed, start, None)), BUDGET)
    if over and not part:
        return _no_json(f"one element has more than {BUDGET // 1024 // 1024} MiB")
    return {"error": None, "found": part, "next": start + len(part) if over else None}


def _made(one: Any, fields: Mapping[str, str]) -> dict[str, Any]:
    if fields:
        found = {name: reach(one, path) for name, path in fields.items()}
        return {name: None if value is MISSING else value for name, value in found.items()}
    return one if isinstance(one, dict) else {"value": one}


def _no_json(why: str) -> dict[str, Any]:
    return {"error": why, "found": [], "next": None}


def without(item: Item, field: str) -> Item:
    """The item without this field."""
    return {name: value for name, value in item.items() if name != field}


def text_of(item: Item, field: str, ctx: StepContext) -> str | None:
    """The text in a field; None for a failed item, which is counted."""
    value = reach(item, field)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        ctx.fail(item, f"has no text in its field {field!r}", permanent=True)
        return None
    return value


_WHY = {"no_text": "no article was found on the page", "sign_in": "the page requires a sign-in"}
_HTML = "text/html; charset=utf-8"


class PageReader(Transform):
    """Base of both extractors: takes the page from a field, and adds the extracted fields."""

    field: Name = "body"
    """Where the page is."""
    keep: bool = False
    """Whether the page stays in the item."""
    concurrency: Workers = 2

    async def run(self, items: AsyncIterator[Item], ctx: StepContext) -> AsyncIterator[Item]:
        async def work(item: Item) -> Item | None:
            page = text_of(item, self.field, ctx)
            if page is None:
                return None
            try:
                found = await self.read(page.encode("utf-8", "replace"), item, ctx)
            except Unreadable as wrong:
                ctx.fail(item, f"the page cannot be read: {wrong}", permanent=True)
                return None
            return None if found is None else {**(item if self.keep else without(item, self.field)), **found}

        async with aclosing(ahead(items, work, self.concurrency)) as pages:
            async for made in pages:
                if made is not None:
                    yield made

    @abstractmethod
    async def read(self, page: bytes, item: Item, ctx: StepContext) -> dict[str, Any] | None:
        """The extracted fields; None for a failed item, which is counted."""


class ArticleExtractor(PageReader):
    """Reads the article on a page: `title`, `content`, `author`, `published_at`, `language`, `canonical_url` and
    `image`.
    """

    async def read(self, page: bytes, item: Item, ctx: StepContext) -> dict[str, Any] | None:
        found = await ctx.extract(page, _HTML, str(item.get("url") or ""))
        if "missing" in found:
            ctx.fail(item, _WHY.get(found["missing"], str(found["missing"])), permanent=True)
            return None
        return found


class PriceExtractor(PageReader):
    """Finds the price on a product's page: `price` (a text of digits), `currency` and `price_source`.

    Structured data comes first (JSON-LD, microdata, Open Graph), then the selectors. Where the field is
    a short text and no page, such as `1.299,00 €`, that is read.
    """

    selectors: list[Css] = Field(default_factory=list, max_length=100)

    async def read(self, page: bytes, item: Item, ctx: StepContext) -> dict[str, Any] | None:
        if b"<" in page:
            found = await ctx.apart(ctx.outside.price, page, content_type=_HTML, selectors=self.selectors)
        else:
            amount, currency = ctx.outside.price_text(page.decode())
            found = None if amount is None else {"price": str(amount), "currency": currency, "source": "text"}
        if found is None:
            ctx.fail(item, "no price was found: give `selectors` that find it", permanent=True)
            return None
        return {
            "price": _digits(str(found["price"])),
            "currency": found["currency"] or None,
            "price_source": found["source"],
        }


def _digits(price: str) -> str:
    """Without trailing zeros, but with at least two decimal places."""
    whole, _, places = price.partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"
