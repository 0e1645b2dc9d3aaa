"""Renders one page in a browser; runs in a process of its own that knows no secret of ours.

The only module that imports playwright. The browser stays between calls; a page gets a context of its own, whose
connections all go through the egress proxy, and the browser is replaced after some pages or when it has grown.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import getpid
from typing import TYPE_CHECKING, Any

from foliot.cluster.page_reader import ResultWithBody
from foliot.cluster.process_tree import descendants, memory_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Response, Route

MEBIBYTE = 1024 * 1024
MOST_HTML = 10 * MEBIBYTE
"""Bytes of a rendered document."""
MOST_BODY = 10 * MEBIBYTE
"""Bytes of the body as it came."""
MOST_SHOT = 2 * MEBIBYTE
MOST_REQUESTS = 500
"""Requests of one page; further ones are refused."""
MOST_POPUPS = 4
WIDTH, HEIGHT = 1280, 900
SETTLE = 3.0
"""Seconds that scripts have after the page has loaded, unless the network falls silent earlier."""
STEP = 10_000.0
"""Milliseconds that a selector of a step or of `wait_for` may take."""
UNWANTED = frozenset({"image", "font", "media"})
SCHEMES = ("http://", "https://")
INLINE = ("data:", "blob:", "about:")

ARGUMENTS = (
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-breakpad",
    "--disable-gpu",
    "--js-flags=--max-old-space-size=512",
    "--renderer-process-limit=4",
    "--disable-features=WebTransport,DialMediaRouteProvider,MediaRouter,PrefetchPrivacyChanges,SpeculationRules",
    "--dns-prefetch-disable",
    "--disable-domain-reliability",
)
"""WebRTC and QUIC would go past the proxy."""
NOWHERE = "http://127.0.0.1:9"
"""The proxy of what belongs to no page: nothing listens there."""

CLOSED = """
for (const name of ["WebSocket", "WebSocketStream", "WebTransport", "RTCPeerConnection", "webkitRTCPeerConnection",
                    "RTCDataChannel", "SharedWorker"])
  try { Object.defineProperty(globalThis, name, {value: undefined, configurable: false, writable: false}) } catch {}
"""
"""Runs before the scripts of every frame. What a worker opens instead, the proxy refuses."""


class RenderFailed(Exception):
    """No page: a code, and one line for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class _BrowserProcess:
    """The browser of this process, and what it has rendered."""

    playwright: Playwright
    browser: Browser
    pages: int = 0


_running: list[_BrowserProcess] = []
"""At most one."""


@dataclass(slots=True)
class _Traffic:
    """What a page asked for."""

    wanted: frozenset[str]
    requests: int = 0
    refused: int = 0
    popups: list[Page] = field(default_factory=list)

    def judge(self, route: Route) -> None:
        request = route.request
        self.requests += 1
        unwanted = request.resource_type in UNWANTED and request.resource_type not in self.wanted
        if unwanted or self.requests > MOST_REQUESTS or not request.url.startswith((*SCHEMES, *INLINE)):
            self.refused += not unwanted
            route.abort("blockedbyclient")
        else:
            route.continue_()


def render(
    *,
    browser: Mapping[str, Any],
    page: Mapping[str, Any],
    proxy: Mapping[str, str],
    body: bytes = b"",  # noqa: ARG001 -- the readers' protocol
) -> ResultWithBody:
    """The page's status, headers and cookies; its document and its body as bytes.

    A failure is a result too, with a screenshot where there was something to see.
    """
    try:
        running = _started(browser)
        deadline = time.monotonic() + float(page["seconds"])
        with _context(running, page, proxy, deadline) as context:
            return _rendered(context, page, deadline)
    except RenderFailed as failure:
        _close()
        return ResultWithBody({"failed": {"code": failure.code, "message": str(failure)}}, b"")
    finally:
        _retire(int(browser["pages"]), int(browser["memory"]))


def _started(how: Mapping[str, Any]) -> _BrowserProcess:
    if _running and _running[0].browser.is_connected():
        return _running[0]
    _close()
    from playwright.sync_api import Error, sync_playwright

    playwright = sync_playwright().start()
    try:
        if how["url"]:
            remote = playwright.chromium.connect_over_cdp(str(how["url"]), timeout=15_000)
            _running.append(_BrowserProcess(playwright, remote))
        else:
            local = playwright.chromium.launch(
                executable_path=str(how["program"]),
                chromium_sandbox=bool(how["sandbox"]),
                args=[*ARGUMENTS, f"--proxy-server={NOWHERE}"],
                # No name may be resolved but by the proxy.
                proxy={"server": NOWHERE},
                timeout=20_000,
            )
            _running.append(_BrowserProcess(playwright, local))
    except Error as error:
        playwright.stop()
        raise RenderFailed("browser_failed", f"The browser did not start: {_line(error)}") from None
    return _running[0]


def _close() -> None:
    while _running:
        gone = _running.pop()
        with contextlib.suppress(Exception):
            gone.browser.close()
        with contextlib.suppress(Exception):
            gone.playwright.stop()


def _retire(pages: int, memory: int) -> None:
    """Replace the browser when it has rendered enough, or has grown: contexts leave something behind."""
    if _running:
        _running[0].pages += 1
        if _running[0].pages >= pages or memory_of(descendants(getpid())) > memory:
            _close()


@contextlib.contextmanager
def _context(
    running: _BrowserProcess, page: Mapping[str, Any], proxy: Mapping[str, str], deadline: float
) -> Iterator[BrowserContext]:
    from playwright.sync_api import Error

    try:
        # The proxy belongs to the context, and only pages that it makes use it.
        context = running.browser.new_context(
            proxy={"server": proxy["server"], "username": proxy["username"], "password": proxy["password"]},
            service_workers="block",
            accept_downloads=False,
            viewport={"width": WIDTH, "height": HEIGHT},
            locale="en-US",
            storage_state=page.get("state") or None,
            user_agent=page.get("agent") or None,
        )
    except Error as error:
        raise RenderFailed("browser_failed", f"The browser could not open a page: {_line(error)}") from None
    try:
        context.set_default_timeout(max(_left(deadline), 1.0))
        context.add_init_script(CLOSED)
        yield context
    finally:
        with contextlib.suppress(Error):
            context.close()


def _rendered(context: BrowserContext, wanted: Mapping[str, Any], deadline: float) -> ResultWithBody:
    from playwright.sync_api import Error

    traffic = _Traffic(frozenset(wanted.get("load", ())))
    context.route("**/*", lambda route: traffic.judge(route))  # noqa: PLW0108 -- it sets attributes on handlers
    page = context.new_page()
    context.on("page", lambda opened: _popup(traffic, opened))
    context.on("dialog", lambda dialog: dialog.dismiss())
    if wanted.get("headers"):
        _own_headers(page, wanted["url"], wanted["headers"])
    try:
        answer = _opened(page, str(wanted["url"]), deadline)
        _settle(page, deadline)
        _act(page, wanted, deadline)
        state = context.storage_state() if wanted.get("keep_state") else None
        return _result(page, answer, traffic, _document(page), _body(answer), state)
    except RenderFailed as failure:
        return _failed(page, failure, wanted)
    except Error as error:
        return _failed(page, RenderFailed(_code(error), _words(error)), wanted)


def _opened(page: Page, url: str, deadline: float) -> Response:
    answer = page.goto(url, wait_until="domcontentloaded", timeout=_left(deadline))
    if answer is None:
        raise RenderFailed("no_answer", "The browser received no response.")
    return answer


def _document(page: Page) -> bytes:
    html = page.content().encode("utf-8", "replace")
    if len(html) > MOST_HTML:
        raise RenderFailed("too_large", f"The rendered page is larger than {MOST_HTML // MEBIBYTE} MiB.")
    return html


def _own_headers(page: Page, url: str, headers: Mapping[str, str]) -> None:
    """Headers of the request for the page itself; no other host gets them."""
    home = _place(url)

    def add(route: Route) -> None:
        request = route.request
        if _place(request.url) == home:
            route.fallback(headers={**request.headers, **{key.lower(): value for key, value in headers.items()}})
        else:
            route.fallback()

    page.route("**/*", add)


def _popup(traffic: _Traffic, opened: Page) -> None:
    traffic.popups.append(opened)
    if len(traffic.popups) > MOST_POPUPS:
        with contextlib.suppress(Exception):
            opened.close()


def _settle(page: Page, deadline: float) -> None:
    """Let scripts run: until the network is silent, or for a while."""
    from playwright.sync_api import TimeoutError as Late

    for state in ("load", "networkidle"):
        with contextlib.suppress(Late):
            page.wait_for_load_state(state, timeout=min(SETTLE * 1000, _left(deadline)))


def _act(page: Page, wanted: Mapping[str, Any], deadline: float) -> None:
    home = _place(str(wanted["url"]))
    for step in wanted.get("steps", ()):
        _step(page, step, home, deadline)
    for _ in range(int(wanted.get("scroll", 0))):
        page.mouse.wheel(0, HEIGHT)
        page.wait_for_timeout(min(300.0, _left(deadline)))
    _wait_for(page, wanted.get("wait_for"), deadline)


def _wait_for(page: Page, wait_for: object, deadline: float) -> None:
    from playwright.sync_api import TimeoutError as Late

    patience = min(STEP, _left(deadline))
    if isinstance(wait_for, int):
        page.wait_for_timeout(min(float(wait_for), _left(deadline)))
    elif wait_for == "network_idle":
        with contextlib.suppress(Late):
            page.wait_for_load_state("networkidle", timeout=patience)
    elif wait_for:
        try:
            page.wait_for_selector(str(wait_for), state="attached", timeout=patience)
        except Late:
            raise RenderFailed("selector_missing", f"The page has no {str(wait_for)!r} after {_s(patience)}.") from None


def _step(page: Page, step: Mapping[str, str], home: str, deadline: float) -> None:
    from playwright.sync_api import Error

    patience = min(STEP, _left(deadline))
    do, selector = step["do"], step.get("selector", "")
    try:
        if do == "click":
            page.click(selector, timeout=patience)
            _settle(page, deadline)
        elif do == "fill":
            if step.get("secret") and _place(page.url) != home:
                raise RenderFailed(
                    "step_failed", f"The page redirected to {_place(page.url)}: no secret is typed there."
                )
            page.fill(selector, step["value"], timeout=patience)
        elif do == "press":
            page.press(selector or "body", step["key"], timeout=patience)
            _settle(page, deadline)
        elif do == "wait_for":
            page.wait_for_selector(selector, timeout=patience)
    except Error as error:
        late = "Timeout" in type(error).__name__
        why = f"found nothing within {_s(patience)}" if late else _line(error)
        raise RenderFailed("step_failed", f"The step {do} {selector!r}: {why}.") from None


def _body(answer: Response) -> bytes:
    """The body as it came; empty when the browser no longer has it."""
    with contextlib.suppress(Exception):
        body = answer.body()
        return body if len(body) <= MOST_BODY else b""
    return b""


def _result(page: Page, answer: Response, traffic: _Traffic, html: bytes, body: bytes, state: object) -> ResultWithBody:
    result = {
        "url": page.url,
        "status": answer.status,
        "headers": dict(list(answer.headers.items())[:100]),
        "requests": traffic.requests,
        "refused": traffic.refused,
        "sizes": [len(html), len(body), 0],
        "state": state,
    }
    return ResultWithBody(result, html + body)


def _failed(page: Page, failure: RenderFailed, wanted: Mapping[str, Any]) -> ResultWithBody:
    shot = b""
    # A page may show what was typed into it.
    typed = any(step.get("secret") for step in wanted.get("steps", ()))
    if wanted.get("screenshot") and not typed:
        with contextlib.suppress(Exception):
            shot = page.screenshot(type="jpeg", quality=60, timeout=3_000)
    shot = shot if len(shot) <= MOST_SHOT else b""
    failed = {"code": failure.code, "message": str(failure)}
    return ResultWithBody({"failed": failed, "sizes": [0, 0, len(shot)]}, shot)


def _place(url: str) -> str:
    """Scheme, host and port."""
    return "/".join(url.split("/", 3)[:3])


def _left(deadline: float) -> float:
    """Milliseconds until the deadline."""
    return max((deadline - time.monotonic()) * 1000, 1.0)


def _s(milliseconds: float) -> str:
    return f"{milliseconds / 1000:g} s"


_CODES: Sequence[tuple[str, str, str]] = (
    ("ERR_TUNNEL_CONNECTION_FAILED", "target_unreachable", "The target could not be reached."),
    ("ERR_PROXY", "target_unreachable", "The target could not be reached."),
    ("ERR_CERT", "tls_failed", "No secure connection to the target could be made."),
    ("ERR_SSL", "tls_failed", "No secure connection to the target could be made."),
    ("ERR_TOO_MANY_REDIRECTS", "too_many_redirects", "The page redirects endlessly."),
    ("ERR_ABORTED", "not_html", "The page is a download, or navigated away."),
    ("Download is starting", "not_html", "The page is a download."),
    ("crash", "page_crashed", "The page crashed its browser process."),
    ("Timeout", "target_timeout", "The page did not load in time."),
)


def _code(error: Exception) -> str:
    text = f"{type(error).__name__} {error}"
    return next((code for mark, code, _ in _CODES if mark in text), "browser_failed")


def _words(error: Exception) -> str:
    text = f"{type(error).__name__} {error}"
    return next((words for mark, _, words in _CODES if mark in text), f"The browser failed: {_line(error)}")


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]
