"""Requests for pages, their options and answers, and the settings of hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from foliot.core.access import KEEPER
from foliot.core.duration import duration_between
from foliot.core.errors import Invalid
from foliot.engine.model.run import AttemptError
from foliot.features.fetching.access import NO_ACCESS, HostAccess
from foliot.features.fetching.browser_actions import BrowserActions, as_document, read_actions
from foliot.features.fetching.page_session import PageSession
from foliot.features.fetching.politeness import SLOW_START, Politeness, slower

MOST_PAGE = 20 * 1024 * 1024
"""Bytes of one page, decompressed."""

NO_WORD = "# no word"
"""Stored in place of a robots.txt that was unavailable: no page is fetched, and it is requested again soon."""
NO_WORD_KEPT = timedelta(minutes=2)


def host_of(url: str) -> str:
    """The host of a normalised URL, with the port where it is not the default."""
    return url.partition("://")[2].partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUpdate:
    """What a response says about its host: robots.txt, crawl delay, `Retry-After`."""

    pause: timedelta | None = None
    """The host asked for this pause: for this tenant, and for all once several tenants are asked."""
    robots: str | None = None
    crawl_delay: timedelta | None = None
    well: bool = False
    """A good answer, which shortens the interval of a slowed host."""
    latency: timedelta | None = None
    """Answers take far longer than they did, now this long: the interval grows up to that, without a pause."""
    path: str = ""
    """Of the request whose answer asks for a slower pace: what two paths were asked for holds for all tenants."""
    reason: str | None = None
    """For people."""

    @property
    def asks(self) -> bool:
        """Whether the host wants fewer requests."""
        return bool(self.pause) or self.latency is not None

    def slowed(self, interval: timedelta) -> timedelta:
        """The interval after this answer: doubled; for a high latency, at most one request in that time."""
        if self.pause or self.latency is None:
            return slower(interval)
        return max(interval, min(slower(interval), max(self.latency, SLOW_START)))


NO_NEWS = HostUpdate()
"""Most answers say nothing about their host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailure:
    """Why there is no page, and whether and when to retry."""

    problem: AttemptError
    permanent: bool = False
    retry_after: timedelta | None = None
    pause: timedelta | None = None
    """How long this tenant sends no request to the host."""

    @property
    def words(self) -> str:
        """As part of a sentence about the page."""
        if self.problem.code == "address_refused":
            return f"its address may not be called: {self.problem.message}"
        return self.problem.message[:1].lower() + self.problem.message[1:].rstrip(".")


@dataclass(frozen=True, slots=True)
class PageUnchanged:
    """304: the page has not changed since it was last fetched."""


@dataclass(frozen=True, slots=True)
class PageMoved:
    """A redirect, also within the host: the next request needs another claim."""

    url: str


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The robots.txt of a host, stored for all workers, and its crawl delay."""

    robots: str
    crawl_delay: timedelta | None = None
    pause: timedelta | None = None
    """How long the host is paused when its robots.txt is unavailable."""


class Render(StrEnum):
    """Whether a browser renders a page before it is read."""

    NEVER = "never"
    AUTO = "auto"
    """Only when the page as it came has nothing to read."""
    ALWAYS = "always"


class Robots(StrEnum):
    """Whether robots.txt decides what is fetched."""

    RESPECT = "respect"
    IGNORE = "ignore"
    """Pages that robots.txt disallows are fetched too; limits and pauses of the host hold all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """What a batch, a pipeline step, a watch or a task says about how its pages are fetched."""

    render: Render | None = None
    """None: as the host's settings say, else the default."""
    robots: Robots | None = None
    """None: as the host's settings say, else `respect`."""
    keep: timedelta | None = None
    """How long the page is stored as it came; None: it is not."""
    browser: BrowserActions | None = None
    """What a browser does with the page before it is read, where one renders it."""
    access: HostAccess = NO_ACCESS
    """Headers and proxy of the host; from its settings."""
    session: str | None = None
    """Name of the session whose cookies are sent to its host."""

    def __bool__(self) -> bool:
        return self != DEFAULT_OPTIONS

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> FetchOptions:
        """From its stored form."""
        if not stored:
            return DEFAULT_OPTIONS
        keep = stored.get("keep_pages")
        return cls(
            render=Render(stored["render"]) if stored.get("render") else None,
            robots=Robots(stored["robots"]) if stored.get("robots") else None,
            keep=None if keep is None else timedelta(seconds=keep),
            browser=read_actions("browser", stored["browser"]) if stored.get("browser") else None,
            session=stored.get("session"),
        )

    def as_dict(self) -> dict[str, Any]:
        """The stored form: what was said."""
        keep = None if self.keep is None else int(self.keep.total_seconds())
        browser = None if self.browser is None else dict(as_document(self.browser))
        values: dict[str, Any] = {"render": self.render, "robots": self.robots, "keep_pages": keep}
        values |= {"browser": browser, "session": self.session}
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in values.items() if value}


DEFAULT_OPTIONS = FetchOptions()
SHORTEST_KEPT = timedelta(hours=1)
LONGEST_KEPT = timedelta(days=3650)
read_kept = duration_between(SHORTEST_KEPT, LONGEST_KEPT)
"""Reads `keep_pages`: `12h`, `30d`."""


def check_kept(raw: str) -> str:
    """`keep_pages` as it was given; for declarations of pydantic."""
    try:
        read_kept("keep_pages", raw)
    except Invalid as wrong:
        raise ValueError(wrong.message) from None
    return raw


def kept_for(raw: str | None) -> timedelta | None:
    return None if raw is None else read_kept("keep_pages", raw)


class PageSource(NamedTuple):
    """What a page was fetched for: `article`, `run` or `watch`, and its id."""

    kind: str = ""
    id: str = ""


UNNAMED = PageSource()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """One page that is wanted, and how."""

    url: str
    tenant_id: str
    options: FetchOptions = DEFAULT_OPTIONS
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent to the host of `url` only: a redirect to another host leaves them out."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Conditional headers of the version that is stored: If-None-Match, If-Modified-Since."""
    body: bytes | None = None
    timeout: timedelta = timedelta(seconds=30)
    """Of each request; waiting for the host's turn does not count."""
    most: int = MOST_PAGE
    """Bytes of the body that are read, decompressed."""
    follow: bool = True
    """Whether redirects are followed."""
    source: PageSource = UNNAMED
    latest: float | None = None
    """By the loop's clock: when it is too late to send it in this turn."""
    proxy: str | None = field(default=None, repr=False)
    """URL of an upstream proxy."""
    session: PageSession | None = field(default=None, repr=False)
    """Whose cookies it sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """An answer of any status."""

    url: str
    """After redirects."""
    status: int
    headers: Mapping[str, str]
    """By lower-case names."""
    body: bytes
    """As it came, decompressed."""
    truncated: bool = False
    rendered: bytes | None = None
    """The document after its scripts have run, as HTML in UTF-8; None when no browser was asked."""
    may_render: bool = False
    """Whether a browser may be asked, if there is nothing to read here."""
    elapsed: timedelta = timedelta()
    cookies: Sequence[Any] | None = field(default=None, repr=False)
    """`Set-Cookie` headers; of a rendered page, the cookies that the browser has."""
    first_byte: timedelta | None = None
    """From the request on an open connection to the first byte of the answer."""

    @property
    def content(self) -> bytes:
        """What is to be read: the rendered document, else the body."""
        return self.body if self.rendered is None else self.rendered

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "") if self.rendered is None else "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """What people set for a host; None: as learnt, or the default."""

    rate: float | None = None
    """Requests per second; 0: no limit."""
    concurrency: int | None = None
    robots: Robots | None = None
    render: Render | None = None
    access: HostAccess = NO_ACCESS
    """For requests of the operator's own tenant."""

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> HostSettings:
        """From its stored form; what a newer version wrote is ignored."""
        if not stored:
            return UNSET
        return cls(
            rate=stored.get("rate"),
            concurrency=stored.get("concurrency"),
            robots=Robots(stored["robots"]) if stored.get("robots") in set(Robots) else None,
            render=Render(stored["render"]) if stored.get("render") in set(Render) else None,
            access=HostAccess(headers=stored.get("headers") or {}, proxy=stored.get("proxy")),
        )

    def as_dict(self) -> dict[str, Any]:
        values = {
            "rate": self.rate,
            "concurrency": self.concurrency,
            "robots": self.robots,
            "render": self.render,
            "headers": dict(self.access.headers) or None,
            "proxy": self.access.proxy,
        }
        return {name: value for name, value in values.items() if value is not None}

    def manners(self, default: Politeness) -> Politeness:
        """The default limits, with these in their place."""
        if self.rate is None and self.concurrency is None:
            return default
        interval = default.interval
        if self.rate is not None:
            interval = timedelta(seconds=1 / self.rate) if self.rate else timedelta()
        return replace(default, interval=interval, together=self.concurrency or default.together)


UNSET = HostSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTurn:
    """Permission to send one request to a host now."""

    host: str
    tenant_id: str
    robots: str | None = None
    """The stored robots.txt of the host."""
    robots_due: bool = False
    """This turn is for robots.txt; the page needs another one."""
    slowed: bool = False
    """The host's interval is longer than the default, because of its answers."""
    settings: HostSettings = UNSET
    latest: float | None = None
    """By the loop's clock: a request that starts later comes too close to the next one."""


def options_at(options: FetchOptions, settings: HostSettings, tenant_id: str) -> FetchOptions:
    """With the host's settings where a request says nothing itself."""
    if settings.access and tenant_id == KEEPER:
        options = replace(options, access=settings.access)
    if (options.robots is None and settings.robots) or (options.render is None and settings.render):
        return replace(options, robots=options.robots or settings.robots, render=options.render or settings.render)
    return options


class Renderer(Protocol):
    """Renders pages in a browser. It is called when the host's turn has come and robots.txt allows the page."""

    async def render(self, request: FetchRequest) -> Page | FetchFailure:
        """The page with `rendered` set; `FetchFailure` when the browser got none."""
        ...

    async def close(self) -> None:
        """End its browsers."""
        ...


class KeepPage(Protocol):
    """Stores pages as they came, for as long as their requests say."""

    async def keep(self, page: Page, request: FetchRequest) -> str | None: ...
