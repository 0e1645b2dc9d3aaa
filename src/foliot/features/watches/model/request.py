"""Requests about watches, read into settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Protocol

from annotated_types import MaxLen, MinLen

from foliot.core.declaration import OR_NULL, Described, Name, Parsed, Wire, as_given, declared, in_order, read_fields
from foliot.core.document import Complaints, Fields, check_object, check_text, choose
from foliot.core.duration import duration_between, shown_duration
from foliot.core.errors import Invalid, InvalidMany
from foliot.features.expectations.model.facts import EXPECT
from foliot.features.expectations.model.read import read_expect
from foliot.features.fetching.browser_actions import BrowserActions, read_actions
from foliot.features.fetching.browser_actions import as_document as actions_document
from foliot.features.fetching.model import FetchOptions, Render, Robots, read_kept
from foliot.features.fetching.page_session import read_session
from foliot.features.fetching.url import BadUrl, one_spelling
from foliot.features.schedules.model.request import Tags
from foliot.features.watches.model.condition import parse_condition
from foliot.features.watches.model.revisit import PERIODS, RevisitAim, RevisitRules
from foliot.features.watches.model.watch import MOST_PAGES, Crossing, FieldType, PageSources, WatchSettings
from foliot.pages.selectors import as_xpath, compiled

MOST_FIELDS = 50
MOST_IGNORED = 50
MOST_SELECTOR = 2000
MOST_SCHEDULE = 40
KEPT = "30d"
"""How long the pages of a watch are stored, unless it says otherwise."""
OFF = "off"
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_RESERVED = frozenset({"old", "new", "and", "or", "not", "true", "false", "removed"})
_BUDGET = re.compile(r"\s*(\d{1,9})\s*/\s*(minute|hour|day|week)\s*")
_HISTORY = duration_between(timedelta(days=1), timedelta(days=3650))
_AT_MOST = duration_between(timedelta(seconds=10), timedelta(days=30))
_AT_LEAST = duration_between(timedelta(minutes=1), timedelta(days=90))
_WAYS = ("css", "xpath", "json", "regex")
_WHAT = ("whitespace", "dates", "numbers")
OF_WHOLE_VISITS = ("items", "items_vs_baseline", "duration")
"""What can be expected only of runs that visit every page. The items are the pages that could be read."""


class PageGuard(Protocol):
    """The SSRF guard: which URLs may be requested."""

    def check(self, url: str) -> None: ...


@declared
class WatchRequest:
    """Pages, how they are read, when they are visited, and which changes count."""

    name: Name
    urls: Annotated[Any, Wire(Annotated[list[str], MinLen(1), MaxLen(MOST_PAGES)]), Parsed(as_given)] = None
    """The pages; or one of `sitemap`, `feed` and `links`, which find them."""
    sitemap: Annotated[str | None, Parsed(as_given)] = None
    feed: Annotated[str | None, Parsed(as_given)] = None
    links: Annotated[
        Any, Wire(dict[str, str]), Described({"examples": [{"css": "a.product", "from": "https://shop.example/"}]})
    ] = None
    select: Annotated[str | None, Parsed(as_given)] = None
    """The part of a page whose text is compared: a CSS selector, an XPath, or a path into JSON such as
    `$.offers[0]`. Without it, and without `fields`, the whole text is."""
    text: Annotated[str, MaxLen(16), OR_NULL] = "whole"
    """`whole`, or `article` for the main text of a page."""
    fields: Annotated[
        dict[str, Any] | None, Described({"examples": [{"price": {"css": ".price", "type": "price"}}]})
    ] = None
    """By name: a selector, or `{css|xpath|json|regex, type, optional}`; types are text, number, price, date, list
    and link. A price without a selector is found by the page's structured data."""
    ignore: Annotated[Any, Wire(list[Any]), Parsed(as_given)] = None
    """What is left out before texts are compared: CSS selectors, `{xpath}`, `{regex}`, `whitespace`, `dates`,
    `numbers`."""
    when: Annotated[str | None, MaxLen(1000), Described({"examples": ["drops(price, 10%) or removed"]})] = None
    """Which changes count; every one does without it."""
    at: Annotated[Crossing, OR_NULL] = Crossing.CROSSING
    schedule: Annotated[
        dict[str, Any] | None, Described({"examples": [{"type": "interval", "interval_seconds": 3600}]})
    ] = None
    """When pages are visited, as a schedule's document says it; or `revisit`."""
    revisit: Annotated[
        dict[str, Any] | None,
        Described({"examples": [{"budget": "5000/day", "at_most": "15m", "at_least": "7d", "aim": "prompt"}]}),
    ] = None
    """Visits where pages change, within a budget."""
    render: Annotated[Render | None, OR_NULL] = None
    robots: Annotated[Robots | None, OR_NULL] = None
    keep_pages: Annotated[str, MaxLen(16), OR_NULL] = KEPT
    """How long pages are stored as they came; `off`: they are not."""
    session: Annotated[str | None, Parsed(as_given), Wire(str | None)] = None
    """Name of the session whose cookies the pages are visited with, where their host has one."""
    browser: Annotated[Any, Parsed(as_given), Wire(BrowserActions | None)] = None
    """What a browser does with the pages, where one renders them."""
    history: Annotated[str, MaxLen(16), OR_NULL] = "365d"
    """How long versions and changes are kept."""
    expect: dict[str, Any] | None = None
    """What the pages of a run must be like; otherwise the run is `degraded`."""
    tags: Annotated[Tags, OR_NULL] = ()


@declared
class ConditionTrialRequest:
    """Another condition for a watch."""

    when: Annotated[str, MinLen(1), MaxLen(1000)]
    at: Annotated[Crossing, OR_NULL] = Crossing.CROSSING


WATCH_FIELDS = tuple(WatchRequest.__annotations__)


def read_watch(raw: object, guard: PageGuard) -> WatchSettings:
    """The settings, or `Invalid` naming each field that breaks a rule."""
    given = check_object("body", {} if raw is None else raw)
    wrong = Complaints()
    asked = wrong.attempt(lambda: read_fields(WatchRequest, given)) or {}
    sources = wrong.attempt(lambda: _sources(given, guard))
    fields = wrong.attempt(lambda: read_selectors(given.get("fields")))
    select = wrong.attempt(lambda: _select(given.get("select")))
    ignore = wrong.attempt(lambda: _ignored(given.get("ignore")))
    text = wrong.attempt(lambda: _text(given.get("text")))
    options = wrong.attempt(lambda: _options(asked))
    revisit = wrong.attempt(lambda: _revisit(given))
    expect = wrong.attempt(lambda: _expect(given.get("expect"), revisit))
    history = wrong.attempt(lambda: _HISTORY("history", asked.get("history", "365d")))
    if wrong.found:
        Complaints(in_order(WatchRequest, wrong.found)).speak()
    settings = WatchSettings(
        name=asked["name"],
        sources=sources,
        select=select,
        text=text,
        fields=fields,
        ignore=ignore,
        at=asked.get("at", Crossing.CROSSING),
        options=options,
        history=history,
        schedule=None if revisit else _schedule(given.get("schedule")),
        revisit=revisit,
        expect=expect,
        tags=asked.get("tags", ()),
    )
    if asked.get("when"):
        parse_condition(asked["when"], settings.types)
        settings = replace(settings, when=asked["when"])
    return settings


def as_document(settings: WatchSettings) -> dict[str, Any]:
    """The stored form, which `read_watch` reads again."""
    document: dict[str, Any] = {"name": settings.name, **settings.sources.as_dict()}
    said = {
        "select": settings.select,
        "text": None if settings.text == "whole" else settings.text,
        "fields": {name: dict(wanted) for name, wanted in settings.fields.items()} or None,
        "ignore": [each.get("what", each) for each in settings.ignore] or None,
        "when": settings.when,
        "at": settings.at.value,
        "schedule": None if settings.schedule is None else dict(settings.schedule),
        "revisit": None if settings.revisit is None else settings.revisit.as_dict(),
        "render": settings.options.render,
        "robots": settings.options.robots,
        "keep_pages": OFF if settings.options.keep is None else shown_duration(settings.options.keep),
        "session": settings.options.session,
        "browser": None if settings.options.browser is None else dict(actions_document(settings.options.browser)),
        "history": shown_duration(settings.history),
        "expect": None if settings.expect is None else dict(settings.expect),
        "tags": list(settings.tags),
        "fed_by": settings.fed_by,
    }
    return document | {name: value for name, value in said.items() if value is not None}


def merged(document: Mapping[str, Any], patch: object) -> dict[str, Any]:
    """A document with a merge patch; a new source of pages, or a new time, replaces the one that it has."""
    given = check_object("body", patch)
    kept = dict(document)
    for group in (("urls", "sitemap", "feed", "links"), ("schedule", "revisit")):
        if any(given.get(name) is not None for name in group):
            kept = {name: value for name, value in kept.items() if name not in group}
    return {name: value for name, value in {**kept, **given}.items() if value is not None}


def _sources(given: Mapping[str, Any], guard: PageGuard) -> PageSources:
    named = [name for name in ("urls", "sitemap", "feed", "links") if given.get(name) is not None]
    if len(named) != 1:
        said = "is required, or sitemap, feed or links" if not named else f"cannot be beside {' and '.join(named[1:])}"
        raise Invalid(named[0] if named else "urls", said)
    name = named[0]
    match name:
        case "urls":
            return PageSources(urls=_urls(given["urls"], guard))
        case "links":
            links = Fields.of("links", given["links"])
            selector, page = links.value("css"), links.value("from")
            links.finish()
            return PageSources(links=_selector("links.css", selector), page=_url("links.from", page, guard))
        case _:
            url = _url(name, given[name], guard)
            return PageSources(sitemap=url) if name == "sitemap" else PageSources(feed=url)


def _urls(raw: object, guard: PageGuard) -> tuple[str, ...]:
    if isinstance(raw, str):
        raw = [raw]
    if not isinstance(raw, list | tuple) or not 1 <= len(raw) <= MOST_PAGES:
        got = f"{len(raw)} URLs" if isinstance(raw, list | tuple) else raw
        raise Invalid("urls", f"must be a list of 1 to {MOST_PAGES:,} URLs", got=got)
    wrong = Complaints()
    urls = [wrong.attempt(partial(_url, f"urls.{at}", each, guard)) for at, each in enumerate(raw)]
    wrong.found = wrong.found[:100]
    wrong.speak()
    return tuple(dict.fromkeys(urls))


def _url(where: str, raw: object, guard: PageGuard) -> str:
    try:
        url = one_spelling(raw)
        guard.check(url)
    except BadUrl as error:
        raise Invalid(where, str(error), got=None if raw is None else str(raw)[:200]) from None
    except Invalid as error:
        raise Invalid(where, error.message, got=str(raw)[:200]) from None
    return url


def read_selectors(raw: object, path: str = "fields") -> dict[str, dict[str, Any]]:
    """Fields by name, each with its selector and type; `Invalid` names those that break a rule."""
    given = check_object(path, {} if raw is None else raw)
    if len(given) > MOST_FIELDS:
        raise Invalid(path, f"must be at most {MOST_FIELDS} fields", got=f"{len(given)} fields")
    wrong = Complaints()
    found = {name: wrong.attempt(partial(_field, path, str(name), one)) for name, one in given.items()}
    wrong.speak()
    return found


def _field(path: str, name: str, raw: object) -> dict[str, Any]:
    where = f"{path}.{name[:64]}"
    if not _FIELD_NAME.fullmatch(name) or name in _RESERVED:
        raise Invalid(where, "must be a name of letters, digits and _, and no word of conditions", got=name[:100])
    fields = Fields.of(where, {"css": raw} if isinstance(raw, str) else raw)
    ways = [way for way in _WAYS if fields.value(way) is not None]
    kind = choose(f"{where}.type", fields.raw.get("type") or "text", FieldType)
    fields.asked.add("type")
    optional = fields.flag("optional", default=False)
    fields.finish()
    if len(ways) > 1 or (not ways and kind not in {FieldType.PRICE, FieldType.TEXT}):
        raise Invalid(where, "must have one of css, xpath, json and regex")
    stored: dict[str, Any] = {"type": kind.value} | ({"optional": True} if optional else {})
    if ways:
        stored[ways[0]] = _way(f"{where}.{ways[0]}", ways[0], fields.raw[ways[0]])
    return stored


def _way(where: str, way: str, raw: object) -> str:
    if way == "json":
        return check_text(where, raw, 500)
    if way == "regex":
        return _regex(where, raw)
    return _selector(where, raw, xpath=way == "xpath")


def _regex(where: str, raw: object) -> str:
    source = check_text(where, raw, 500)
    try:
        re.compile(source)
    except (re.error, RecursionError, OverflowError) as wrong:
        raise Invalid(where, f"is not a regular expression: {wrong}", got=source[:100]) from None
    return source


def _selector(where: str, raw: object, *, xpath: bool = False) -> str:
    source = check_text(where, raw, MOST_SELECTOR).strip()
    if not source:
        raise Invalid(where, "must be a selector")
    try:
        compiled(as_xpath(source) if xpath else source)
    except ValueError as wrong:
        raise Invalid(where, str(wrong), got=source[:200]) from None
    return source


def _select(raw: object) -> str | None:
    if raw is None or (isinstance(raw, str) and raw.startswith("$")):
        return None if raw is None else check_text("select", raw, 500)
    return _selector("select", raw)


def _text(raw: object) -> str:
    if raw is not None and raw not in ("whole", "article"):
        raise Invalid("text", "must be whole or article", got=raw)
    return "whole" if raw is None else str(raw)


def _ignored(raw: object) -> tuple[Mapping[str, Any], ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list | tuple) or len(raw) > MOST_IGNORED:
        raise Invalid("ignore", f"must be a list of at most {MOST_IGNORED} things to ignore", got=raw)
    found: list[Mapping[str, Any]] = []
    for at, each in enumerate(raw):
        where = f"ignore.{at}"
        if isinstance(each, str):
            found.append({"what": each} if each in _WHAT else {"css": _selector(where, each)})
            continue
        fields = Fields.of(where, each)
        ways = [way for way in ("css", "xpath", "regex") if fields.value(way) is not None]
        fields.finish()
        if len(ways) != 1:
            raise Invalid(where, f"must be a CSS selector, one of {', '.join(_WHAT)}, or {{xpath}} or {{regex}}")
        found.append({ways[0]: _way(f"{where}.{ways[0]}", ways[0], fields.raw[ways[0]])})
    return tuple(found)


def _options(asked: Mapping[str, Any]) -> FetchOptions:
    kept = asked.get("keep_pages") or KEPT
    keep = None if kept == OFF else read_kept("keep_pages", kept)
    session, browser = asked.get("session"), asked.get("browser")
    return FetchOptions(
        render=asked.get("render"),
        robots=asked.get("robots"),
        keep=keep,
        session=None if session is None else read_session("session", session),
        browser=None if browser is None else read_actions("browser", browser),
    )


def _expect(raw: object, revisit: RevisitRules | None) -> dict[str, Any] | None:
    expect = None if raw is None else read_expect(raw, EXPECT)
    for name in OF_WHOLE_VISITS if expect and revisit else ():
        if expect and name in expect:
            said = "cannot be judged with revisit, whose runs visit only the pages that are due: give schedule"
            raise Invalid(f"{EXPECT}.{name}", said, got=expect[name])
    return expect


def _schedule(raw: object) -> dict[str, Any]:
    given = dict(check_object("schedule", raw))
    for name in ("name", "action", "tags", "kind"):
        if name in given:
            raise Invalid(f"schedule.{name}", "is the watch's own: leave it out")
    return given


def _revisit(given: Mapping[str, Any]) -> RevisitRules | None:
    raw, scheduled = given.get("revisit"), given.get("schedule") is not None
    if raw is None:
        if not scheduled:
            raise Invalid("schedule", "is required, or revisit")
        return None
    if scheduled:
        raise Invalid("revisit", "cannot be combined with schedule: give one of the two")
    fields = Fields.of("revisit", raw)
    budget, aim = fields.value("budget"), fields.value("aim")
    at_most, at_least = fields.value("at_most"), fields.value("at_least")
    fields.finish()
    found = _BUDGET.fullmatch(budget) if isinstance(budget, str) else None
    if found is None or int(found[1]) < 1:
        raise Invalid("revisit.budget", "must be visits in a time, as in 5000/day, 60/hour or 1000/week", got=budget)
    shortest = _AT_MOST("revisit.at_most", "15m" if at_most is None else at_most)
    longest = _AT_LEAST("revisit.at_least", "7d" if at_least is None else at_least)
    if shortest > longest:
        said = f"must not be shorter than at_most, which is {shown_duration(shortest)}"
        raise Invalid("revisit.at_least", said, got=at_least)
    kind = choose("revisit.aim", "prompt" if aim is None else aim, RevisitAim)
    return RevisitRules(int(found[1]), PERIODS[found[2]], shortest, longest, kind)


def beneath(where: str, error: Invalid) -> Invalid:
    """The error of a part of a document, as one of the whole."""
    errors = error.errors if isinstance(error, InvalidMany) else [error]
    moved = [
        Invalid(f"{where}.{one.field}", one.message, got=one.got, position=one.position, suggestion=one.suggestion)
        for one in errors
    ]
    return moved[0] if len(moved) == 1 else InvalidMany(moved)
