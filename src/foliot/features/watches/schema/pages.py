"""Answers about pages of watches, their versions and differences."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from foliot.core.declaration import declared
from foliot.features.watches.model.revisit import shown_span
from foliot.features.watches.model.watch import PageState, PageVersion, WatchedPage
from foliot.features.watches.schema.watches import summary_of
from foliot.features.watches.usecases.history import PageDiff, VersionView
from foliot.features.watches.usecases.watches import WatchView


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
        why = summary_of(watch) or "by its schedule"
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
