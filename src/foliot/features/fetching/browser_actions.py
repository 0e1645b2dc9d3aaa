"""What a browser does with a page before it is read: waiting, scrolling, and a bounded list of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from annotated_types import Interval, MaxLen

from foliot.core.declaration import Checked, Parsed, Wire, declared, read
from foliot.core.document import choose
from foliot.core.errors import Invalid
from foliot.core.mask import TEMPLATE
from foliot.core.secrets import SIGNING, names_in

MOST_STEPS = 20
MOST_SELECTOR = 500
MOST_VALUE = 2_000
MOST_SCROLLS = 50
LONGEST_WAIT = 30_000
"""Milliseconds."""
NETWORK_IDLE = "network_idle"


class StepKind(StrEnum):
    """What a step does."""

    CLICK = "click"
    FILL = "fill"
    PRESS = "press"
    WAIT_FOR = "wait_for"


class PageResource(StrEnum):
    """What a page loads beside its text; left out unless it is asked for."""

    IMAGE = "image"
    FONT = "font"
    MEDIA = "media"


def _wait(path: str, raw: Any) -> int | str:
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw <= LONGEST_WAIT:
        return raw
    if isinstance(raw, str) and 0 < len(raw) <= MOST_SELECTOR and raw.isprintable():
        return raw
    rule = f"must be a CSS selector, network_idle, or milliseconds up to {LONGEST_WAIT:,}"
    raise Invalid(path, rule, got=str(raw)[:100])


def _plain(path: str, value: Any) -> None:
    if not str(value).isprintable():
        raise Invalid(path, "must not contain control characters", got=str(value)[:100])


@declared(frozen=True)
class BrowserStep:
    """One step on the page."""

    do: StepKind
    selector: Annotated[str, MaxLen(MOST_SELECTOR), Checked(_plain)] = ""
    """Of the element; CSS. `press` without one is for the page."""
    value: Annotated[str, MaxLen(MOST_VALUE), Checked(_plain)] = ""
    """What `fill` types; `{{ secret.NAME }}` is replaced by the secret."""
    key: Annotated[str, MaxLen(40), Checked(_plain)] = ""
    """Which key `press` presses, such as Enter."""


def _steps(path: str, raw: Any) -> tuple[BrowserStep, ...]:
    steps = tuple(read(BrowserStep, each, f"{path}.{at}") for at, each in enumerate(_list(path, raw, MOST_STEPS)))
    for at, step in enumerate(steps):
        if step.do is not StepKind.PRESS and not step.selector:
            raise Invalid(f"{path}.{at}.selector", f"is required for {step.do}")
        if step.do is StepKind.PRESS and not step.key:
            raise Invalid(f"{path}.{at}.key", "is required for press")
        if SIGNING in TEMPLATE.findall(step.value):
            raise Invalid(f"{path}.{at}.value", f"must not contain the secret {SIGNING}, which signs and is never sent")
        if "{{" in TEMPLATE.sub("", step.value):
            raise Invalid(f"{path}.{at}.value", "must name a secret as {{ secret.NAME }}")
    return steps


def _resources(path: str, raw: Any) -> tuple[PageResource, ...]:
    listed = _list(path, raw, len(PageResource))
    return tuple(dict.fromkeys(choose(f"{path}.{at}", each, options=PageResource) for at, each in enumerate(listed)))


def _list(path: str, raw: Any, most: int) -> Sequence[Any]:
    if not isinstance(raw, list | tuple) or len(raw) > most:
        raise Invalid(path, f"must be a list of at most {most}", got=str(raw)[:100])
    return raw


@declared(frozen=True)
class BrowserActions:
    """What a browser does with a page before it is read."""

    wait_for: Annotated[int | str | None, Parsed(_wait), Wire(int | str | None)] = None
    """A selector that must appear, `network_idle`, or milliseconds."""
    scroll: Annotated[int, Interval(ge=0, le=MOST_SCROLLS)] = 0
    """How many screens to scroll down, for pages that load more as they are scrolled."""
    steps: Annotated[
        tuple[BrowserStep, ...], Parsed(_steps), Wire(Annotated[list[BrowserStep], MaxLen(MOST_STEPS)])
    ] = ()
    load: Annotated[
        tuple[PageResource, ...], Parsed(_resources), Wire(Annotated[list[PageResource], MaxLen(len(PageResource))])
    ] = ()
    """Images, fonts or media that the page needs to work."""

    def secrets(self) -> set[str]:
        """Names of the secrets that the steps fill in."""
        return {name for step in self.steps for name in names_in({"value": step.value})}


def read_actions(path: str, raw: Any) -> BrowserActions:
    """The actions of a request; `Invalid` names the field below `path`."""
    return read(BrowserActions, raw, path)


def check_actions(raw: dict[str, Any]) -> dict[str, Any]:
    """The actions as they were given; for declarations of pydantic."""
    try:
        read_actions("browser", raw)
    except Invalid as wrong:
        raise ValueError(str(wrong)) from None
    return raw


def as_document(actions: BrowserActions) -> Mapping[str, Any]:
    """The form that is stored and sent to the process of the browser; `read_actions` reads it again."""
    document: dict[str, Any] = {
        "wait_for": actions.wait_for,
        "scroll": actions.scroll,
        "steps": [
            {key: value for key, value in (("do", str(step.do)), *_fields(step)) if value} for step in actions.steps
        ],
        "load": [str(each) for each in actions.load],
    }
    return {key: value for key, value in document.items() if value}


def _fields(step: BrowserStep) -> tuple[tuple[str, str], ...]:
    return ("selector", step.selector), ("value", step.value), ("key", step.key)
