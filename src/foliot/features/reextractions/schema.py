"""Answers about new readings of stored pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from foliot.core.declaration import declared
from foliot.features.reextractions.model import StoredPageVersion
from foliot.features.reextractions.usecases import ReextractEstimate


@declared
class StoredPageVersionInfo:
    """What one reading found on a stored page."""

    id: str
    page_id: str
    url: str
    bulk_id: str
    """The bulk action that read it."""
    at: datetime
    reading: dict[str, Any]
    """`select`, `extractor` or `pipeline`, as it was asked for."""
    items: list[dict[str, Any]]
    """One item of fields; a pipeline may find several."""
    expires_at: datetime

    @classmethod
    def of(cls, version: StoredPageVersion) -> StoredPageVersionInfo:
        return cls(
            id=version.id,
            page_id=version.page_id,
            url=version.url,
            bulk_id=version.bulk_id,
            at=version.at,
            reading=dict(version.reading),
            items=[dict(item) for item in version.found],
            expires_at=version.expires_at,
        )


@declared
class StoredPageVersionList:
    """Versions of stored pages, newest first."""

    items: list[StoredPageVersionInfo]
    next_cursor: str | None


@declared
class CoverageOfField:
    """The share of pages on which a field has a value."""

    before: float | None
    """On the pages of the sample that had been read before; null where none had."""
    after: float


@declared
class ReextractSample:
    """One page of the trial."""

    page_id: str
    url: str
    before: list[dict[str, Any]] | None
    """What was last found on it: by another reading, as an article, or by a watch."""
    after: list[dict[str, Any]]
    problem: str | None
    """Why it could not be read."""


@declared
class ReextractDryRun:
    """What a new reading would find."""

    dry_run: bool
    count: int
    """Pages that match."""
    looked_at: int
    """Pages that were read for this answer: the newest."""
    failed: int
    """How many of them could not be read."""
    coverage: dict[str, CoverageOfField]
    """By the field's name."""
    sample: list[ReextractSample]

    @classmethod
    def of(cls, estimate: ReextractEstimate) -> ReextractDryRun:
        return cls(
            dry_run=True,
            count=estimate.count,
            looked_at=estimate.looked_at,
            failed=estimate.failed,
            coverage={one.name: CoverageOfField(before=one.before, after=one.after) for one in estimate.coverage},
            sample=[
                ReextractSample(
                    page_id=one.page.id,
                    url=one.page.url,
                    before=None if one.before is None else [dict(item) for item in one.before],
                    after=[dict(item) for item in one.found.items],
                    problem=one.found.problem,
                )
                for one in estimate.sample
            ],
        )
