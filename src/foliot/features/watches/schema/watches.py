"""Answers about watches, and requests to change or try one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from foliot.core.declaration import declared
from foliot.engine.model.schedule import ScheduleStatus
from foliot.features.watches.model.request import KEPT
from foliot.features.watches.model.watch import Crossing, PageState
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
class WatchLine:
    """The newest values of a numeric field, oldest first; null where a version had none."""

    field: str
    values: list[float | None]


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
    keep_pages: str
    """How long its pages are stored as they came, or `off`."""
    session: str | None
    """Whose cookies its pages are visited with."""
    browser: dict[str, Any] | None
    """What a browser does with its pages, where one renders them."""
    history: str
    expect: dict[str, Any] | None
    tags: list[str]
    fed_by: str | None
    """The task whose runs visit its pages, of a watch that was not created by a request."""
    schedule_id: str
    """The schedule whose runs visit its pages."""
    status: ScheduleStatus
    summary: str
    """When its pages are visited, in words."""
    pages: int
    states: dict[str, int]
    """How many pages are in each state; only for one watch."""
    line: WatchLine | None
    """Its first numeric field over time, of the page that changed last; only in a list of watches."""
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
            keep_pages=said.get("keep_pages") or KEPT,
            session=said.get("session"),
            browser=said.get("browser"),
            history=said["history"],
            expect=said.get("expect"),
            tags=said["tags"],
            fed_by=watch.settings.fed_by,
            schedule_id=watch.schedule_id,
            status=ScheduleStatus.DELETED if schedule is None else schedule.status,
            summary=summary_of(view),
            pages=watch.pages,
            states=dict(view.states),
            line=None if view.line is None else WatchLine(field=view.line.field, values=list(view.line.values)),
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


def summary_of(view: WatchView) -> str:
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
