"""Validates the configuration of a batch of articles; the error names every bad and every repeated URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Protocol

from annotated_types import Interval, MaxLen, MinLen

from foliot.core.declaration import Described, Parsed, Wire, as_given, declared, read
from foliot.core.document import Fields, choose
from foliot.core.errors import Invalid, InvalidMany
from foliot.engine.model.run import DEFAULT_PRIORITY
from foliot.features.articles.model import MOST_ARTICLES
from foliot.features.expectations.model.facts import EXPECT
from foliot.features.expectations.model.read import OF_COUNTS, read_expect
from foliot.features.fetching.browser_actions import BrowserActions, as_document, read_actions
from foliot.features.fetching.model import DEFAULT_OPTIONS, FetchOptions, Render, Robots, kept_for, read_kept
from foliot.features.fetching.page_session import read_session
from foliot.features.fetching.url import MOST_URL, BadUrl, one_spelling

MOST_LABEL = 200
MOST_AGE = 365 * 24 * 3600
MOST_COMPLAINTS = 100
"""How many bad URLs one answer names."""
JUDGED = OF_COUNTS | {"coverage"}
"""What can be expected of a batch; the fields of an article are those of its results."""
_UNLABELLED: Mapping[str, Any] = {"source": "", "category": "", "priority": DEFAULT_PRIORITY}


@declared
class ArticleRequest:
    """One page."""

    url: Annotated[str, MaxLen(MOST_URL), Described({"examples": ["https://example.com/news/1"]}), Parsed(as_given)]
    source: Annotated[str, MaxLen(MOST_LABEL)] = ""
    category: Annotated[str, MaxLen(MOST_LABEL)] = ""
    priority: Annotated[int, Interval(ge=1, le=10)] = DEFAULT_PRIORITY
    """1 is the most urgent."""


OPTIONS = ("render", "robots", "keep_pages", "session", "browser")
"""How the pages of a batch are fetched."""


def _kept(where: str, raw: Any) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str):
        raise Invalid(where, "must be a duration, such as 30d", got=_brief(raw))
    read_kept(where, raw)
    return raw


def options_of(config: Mapping[str, Any]) -> FetchOptions:
    """How the pages of a stored batch are fetched."""
    if not any(config.get(name) for name in OPTIONS):
        return DEFAULT_OPTIONS
    return FetchOptions(
        render=Render(config["render"]) if config.get("render") else None,
        robots=Robots(config["robots"]) if config.get("robots") else None,
        keep=kept_for(config.get("keep_pages")),
        session=config.get("session"),
        browser=read_actions("browser", config["browser"]) if config.get("browser") else None,
    )


def _session(where: str, raw: Any) -> str | None:
    return None if raw is None else read_session(where, raw)


def _browser(where: str, raw: Any) -> dict[str, Any] | None:
    return None if raw is None else dict(as_document(read_actions(where, raw)))


def _expect(where: str, raw: Any) -> dict[str, Any]:
    return read_expect(raw, where, kinds=JUDGED)


@declared
class ArticleJobRequest:
    """A job of articles."""

    articles: Annotated[
        Any,
        Wire(Annotated[list[ArticleRequest], MinLen(1), MaxLen(MOST_ARTICLES)]),
    ]
    ignore_cache: bool = False
    """Fetch every page anew."""
    max_age_seconds: Annotated[int | None, Interval(ge=0, le=MOST_AGE)] = None
    """How old a page may be that is not fetched again."""
    expect: Annotated[dict[str, Any] | None, Parsed(_expect)] = None
    """What the data must be like; otherwise the job ends as `degraded`: `{"items": ">= 100", "coverage": {"author":
    "80%"}}`."""
    render: Render | None = None
    """Whether a browser renders its pages; `auto` where one is set up, unless the host's settings say otherwise."""
    robots: Robots | None = None
    """`ignore`: pages that robots.txt disallows are fetched too."""
    keep_pages: Annotated[str | None, Parsed(_kept), Wire(str | None)] = None
    """How long each page is kept as it came, such as `30d`; pages from the cache are not fetched, and not kept."""

    session: Annotated[str | None, Parsed(_session), Wire(str | None)] = None
    """Name of the session whose cookies its pages are fetched with, where their host has one."""
    browser: Annotated[dict[str, Any] | None, Parsed(_browser), Wire(BrowserActions | None)] = None
    """What a browser does with its pages, where one renders them."""

    @property
    def options(self) -> dict[str, Any]:
        """What it says about how its pages are fetched, in the stored form."""
        values = {name: value for name in OPTIONS if (value := getattr(self, name)) is not None}
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in values.items()}


class ArticleTargets(Protocol):
    """The SSRF guard: which URLs may be requested."""

    def check(self, url: str) -> None: ...


def read_config(config: Mapping[str, Any], targets: ArticleTargets) -> dict[str, Any]:
    """The stored form: `articles`, each with its URL in one spelling, `max_age_seconds`, and how they are fetched."""
    fields = Fields.of("", config)
    given = fields.value("articles")
    max_age = fields.integer("max_age_seconds", 0, low=0, high=MOST_AGE)
    named = "max_age_seconds" in fields.raw and fields.raw["max_age_seconds"] is not None
    expect = fields.value(EXPECT)
    stored: dict[str, Any] = {}
    for name, options in (("render", Render), ("robots", Robots)):
        if (value := fields.value(name)) is not None:
            stored[name] = str(choose(name, value, options=options))
    if (kept := _kept("keep_pages", fields.value("keep_pages"))) is not None:
        stored["keep_pages"] = kept
    if (session := _session("session", fields.value("session"))) is not None:
        stored["session"] = session
    if browser := _browser("browser", fields.value("browser")):
        stored["browser"] = browser
    fields.finish()
    if not isinstance(given, Sequence) or isinstance(given, str | bytes) or not given:
        raise Invalid("articles", f"must be a list of 1 to {MOST_ARTICLES:,} articles", got=_brief(given))
    if len(given) > MOST_ARTICLES:
        raise Invalid("articles", f"must be at most {MOST_ARTICLES:,} articles", got=f"{len(given):,}")
    stored["articles"] = _articles(given, targets)
    if expect is not None:
        stored[EXPECT] = read_expect(expect, kinds=JUDGED)
    return stored | ({"max_age_seconds": max_age} if named else {})


def _articles(given: Sequence[Any], targets: ArticleTargets) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    wrong: list[Invalid] = []
    for at, one in enumerate(given):
        try:
            article = _article(at, one, targets)
        except Invalid as error:
            wrong += error.errors if isinstance(error, InvalidMany) else [error]
        else:
            first = seen.setdefault(article["url"], at)
            if first != at:
                said = f"is the same page as articles.{first}"
                wrong.append(Invalid(f"articles.{at}.url", said, got=_brief(_given(one))))
            read.append(article)
        if len(wrong) >= MOST_COMPLAINTS:
            break
    if wrong:
        raise wrong[0] if len(wrong) == 1 else InvalidMany(wrong)
    return read


def _article(at: int, one: Any, targets: ArticleTargets) -> dict[str, Any]:
    if isinstance(one, str):
        # Ten thousand of these come at once.
        given, labels = one, _UNLABELLED
    else:
        article = read(ArticleRequest, one, f"articles.{at}")
        given = article.url
        labels = {"source": article.source, "category": article.category, "priority": article.priority}
    try:
        url = one_spelling(given)
        targets.check(url)
    except BadUrl as error:
        raise Invalid(f"articles.{at}.url", str(error), got=_brief(given)) from None
    except Invalid as error:
        raise Invalid(f"articles.{at}.url", error.message, got=_brief(given)) from None
    return {"url": url, **labels}


def _given(one: Any) -> Any:
    return one if isinstance(one, str) else one["url"]


def _brief(value: object) -> str | None:
    return None if value is None else str(value)[:200]
