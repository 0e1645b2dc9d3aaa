"""Visits pages: fetches them politely, reads them in a separate process, and tells walls and errors from changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.core.document import moment
from foliot.core.errors import Invalid
from foliot.features.fetching.answer import header
from foliot.features.fetching.fetcher import Fetcher
from foliot.features.fetching.model import FetchFailure, FetchOptions, FetchRequest, Page, PageSource
from foliot.features.fetching.url import BadUrl, one_spelling
from foliot.features.pipelines.model import IsolatedCall, Unreadable
from foliot.features.pipelines.steps.feeds import DEEPEST, MOST_SITEMAPS, read_feed, read_sitemap
from foliot.features.watches.model.request import PageGuard
from foliot.features.watches.model.visit import Reading
from foliot.features.watches.model.watch import (
    MOST_DIFF,
    MOST_PAGES,
    ListedPage,
    PageState,
    WatchedPage,
    WatchSettings,
)
from foliot.pages.suggestions import selectors_for
from foliot.pages.text_diff import changed_lines
from foliot.pages.watched import read_links, read_watched

LARGEST = 10 * 1024 * 1024
CHECK_EVERY = 10
"""One visit in so many asks without conditions."""
TIMEOUT = timedelta(seconds=30)
GONE = {404: "There is no such page.", 410: "The page has been removed."}
CLOSED = {
    401: "The page asks for a sign-in.",
    403: "The host refuses access to the page.",
    451: "The page is withheld for legal reasons.",
}
WALLS = {"captcha": "A captcha is shown instead of the page.", "login": "The page asks for a sign-in."}
_TEXTUAL = ("text/", "json", "xml", "html", "javascript")
_SCRIPTED = frozenset({"fields_missing", "empty_page"})
"""What a page that is made by a script looks like without one."""


_START: int | None = 0


class SourceUnreadable(Exception):
    """The sitemap, feed or page of links names no pages; the message says why."""


@dataclass(frozen=True, slots=True)
class VisitPlan:
    """How the pages of a watch are visited by one run."""

    tenant_id: str
    settings: WatchSettings
    reading: str
    """Digest of how they are read."""
    source: PageSource
    conditional: bool = True
    """Whether a 304 is believed; otherwise pages are asked for as if for the first time."""

    def request(self, url: str, known: Mapping[str, str] | None = None, options: FetchOptions | None = None) -> Any:
        return FetchRequest(
            url=url,
            tenant_id=self.tenant_id,
            options=self.settings.options if options is None else options,
            known=known or {},
            timeout=TIMEOUT,
            most=LARGEST,
            source=self.source,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageVisitor:
    """Fetches pages and reads them; safe for concurrent calls."""

    fetcher: Fetcher
    apart: IsolatedCall
    guard: PageGuard

    async def visit(self, plan: VisitPlan, page: WatchedPage, old_text: str | None) -> Reading:
        """What the page says now; with the diff of its text, where that differs from the old one."""
        request = plan.request(page.url, _validators(plan, page))
        answer = await self.fetcher.fetch(request)
        read = self._judged(await self._look(plan, answer, page.url)) if isinstance(answer, Page) else _missed(answer)
        if isinstance(answer, Page) and answer.may_render and _may_be_scripted(read):
            better = await self.fetcher.rendered(request)
            again = self._judged(await self._look(plan, better, page.url)) if isinstance(better, Page) else read
            await self.fetcher.learn(request, helped=again.good)
            read = again if again.good else read
        if not request.known and read.state is PageState.SAME:
            read = read.but(kept_validator=_kept_validator(page, read))
        if read.good and old_text is not None and read.text not in {None, old_text}:
            return await self._with_diff(plan.tenant_id, read, old_text)
        return read

    async def preview(
        self, plan: VisitPlan, url: str, find: str | None = None
    ) -> tuple[Reading, Mapping[str, Any], Sequence[Mapping[str, Any]]]:
        """What one visit finds, what stands around each value, and selectors for a text on the page."""
        answer = await self.fetcher.fetch(plan.request(url))
        if isinstance(answer, FetchFailure):
            return _missed(answer), {}, ()
        found = await self._look(plan, answer, url, explain=True)
        selectors: Sequence[Mapping[str, Any]] = ()
        if find:
            wanted = {"content_type": answer.content_type, "text": find}
            try:
                selectors = (await self.apart(selectors_for, answer.content, wanted, plan.tenant_id))["selectors"]
            except Unreadable:
                selectors = ()
        return self._judged(found), found[1] if isinstance(found, tuple) else {}, selectors

    async def _look(
        self, plan: VisitPlan, answer: Page, asked: str, *, explain: bool = False
    ) -> Reading | tuple[Page, Mapping[str, Any], WatchSettings]:
        if answer.status == 304:
            return Reading(state=PageState.SAME, unchanged=True)
        if answer.status in GONE:
            return failed(PageState.REMOVED, f"http_{answer.status}", GONE[answer.status])
        if answer.truncated:
            return failed(PageState.ERROR, "too_large", f"The page is larger than {LARGEST // 2**20} MiB.")
        kind = answer.content_type.lower()
        if kind and not any(word in kind for word in _TEXTUAL):
            return failed(PageState.ERROR, "not_text", f"The page is not text but {kind[:100]}.")
        wanted = {
            "about": {
                "content_type": answer.content_type,
                "url": answer.url,
                "status": answer.status,
                "asked": asked,
            },
            "reading": plan.settings.reading,
            "explain": explain,
        }
        try:
            return answer, await self.apart(read_watched, answer.content, wanted, plan.tenant_id), plan.settings
        except Unreadable as why:
            return failed(PageState.ERROR, "unreadable", f"The page could not be read: {why}.")

    def _judged(self, looked: Reading | tuple[Page, Mapping[str, Any], WatchSettings]) -> Reading:
        if isinstance(looked, Reading):
            return looked
        answer, read, settings = looked
        wrong = _closed(answer, read) or _lacking(read, settings)
        if wrong is not None:
            return wrong
        return Reading(
            state=PageState.SAME,
            fields=read["fields"],
            text=read["text"],
            etag=header(answer.headers, "etag")[:1000] or None,
            last_modified=header(answer.headers, "last-modified")[:64] or None,
        )

    async def _with_diff(self, tenant_id: str, read: Reading, old_text: str) -> Reading:
        body = (read.text or "").encode("utf-8", "replace")
        try:
            found = await self.apart(changed_lines, body, {"old": old_text, "most": MOST_DIFF}, tenant_id)
        except Unreadable:
            # Both texts are kept: the lines can be compared later.
            return read
        return read.but(diff=str(found["diff"]))

    async def listed(self, plan: VisitPlan) -> list[ListedPage]:
        """The pages that the watch's sitemap, feed or page of links names; `SourceUnreadable` when it names none."""
        sources = plan.settings.sources
        if sources.sitemap:
            found = await self._of_sitemap(plan, sources.sitemap)
        elif sources.feed:
            found = await self._of_feed(plan, sources.feed)
        else:
            found = await self._of_links(plan, str(sources.page), str(sources.links))
        pages: dict[str, ListedPage] = {}
        for url, modified in found:
            try:
                spelt = one_spelling(url)
                self.guard.check(spelt)
            except (BadUrl, Invalid):
                continue
            pages.setdefault(spelt, ListedPage(spelt, _moment(modified)))
            if len(pages) >= MOST_PAGES:
                break
        if not pages:
            raise SourceUnreadable("it names no page that may be visited")
        return list(pages.values())

    async def _of_links(self, plan: VisitPlan, url: str, selector: str) -> list[tuple[str, Any]]:
        page = await self._source(plan, url)
        wanted = {"content_type": page.content_type, "url": page.url, "selector": selector}
        found = await self._apart(read_links, page, wanted, plan)
        if not found["urls"]:
            raise SourceUnreadable(f"{selector} finds no link on it")
        return [(each, None) for each in found["urls"]]

    async def _of_feed(self, plan: VisitPlan, url: str) -> list[tuple[str, Any]]:
        page = await self._source(plan, url)
        wanted = {"content_type": page.headers.get("content-type", ""), "url": page.url, "limit": MOST_PAGES}
        read = await self._apart(read_feed, page, wanted, plan)
        if read["error"] is not None:
            raise SourceUnreadable(f"it is not a feed: {read['error']}")
        return [(each["url"], each.get("updated_at") or each.get("published_at")) for each in read["entries"]]

    async def _of_sitemap(self, plan: VisitPlan, url: str) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        waiting, seen = deque([(url, 0)]), {url}
        while waiting and len(found) < MOST_PAGES:
            place, depth = waiting.popleft()
            page, at = await self._source(plan, place), _START
            while at is not None and len(found) < MOST_PAGES:
                read = await self._apart(read_sitemap, page, {"url": page.url, "start": at}, plan)
                if read["error"] is not None:
                    raise SourceUnreadable(f"{place} is not a sitemap: {read['error']}")
                found += [(each["url"], each.get("lastmod")) for each in read["pages"]]
                for each in read["sitemaps"] if depth < DEEPEST else ():
                    if each not in seen and len(seen) < MOST_SITEMAPS:
                        seen.add(each)
                        waiting.append((each, depth + 1))
                at = read["next"]
        return found

    async def _source(self, plan: VisitPlan, url: str) -> Page:
        answer = await self.fetcher.fetch(plan.request(url, options=FetchOptions(robots=plan.settings.options.robots)))
        if isinstance(answer, FetchFailure):
            raise SourceUnreadable(answer.words)
        if answer.status != 200 or answer.truncated:
            raise SourceUnreadable(f"the host answered {answer.status}" if answer.status != 200 else "it is too large")
        return answer

    async def _apart(self, function: Any, page: Page, wanted: Mapping[str, Any], plan: VisitPlan) -> Mapping[str, Any]:
        try:
            read: Mapping[str, Any] = await self.apart(function, page.content, wanted, plan.tenant_id)
        except Unreadable as why:
            raise SourceUnreadable(f"it cannot be read: {why}") from None
        return read


def failed(state: PageState, code: str, message: str, fields: Mapping[str, Any] | None = None) -> Reading:
    return Reading(state=state, problem={"code": code, "message": message}, fields=fields or {})


def _closed(answer: Page, read: Mapping[str, Any]) -> Reading | None:
    """Why the answer is not the page."""
    if read["wall"] is not None:
        return failed(PageState.BLOCKED, str(read["wall"]), WALLS[read["wall"]])
    if answer.status in CLOSED:
        return failed(PageState.BLOCKED, f"http_{answer.status}", CLOSED[answer.status])
    if not 200 <= answer.status < 300:
        return failed(PageState.ERROR, f"http_{answer.status}", f"The host answered {answer.status}.")
    return None


def _lacking(read: Mapping[str, Any], settings: WatchSettings) -> Reading | None:
    """Why the page has not what is looked for."""
    if read["missing"]:
        said = f"Nothing was found for {', '.join(read['missing'])}: the page may have been redesigned."
        return failed(PageState.ERROR, "fields_missing", said, read["fields"])
    if not read["text"] and not settings.fields:
        return failed(PageState.ERROR, "empty_page", "There is no text to compare.")
    return None


def _missed(failure: FetchFailure) -> Reading:
    return failed(PageState.ERROR, failure.problem.code, failure.problem.message)


def _may_be_scripted(read: Reading) -> bool:
    return read.problem is not None and read.problem["code"] in _SCRIPTED


def _validators(plan: VisitPlan, page: WatchedPage) -> dict[str, str]:
    """Conditional headers of the last version, where it was read as pages are read now; now and then none, to learn
    whether the page's 304 can be believed.
    """
    if page.version_id is None or page.reading != plan.reading or page.state is PageState.REMOVED:
        return {}
    if not plan.conditional or page.visits % CHECK_EVERY == CHECK_EVERY - 1:
        return {}
    known = {"If-None-Match": page.etag, "If-Modified-Since": page.last_modified}
    return {name: value for name, value in known.items() if value}


def _kept_validator(page: WatchedPage, read: Reading) -> bool | None:
    """Whether the page has the validator that it would have been asked by; None where it had none."""
    if page.etag is not None:
        return read.etag == page.etag
    return None if page.last_modified is None else read.last_modified == page.last_modified


def _moment(raw: Any) -> datetime | None:
    try:
        return None if raw is None else moment("lastmod", str(raw))
    except Invalid:
        return None
