"""Reads a stored page: by selectors, by an extractor, or by a pipeline whose requests the stored page answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from foliot.core.egress import EgressRefused, OutgoingRequest, OutgoingResponse
from foliot.core.errors import InvalidMany
from foliot.core.ports import Clock
from foliot.features.fetching.fetcher import Fetcher, PageFetcher
from foliot.features.fetching.url import BadUrl, redirect_url
from foliot.features.pipelines.chain.check import TransformCatalogue, build_steps
from foliot.features.pipelines.chain.context import StepContext, StepCounts, Transform
from foliot.features.pipelines.chain.run import ChainFailed, ChainRun, told
from foliot.features.pipelines.model import Item, PipelineDefinition, PipelineDefinitions, StepResources, Unreadable
from foliot.features.reextractions.model import MOST_VALUES, PageExtractor, PageItems, PageReading
from foliot.features.stored_pages.model import StoredPage
from foliot.pages.watched import read_watched

LONGEST = 20.0
"""Seconds that the steps of a pipeline may take for one page."""
MOST_BYTES = 512 * 1024
"""Of the items of one page, as JSON."""
_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PageContent:
    """A stored page with what is to be read: the rendered document, else the body."""

    page: StoredPage
    body: bytes

    @property
    def content_type(self) -> str:
        return _HTML if self.page.rendered else self.page.content_type


@dataclass(frozen=True, slots=True)
class _StoredEgress:
    """Answers a request for the page itself; refuses all others, so that nothing leaves."""

    content: PageContent

    def check(self, url: str) -> None:
        pass

    async def send(self, request: OutgoingRequest) -> OutgoingResponse:
        if request.method != "GET" or _spelling(request.url) != _spelling(self.content.page.url):
            raise EgressRefused("no request is sent while stored pages are read again")
        return OutgoingResponse(
            status=self.content.page.status,
            headers={**self.content.page.headers, "content-type": self.content.content_type},
            body=self.content.body,
            truncated=False,
            elapsed=timedelta(),
        )


def _spelling(url: str) -> str:
    try:
        return redirect_url(url)
    except BadUrl:
        return url


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPageReader:
    """Safe for concurrent calls. Pages are parsed in separate processes; nothing is requested from anywhere."""

    clock: Clock
    outside: StepResources
    definitions: PipelineDefinitions
    catalogue: TransformCatalogue

    async def read(self, tenant_id: str, how: PageReading, content: PageContent) -> PageItems:
        """What the page holds, or why it could not be read."""
        try:
            if how.pipeline is not None:
                found = await self._by_pipeline(tenant_id, how.pipeline, content)
            elif how.extractor is not None:
                found = await self._extracted(tenant_id, how.extractor, content)
            else:
                found = await self._by_fields(tenant_id, how.select, content)
        except Unreadable as why:
            return PageItems(problem=f"it could not be read: {why}"[:300])
        if len(orjson.dumps(found.items)) > MOST_BYTES:
            return PageItems(problem=f"its items have more than {MOST_BYTES // 1024} KiB")
        return found

    async def _by_fields(self, tenant_id: str, fields: Mapping[str, Any], content: PageContent) -> PageItems:
        page = content.page
        about = {"content_type": content.content_type, "url": page.url, "status": page.status, "asked": page.url}
        reading: dict[str, Any] = {
            "select": None,
            "text": "whole",
            "compare_text": False,
            "fields": fields,
            "ignore": [],
        }
        read = await self.outside.apart(read_watched, content.body, {"about": about, "reading": reading}, tenant_id)
        values = read["fields"]
        if all(value is None for value in values.values()):
            return PageItems(problem="none of the selectors finds anything")
        return PageItems([values])

    async def _extracted(self, tenant_id: str, what: PageExtractor, content: PageContent) -> PageItems:
        if what is PageExtractor.ARTICLE:
            asked = {"content_type": content.content_type, "url": content.page.url}
            article = await self.outside.apart(self.outside.article, content.body, asked, tenant_id)
            if "missing" in article:
                return PageItems(problem=f"there is no article: {article['missing']}")
            return PageItems([article])
        wanted: dict[str, Any] = {"content_type": content.content_type, "selectors": []}
        price = await self.outside.apart(self.outside.price, content.body, wanted, tenant_id)
        return PageItems(problem="there is no price") if price is None else PageItems([price])

    async def _by_pipeline(self, tenant_id: str, name: str, content: PageContent) -> PageItems:
        definition = await self.definitions.find(tenant_id, name)
        if definition is None:
            return PageItems(problem=f"there is no pipeline {name!r}")
        try:
            steps = build_steps(definition.steps, self.catalogue)
        except InvalidMany as wrong:
            return PageItems(problem=f"its steps cannot be created: {wrong.errors[0]}"[:300])
        found: list[Item] = []
        chain = ChainRun(
            steps=self._contexts(tenant_id, definition, steps, content),
            tell=lambda _: None,
            source=_items_of(content.page),
            keep=lambda item: found.append(item) if len(found) < MOST_VALUES else None,
        )
        try:
            async with asyncio.timeout(LONGEST):
                await chain.run()
        except TimeoutError:
            return PageItems(problem=f"the pipeline takes longer than {LONGEST:g} s")
        except ChainFailed as failed:
            return PageItems(problem=f"{failed.step}: {told(failed.cause)}"[:300])
        return PageItems(found) if found else PageItems(problem="the pipeline yields no item")

    def _contexts(
        self, tenant_id: str, definition: PipelineDefinition, steps: Sequence[Transform], content: PageContent
    ) -> list[tuple[Transform, StepContext]]:
        """From the last step that fetches to the first sink: that step fetches this page alone."""
        egress = _StoredEgress(content)
        fetcher = Fetcher(pages=PageFetcher(egress=egress), clock=self.clock)
        outside = replace(self.outside, egress=egress, fetcher=fetcher)
        end = next((at for at, step in enumerate(steps) if step.sink), len(steps))
        start = max((at for at, step in enumerate(steps[:end]) if _fetches(step)), default=0)
        chosen: list[tuple[Transform, StepContext]] = []
        for spec, step in list(zip(definition.steps, steps, strict=True))[start:end]:
            ctx = StepContext(
                pipeline=definition.name,
                step=spec.name,
                run_id=content.page.source_id,
                tenant_id=tenant_id,
                attempt=1,
                now=self.clock.now(),
                on_error="fail",
                outside=outside,
                tally=StepCounts(spec.name),
                say=_unsaid,
                hide=lambda *_: None,
            )
            chosen.append((step.model_copy(update=_THIS_PAGE) if _fetches(step) else step, ctx))
        return chosen


_THIS_PAGE = {"urls": [], "url_field": "url", "delay_seconds": 0.0, "keep_pages": None, "render": None}


def _fetches(step: Transform) -> bool:
    return "urls" in type(step).model_fields


def _unsaid(message: str, *, level: str = "info", at: datetime | None = None) -> None:
    """A page that is read again has no log; why it could not be read is kept with the bulk action."""


async def _items_of(page: StoredPage) -> AsyncIterator[Item]:
    yield {"url": page.url}
