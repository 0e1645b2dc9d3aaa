"""What a visit makes of a page: its state, its version, a change, an event for alerts, and its next visit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from foliot.core.ids import new_id
from foliot.features.watches.model.condition import TEXT
from foliot.features.watches.model.condition_nodes import Condition, Visit
from foliot.features.watches.model.watch import (
    CHANGE,
    MOST_DIFF,
    VERSION,
    ChangeKind,
    Crossing,
    PageChange,
    PageState,
    PageVersion,
    Watch,
    WatchedPage,
    digest_of,
    field_changes,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a visit found: values, that the page is unchanged (304) or gone, or why it could not be read."""

    state: PageState
    """`same` for values that are yet to be compared; `removed`, `blocked` or `error`."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    unchanged: bool = False
    problem: Mapping[str, Any] | None = None
    etag: str | None = None
    last_modified: str | None = None
    diff: str = ""
    """Of the texts, by lines; for a change."""
    kept_validator: bool | None = None
    """Of a page that was asked for without its validators: whether it has the same ones still."""

    @property
    def good(self) -> bool:
        return self.state in {PageState.SAME, PageState.REMOVED}

    def but(self, **values: Any) -> Reading:
        return replace(self, **values)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitResult:
    """What is to be written of a visit."""

    before: WatchedPage
    page: WatchedPage
    version: PageVersion | None = None
    text: str | None = None
    """Of the version."""
    change: PageChange | None = None
    event: bool = False
    """Whether alerts are told."""
    kept_validator: bool | None = None
    """As of its `Reading`."""


def counts(condition: Condition, at: Crossing, visit: Visit, *, level: bool) -> bool:
    """Whether a condition is true at a visit, and that counts. `level`: whether it was true already."""
    return condition.holds(visit) and (at is Crossing.EVERY_VISIT or not level)


def standing(condition: Condition | None, values: Mapping[str, Any] | None) -> bool:
    """Whether a condition is true of a page as it is, without a change: of one with `drops` it is not, so that the
    next drop counts too. `values` are None for a page that is gone.
    """
    return condition is not None and condition.holds(Visit(values, values, removed=values is None))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitJudge:
    """Judges the visits of one run of a watch."""

    watch: Watch
    run_id: str
    condition: Condition | None
    reading: str
    """Digest of how pages are read now."""

    def judge(self, page: WatchedPage, read: Reading, old_text: str | None, now: datetime) -> VisitResult:
        seen = replace(page, visits=page.visits + 1, last_visit_at=now, problem=read.problem, hinted=False)
        if not read.good:
            return VisitResult(before=page, page=replace(seen, state=read.state))
        seen = replace(seen, seen=page.seen + 1, last_read_at=now, run_id=self.run_id)
        seen = replace(seen, etag=read.etag, last_modified=read.last_modified)
        if read.state is PageState.REMOVED:
            return self._removed(page, seen, old_text, now)
        if read.unchanged:
            seen = replace(seen, etag=page.etag, last_modified=page.last_modified)
            read = replace(read, fields=page.fields, text=old_text)
        return self._read(page, seen, read, old_text, now)

    def _removed(self, page: WatchedPage, seen: WatchedPage, old_text: str | None, now: datetime) -> VisitResult:
        if page.state is PageState.REMOVED or page.version_id is None:
            known = page.version_id is not None and self.condition is not None
            event = known and self._counts(page, Visit(None, None, removed=True))
            return VisitResult(before=page, page=replace(seen, state=PageState.REMOVED), event=event)
        visit = Visit(self._values(page.fields, old_text), None, removed=True, changed=True)
        event = self._counts(page, visit)
        level = standing(self.condition, None)
        change = self._change(page, ChangeKind.REMOVED, now, matched=event, fields=field_changes(page.fields, None))
        gone = replace(
            seen, state=PageState.REMOVED, level=level, changes=page.changes + 1, last_change_at=now, etag=None,
            last_modified=None,
        )  # fmt: skip
        return VisitResult(before=page, page=gone, change=change, event=event)

    def _read(
        self, page: WatchedPage, seen: WatchedPage, read: Reading, old_text: str | None, now: datetime
    ) -> VisitResult:
        digest = page.digest if read.unchanged else digest_of([read.fields, read.text])
        again = page.state is PageState.REMOVED
        baseline = page.version_id is None or page.reading != self.reading
        differs = digest != page.digest
        fresh = page.version_id is None and page.found
        kind = self._kind(again=again or fresh, differs=differs and not baseline)
        old = None if page.version_id is None or baseline else self._values(page.fields, old_text)
        visit = Visit(old, self._values(read.fields, read.text), changed=kind is not None)
        # Without anything to compare with, it sets what the condition crosses from, and is no event.
        event = self._counts(page, visit) if fresh or not baseline else False
        level = standing(self.condition, visit.new)
        state = PageState.NEW if page.version_id is None or again else PageState.CHANGED if kind else PageState.SAME
        now_page = replace(seen, state=state, level=level, fields=read.fields, digest=digest, reading=self.reading)
        version = None
        if differs or page.version_id is None or baseline:
            version = self._version(page, read, str(digest), now)
            now_page = replace(now_page, version_id=version.id)
        if kind is None:
            return VisitResult(before=page, page=now_page, version=version, text=read.text, event=event)
        # A page that is new has no values before, also where it comes back.
        fields = field_changes(None if kind is ChangeKind.NEW else page.fields, read.fields)
        change = self._change(page, kind, now, matched=event, fields=fields, diff=read.diff)
        change = replace(change, version_id=now_page.version_id)
        counted = replace(now_page, changes=page.changes + 1, last_change_at=now)
        return VisitResult(before=page, page=counted, version=version, text=read.text, change=change, event=event)

    def _kind(self, *, again: bool, differs: bool) -> ChangeKind | None:
        if again:
            return ChangeKind.NEW
        return ChangeKind.CHANGED if differs else None

    def _counts(self, page: WatchedPage, visit: Visit) -> bool:
        """Whether the condition is true, and that counts; without one, every change does."""
        if self.condition is None:
            return visit.changed
        return counts(self.condition, self.watch.settings.at, visit, level=page.level)

    def _values(self, fields: Mapping[str, Any], text: str | None) -> dict[str, Any]:
        return {TEXT: text, **fields}

    def _version(self, page: WatchedPage, read: Reading, digest: str, now: datetime) -> PageVersion:
        return PageVersion(
            id=new_id(VERSION),
            tenant_id=page.tenant_id,
            watch_id=page.watch_id,
            page_id=page.id,
            at=now,
            digest=digest,
            fields=read.fields,
            expires_at=now + self.watch.settings.history,
            text_hash=None if read.text is None else digest_of(read.text),
        )

    def _change(
        self,
        page: WatchedPage,
        kind: ChangeKind,
        now: datetime,
        *,
        matched: bool,
        fields: Mapping[str, Mapping[str, Any]],
        diff: str = "",
    ) -> PageChange:
        return PageChange(
            id=new_id(CHANGE),
            tenant_id=page.tenant_id,
            watch_id=page.watch_id,
            page_id=page.id,
            url=page.url,
            at=now,
            kind=kind,
            matched=matched,
            fields=fields,
            diff=diff[:MOST_DIFF],
            expires_at=now + self.watch.settings.history,
            run_id=self.run_id,
            before_id=page.version_id,
        )
