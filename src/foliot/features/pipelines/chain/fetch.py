"""Sends a step's HTTP request through egress; redirects are followed here, so that each is checked like the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

from foliot import __version__
from foliot.core.egress import Egress, EgressFailed, EgressRefused, OutgoingRequest
from foliot.core.errors import Invalid
from foliot.features.fetching.model import Page

LARGEST = 10 * 1024 * 1024
REDIRECTS = 10
AGENT = f"Foliot/{__version__}"
_MOVED = frozenset({301, 302, 303, 307, 308})
_PATIENCE = frozenset({408, 425, 429})


class FetchFailed(Exception):
    """No answer came; `permanent` when a retry would not help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRequest:
    """One HTTP request of a step."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str]
    body: bytes | None = None
    timeout: timedelta = timedelta(seconds=30)
    most: int = LARGEST
    follow: bool = True
    """Whether redirects are followed; for GET and HEAD only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A response of any status, and its URL after redirects."""

    url: str
    status: int
    headers: Mapping[str, str]
    """By lower-case names."""
    body: bytes
    truncated: bool

    rendered: bool = False

    @classmethod
    def of(cls, page: Page) -> Fetched:
        headers = dict(page.headers)
        if page.rendered is not None:
            headers["content-type"] = page.content_type
        return cls(
            url=page.url,
            status=page.status,
            headers=headers,
            body=page.content,
            truncated=page.truncated,
            rendered=page.rendered is not None,
        )

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def passing(self) -> bool:
        """Whether a later retry may get another answer."""
        return self.status in _PATIENCE or self.status >= 500


async def fetch(egress: Egress, tenant_id: str, ask: StepRequest) -> Fetched:
    """The response; `FetchFailed` when there is none."""
    url, headers = ask.url, {"User-Agent": AGENT, **ask.headers}
    for _ in range(REDIRECTS + 1):
        fetched = await _send(egress, tenant_id, ask, url, headers)
        location = fetched.headers.get("location")
        if not ask.follow or ask.method not in ("GET", "HEAD") or fetched.status not in _MOVED or not location:
            return fetched
        try:
            url, left = urljoin(url, location), url
            elsewhere = urlsplit(url)[:2] != urlsplit(left)[:2]
        except ValueError:
            raise FetchFailed("it redirects to something that is not a URL", permanent=True) from None
        if elsewhere:
            # Headers for one host, such as a token, are not sent to another.
            headers = {"User-Agent": AGENT}
    raise FetchFailed(f"it redirects more than {REDIRECTS} times", permanent=True)


async def _send(egress: Egress, tenant_id: str, ask: StepRequest, url: str, headers: Mapping[str, str]) -> Fetched:
    request = OutgoingRequest(
        method=ask.method,
        url=url,
        headers=headers,
        body=ask.body,
        timeout=ask.timeout,
        keep=ask.most,
        most=ask.most,
        tenant_id=tenant_id,
    )
    try:
        reply = await egress.send(request)
    except (EgressRefused, Invalid) as refused:
        raise FetchFailed(f"its address may not be called: {refused}", permanent=True) from None
    except EgressFailed as failed:
        raise FetchFailed(failed.message) from None
    return Fetched(
        url=url,
        status=reply.status,
        headers={name.lower(): value for name, value in reply.headers.items()},
        body=reply.body,
        truncated=reply.truncated,
    )
