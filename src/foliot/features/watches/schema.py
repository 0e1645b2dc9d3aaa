"""Answers about watches, their pages, versions and changes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from foliot.core.declaration import declared
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.watches.model.request import WatchRequest
from foliot.features.watches.model.revisit import shown_span
from foliot.features.watches.model.watch import ChangeKind, Crossing, PageState, PageVersion, WatchedPage
from foliot.features.watches.usecases.history import ListedChange, PageDiff, VersionView
from foliot.features.watches.usecases.preview import PreviewedPage, WatchPreview
from foliot.features.watches.usecases.watches import WatchView
from foliot.servers.http.schema import Name, Tags

MOST_LISTED = 20
"""URLs that a list of watches shows of each; one watch shows all."""


@declared(extra=True)
class WatchChange:
    """Fields to change, as in creating a watch; those that are absent stay, and null takes one away."""

    name: Name | None = None
    when: str | None = None
    at: Crossing | None = None
    schedule: dict[str, Any] | None = None
    revisit: dict[str, Any] | None = None
    tags: Tags | None = None


@declared(extra=True)
class WatchPreviewRequest:
    """A watch, whose name and time may be missing; `find` is a text on the page that selectors are wanted for."""

    urls: list[str] | None = None
    fields: dict[str, Any] | None = None
    when: str | None = None
    find: Annotated[str, Field(max_length=500)] | None = None


@declared
class WatchDetail:
    """A watch. Beside these fields it has those that it was created with."""

    id: str
    name: str
    urls: list[str] | None
    """In a list of watches at most 20."""
    sitemap: str | None
    feed: str | None
    links: dict[str, str] | None
    select: str | None
    text: str
    fields: dict[str, Any]
    ignore: list[Any]
    when: str | None
    at: Crossing
    schedule: dict[str, Any] | None
    revisit: dict[str, Any] | None
    render: str | None
    robots: str | None
    keep_pages: str | None
    history: str
    expect: dict[str, Any] | None
    tags: list[str]
    schedule_id: str
    """The schedule whose runs visit its pages."""
    status: ScheduleStatus
    summary: str
    """When its pages are visited, in words."""
    pages: int
    states: dict[str, int]
    """How many pages are in each state; only for one watch."""
    changes: int
    last_visit_at: datetime | None
    last_change_at: datetime | None
    next_visit_at: datetime | None
    problem: dict[str, Any] | None
    """Why its sitemap, feed or page of links could not be read."""
    feed_url: str | None
    """An Atom feed of the changes that count. The address is its credential; null for callers who may not change it."""
    created_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, view: WatchView, base: str, *, whole: bool = True) -> WatchDetail:
        watch, schedule, said = view.watch, view.schedule, view.watch.document
        urls = said.get("urls")
        return cls(
            id=watch.id,
            name=watch.settings.name,
            urls=urls if urls is None or whole else urls[:MOST_LISTED],
            sitemap=said.get("sitemap"),
            feed=said.get("feed"),
            links=said.get("links"),
            select=said.get("select"),
            text=watch.settings.text,
            fields=said.get("fields", {}),
            ignore=said.get("ignore", []),
            when=said.get("when"),
            at=watch.settings.at,
            schedule=said.get("schedule"),
            revisit=said.get("revisit"),
            render=said.get("render"),
            robots=said.get("robots"),
            keep_pages=said.get("keep_pages"),
            history=said["history"],
            expect=said.get("expect"),
            tags=said["tags"],
            schedule_id=watch.schedule_id,
            status=ScheduleStatus.DELETED if schedule is None else schedule.status,
            summary=_summary(view),
            pages=watch.pages,
            states=dict(view.states),
            changes=watch.changes,
            last_visit_at=watch.last_visit_at,
            last_change_at=watch.last_change_at,
            next_visit_at=view.next_visit_at,
            problem=None if watch.problem is None else dict(watch.problem),
            feed_url=None if view.key is None else f"{base}/api/watches/{watch.id}/feed.atom?key={view.key}",
            created_by=watch.created_by,
            created_at=watch.created_at,
            updated_at=watch.updated_at,
        )


def _summary(view: WatchView) -> str:
    rules = view.watch.settings.revisit
    if rules is not None:
        said = rules.as_dict()
        return f"{said['budget'].replace('/', ' visits a ')}, where pages change"
    return "" if view.schedule is None or view.schedule.fault else view.schedule.spec.trigger.summary


@declared
class WatchPage:
    """A list of watches, newest first."""

    items: list[WatchDetail]
    next_cursor: str | None


@declared
class WatchedPageDetail:
    """A page of a watch."""

    id: str
    url: str
    state: PageState
    fields: dict[str, Any]
    """As they were at the last visit that could read them."""
    problem: dict[str, Any] | None
    """Why the last visit could not read it."""
    visits: int
    changes: int
    """How many visits found a change."""
    first_at: datetime
    last_visit_at: datetime | None
    last_change_at: datetime | None
    next_visit_at: datetime | None
    why_then: str
    """Why it is visited then: `changed in 6 of 9 visits, about every 5 h; next in 2 h 10 min`."""
    version_id: str | None

    @classmethod
    def of(cls, page: WatchedPage, watch: WatchView, now: datetime) -> WatchedPageDetail:
        fires = None if watch.schedule is None else watch.schedule.next_at
        following = page.next_visit_at
        if following is None or (fires is not None and following < fires):
            following = fires
        return cls(
            id=page.id,
            url=page.url,
            state=page.state,
            fields=dict(page.fields),
            problem=None if page.problem is None else dict(page.problem),
            visits=page.visits,
            changes=page.changes,
            first_at=page.first_at,
            last_visit_at=page.last_visit_at,
            last_change_at=page.last_change_at,
            next_visit_at=following,
            why_then=_why(page, watch, following, now),
            version_id=page.version_id,
        )


def _why(page: WatchedPage, watch: WatchView, following: datetime | None, now: datetime) -> str:
    if watch.watch.settings.revisit is None:
        why = _summary(watch) or "by its schedule"
    else:
        why = page.why_then or "not visited yet"
    if following is None:
        return f"{why}; no visit is planned"
    left = (following - now).total_seconds()
    return f"{why}; next {'now' if left <= 0 else f'in {shown_span(left)}'}"


@declared
class WatchedPageList:
    """Pages of a watch, in the order in which they were added."""

    items: list[WatchedPageDetail]
    next_cursor: str | None


@declared
class PageVersionDetail:
    """What a page said from a time on."""

    id: str
    at: datetime
    fields: dict[str, Any]
    has_text: bool
    text: str | None
    """Only for one version."""

    @classmethod
    def of(cls, view: VersionView | PageVersion) -> PageVersionDetail:
        version, text = (view, None) if isinstance(view, PageVersion) else (view.version, view.text)
        return cls(
            id=version.id, at=version.at, fields=dict(version.fields), has_text=version.text_hash is not None, text=text
        )


@declared
class PageVersionList:
    """Versions of a page, newest first."""

    items: list[PageVersionDetail]
    next_cursor: str | None


@declared
class DiffPart:
    """A text that both versions have, that only the old one has, or only the new one."""

    sign: Literal["=", "-", "+"]
    text: str


@declared
class PageDiffDetail:
    """What differs between two versions of a page."""

    before: PageVersionDetail
    after: PageVersionDetail
    fields: dict[str, dict[str, Any]]
    """By name: `{"old": …, "new": …}`."""
    parts: list[DiffPart]
    """Of the texts; empty where only fields are compared."""
    cut: bool
    """Whether there is more than is shown."""

    @classmethod
    def of(cls, diff: PageDiff) -> PageDiffDetail:
        return cls(
            before=PageVersionDetail.of(diff.before),
            after=PageVersionDetail.of(diff.after),
            fields={name: dict(both) for name, both in diff.fields.items()},
            parts=[DiffPart(sign=sign, text=text) for sign, text in diff.parts],  # type: ignore[arg-type]
            cut=diff.cut,
        )


@declared
class ChangeDetail:
    """A change of a page."""

    id: str
    seq: int
    """Numbers the changes of a tenant without gaps: continue after the last one by `after`."""
    watch_id: str
    watch: str
    """The name of the watch."""
    page_id: str
    url: str
    at: datetime
    kind: ChangeKind
    matched: bool
    """Whether it counts: the condition of the watch became true."""
    fields: dict[str, dict[str, Any]]
    """By name: `{"old": …, "new": …}`."""
    diff: str
    """The first lines of the text that went and came."""
    run_id: str | None
    version_id: str | None
    before_id: str | None
    """The version before, for `…/diff?from=`."""

    @classmethod
    def of(cls, listed: ListedChange) -> ChangeDetail:
        change = listed.change
        return cls(
            id=change.id,
            seq=change.seq,
            watch_id=change.watch_id,
            watch=listed.watch,
            page_id=change.page_id,
            url=change.url,
            at=change.at,
            kind=change.kind,
            matched=change.matched,
            fields={name: dict(both) for name, both in change.fields.items()},
            diff=change.diff,
            run_id=change.run_id,
            version_id=change.version_id,
            before_id=change.before_id,
        )


@declared
class ChangeList:
    """Changes of all watches."""

    items: list[ChangeDetail]
    next_cursor: str | None
    last_seq: int | None
    """The highest number of this page, for `after`; null when it is empty."""


@declared
class PreviewPage:
    """What one visit of a page found."""

    url: str
    state: PageState
    fields: dict[str, Any]
    around: dict[str, str | None]
    """The text in which each value stands."""
    text: str | None
    """What would be compared, or the page's text; at most 20,000 characters."""
    missing: list[str]
    hints: dict[str, str]
    """What a selector that found nothing may have meant."""
    problem: dict[str, Any] | None
    selectors: list[dict[str, Any]]
    """For `find`: selectors of that text, the most robust first."""

    @classmethod
    def of(cls, page: PreviewedPage) -> PreviewPage:
        return cls(
            url=page.url,
            state=page.state,
            fields=dict(page.fields),
            around=dict(page.around),
            text=page.text,
            missing=list(page.missing),
            hints=dict(page.hints),
            problem=None if page.problem is None else dict(page.problem),
            selectors=[dict(each) for each in page.selectors],
        )


@declared
class WatchPreviewAnswer:
    """What a watch would find now; nothing is stored."""

    pages: list[PreviewPage]
    when: bool | None
    """Whether the condition is true now, without a version before."""
    listed: int | None
    """How many pages its sitemap, feed or page of links names."""
    problems: list[str]

    @classmethod
    def of(cls, preview: WatchPreview) -> WatchPreviewAnswer:
        pages = [PreviewPage.of(page) for page in preview.pages]
        return cls(pages=pages, when=preview.when, listed=preview.listed, problems=list(preview.problems))


__all__ = ["WatchRequest"]
