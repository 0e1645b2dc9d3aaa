"""Settings of the browsers that render pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from foliot.config import parse as reading
from foliot.config.parse import SecretValue, about
from foliot.core.errors import Invalid

AUTO, OFF = "auto", "off"
_URL_RULE = (
    "must be the address of a browser that speaks the DevTools protocol, such as http://127.0.0.1:9222 or "
    "wss://browser.internal/?token=…"
)


def browser_url(text: str) -> SecretValue:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(_URL_RULE) from None
    if parts.scheme not in {"http", "https", "ws", "wss"} or not host or not text.isprintable() or " " in text:
        raise ValueError(_URL_RULE)
    return SecretValue(text)


def browser(text: str) -> str:
    if text.lower() in {AUTO, OFF}:
        return text.lower()
    if not text.startswith("/"):
        raise ValueError("must be auto, off, or the absolute path of a Chromium")
    return text


def listener(text: str) -> tuple[str, int]:
    """An address of this machine, with a port if it matters."""
    rule = "must be an address of this machine, such as 10.0.0.5 or 10.0.0.5:3128"
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port or 0
    except ValueError:
        raise ValueError(rule) from None
    if not host or parts.path or parts.username is not None:
        raise ValueError(rule)
    return host, port


@dataclass(frozen=True, kw_only=True, repr=False)
class BrowserSettings:
    """Settings of the browsers that render pages."""

    browser: str = field(
        default=OFF,
        metadata=about(
            "`auto` starts an installed Chromium for pages that need one; the path of a Chromium starts that one; "
            "`off` starts none. Needs `foliot[browser]`.",
            "FOLIOT_BROWSER",
            read=browser,
        ),
    )
    browser_url: SecretValue | None = field(
        default=None,
        metadata=about(
            "A browser that is already running, by its DevTools address: `http://host:9222`, or `wss://…` with a "
            "token. On "
            "another machine it also needs FOLIOT_BROWSER_PROXY. Needs `foliot[browser]`. Default: none.",
            "FOLIOT_BROWSER_URL",
            read=browser_url,
            secret=True,
        ),
    )
    browser_proxy: tuple[str, int] | None = field(
        default=None,
        metadata=about(
            "Address of this machine (`host` or `host:port`) at which a browser on another machine reaches the egress "
            "proxy, through which all of its requests go. Default: loopback.",
            "FOLIOT_BROWSER_PROXY",
            read=listener,
        ),
    )
    browsers: int | None = field(
        default=None,
        metadata=about(
            "How many browsers one process runs at once, each with one page. Default: one for each core, as far as "
            "there is memory, and at most 4.",
            "FOLIOT_BROWSERS",
            read=reading.whole(1, 64),
        ),
    )
    browser_memory: int = field(
        default=768,
        metadata=about(
            "Memory limit of one browser and all its processes, in MiB; at two thirds it is replaced, above the limit "
            "it is killed.",
            "FOLIOT_BROWSER_MEMORY",
            read=reading.whole(256, 65_536),
        ),
    )
    browser_pages: int = field(
        default=100,
        metadata=about(
            "How many pages a browser renders before it is replaced.",
            "FOLIOT_BROWSER_PAGES",
            read=reading.whole(1, 100_000),
        ),
    )
    browser_timeout: float = field(
        default=45.0,
        metadata=about(
            "Time limit of rendering one page in seconds, including its steps.",
            "FOLIOT_BROWSER_TIMEOUT",
            read=reading.seconds(1, 600),
        ),
    )
    browser_sandbox: bool = field(
        default=True,
        metadata=about(
            "Whether Chromium runs in its own sandbox. As root it does not start in one; `off` passes `--no-sandbox`, "
            "and then only the limits of the process protect this machine from a page.",
            "FOLIOT_BROWSER_SANDBOX",
            read=reading.switch,
        ),
    )
    browser_remember: float = field(
        default=7 * 24 * 3600.0,
        metadata=about(
            "Seconds during which `render: auto` uses a browser at once for a host that needed one.",
            "FOLIOT_BROWSER_REMEMBER",
            read=reading.seconds(1, 365 * 24 * 3600),
        ),
    )

    @property
    def has_browser(self) -> bool:
        """Whether pages can be rendered, as far as the settings say."""
        return self.browser_url is not None or self.browser != OFF


def complaints(values: Mapping[str, Any], given: Callable[[str], Mapping[str, str]]) -> list[Invalid]:
    """What contradicts each other."""
    url: SecretValue | None = values["browser_url"]
    if url is None:
        return []
    wrong = []
    if values["browser"] != OFF:
        key = next(iter(given("browser")), "FOLIOT_BROWSER")
        wrong.append(Invalid(key, "must not be set beside FOLIOT_BROWSER_URL: one browser is enough"))
    host = urlsplit(url.reveal()).hostname or ""
    if not reading.is_loopback(host) and values["browser_proxy"] is None:
        rule = (
            "must be a browser on this machine, or FOLIOT_BROWSER_PROXY must say at which address of this machine it "
            "reaches the egress proxy: no request of a page may go past it"
        )
        wrong.append(Invalid("FOLIOT_BROWSER_URL", rule, got=host))
    return wrong
