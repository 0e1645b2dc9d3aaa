"""Answers about stored pages."""

from __future__ import annotations

from datetime import datetime

from foliot.core.declaration import declared
from foliot.features.stored_pages.model import StoredPage


@declared
class StoredPageInfo:
    """A page as it was fetched; its body is at `/api/pages/{id}/body`."""

    id: str
    url: str
    """After redirects."""
    fetched_at: datetime
    status: int
    content_type: str
    headers: dict[str, str]
    """Of the answer, without cookies."""
    bytes: int
    stored_bytes: int
    """Compressed; equal bodies of a tenant are stored once."""
    rendered: bool
    article_id: str | None
    watch_id: str | None
    run_id: str | None
    expires_at: datetime

    @classmethod
    def of(cls, page: StoredPage) -> StoredPageInfo:
        source = {page.source_kind: page.source_id}
        return cls(
            id=page.id,
            url=page.url,
            fetched_at=page.fetched_at,
            status=page.status,
            content_type=page.content_type,
            headers=dict(page.headers),
            bytes=page.bytes,
            stored_bytes=page.stored_bytes,
            rendered=page.rendered,
            article_id=source.get("article"),
            watch_id=source.get("watch"),
            run_id=source.get("run"),
            expires_at=page.expires_at,
        )


@declared
class StoredPageList:
    """Stored pages, newest first."""

    items: list[StoredPageInfo]
    next_cursor: str | None
