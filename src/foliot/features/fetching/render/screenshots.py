"""Screenshots of pages that a browser could not render: stored pages of what the page was fetched for."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import timedelta

from foliot.features.fetching.model import FetchFailure, FetchRequest, KeepPage, Page, host_of

KEPT = timedelta(days=7)
MOST = 5
"""Of one run, or of the articles of one host, in an hour: further ones would show the same."""
HOUR = 3600.0
SUBJECTS = 1000


@dataclass(slots=True, kw_only=True)
class Screenshots:
    """Stores them within the tenant's quota of pages, as JPEG and with the status 0."""

    keeper: KeepPage | None = None
    _lately: OrderedDict[tuple[str, str], tuple[float, int]] = field(default_factory=OrderedDict)
    """When the first of the hour was taken, and how many were."""

    def wanted(self, request: FetchRequest) -> bool:
        """Whether one is taken if the page fails."""
        if self.keeper is None or not request.source.kind:
            return False
        at, count = self._lately.get(_subject(request), (_now(), 0))
        return count < MOST or _now() - at > HOUR

    async def kept(self, failure: FetchFailure, request: FetchRequest, shot: bytes) -> FetchFailure:
        """The failure, naming the screenshot where one was stored."""
        if self.keeper is None:
            return failure
        page = Page(url=request.url, status=0, headers={"content-type": "image/jpeg"}, body=shot)
        page_id = await self.keeper.keep(page, replace(request, options=replace(request.options, keep=KEPT)))
        if page_id is None:
            return failure
        subject = _subject(request)
        at, count = self._lately.pop(subject, (_now(), 0))
        self._lately[subject] = (_now(), 1) if _now() - at > HOUR else (at, count + 1)
        if len(self._lately) > SUBJECTS:
            self._lately.popitem(last=False)
        message = f"{failure.problem.message} A screenshot is stored as {page_id}."
        return replace(failure, problem=replace(failure.problem, message=message))


def _subject(request: FetchRequest) -> tuple[str, str]:
    return request.tenant_id, host_of(request.url) if request.source.kind == "article" else request.source.id


def _now() -> float:
    return asyncio.get_running_loop().time()
