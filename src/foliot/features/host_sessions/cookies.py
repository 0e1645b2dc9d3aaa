"""Cookies in the form of browsers: which of them a request sends, and what the `Set-Cookie` of an answer changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from email.message import Message
from http.cookiejar import Cookie, CookieJar
from typing import Any
from urllib.request import Request

from foliot.features.host_sessions.model import MOST_COOKIES, Cookies


class _Answer:
    """What `CookieJar` asks of an answer."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._headers = Message()
        for line in lines:
            self._headers["Set-Cookie"] = line

    def info(self) -> Message:
        return self._headers


def header_for(cookies: Cookies, url: str) -> str:
    """The `Cookie` header of a request; empty when none of them is for this URL."""
    request = Request(url)  # noqa: S310 -- nothing is opened: the jar asks it for host, path and scheme
    _jar(cookies).add_cookie_header(request)
    return str(request.get_header("Cookie") or "")


def updated(cookies: Cookies, url: str, lines: Sequence[str]) -> list[dict[str, Any]]:
    """The cookies after an answer with these `Set-Cookie` headers."""
    jar = _jar(cookies)
    jar.extract_cookies(_Answer(lines), Request(url))  # type: ignore[arg-type]  # noqa: S310 -- as above
    return _listed(jar)


def read(raw: Any) -> list[dict[str, Any]]:
    """Cookies as a browser or a person gave them; what is none is left out."""
    found = []
    for each in raw if isinstance(raw, list | tuple) else ():
        if not isinstance(each, dict) or not all(isinstance(each.get(key), str) for key in ("name", "value", "domain")):
            continue
        expires = each.get("expires")
        same = each.get("sameSite")
        found.append(
            {
                "name": each["name"],
                "value": each["value"],
                "domain": each["domain"],
                "path": each["path"] if isinstance(each.get("path"), str) else "/",
                "expires": float(expires) if isinstance(expires, int | float) else -1.0,
                "httpOnly": bool(each.get("httpOnly")),
                "secure": bool(each.get("secure")),
                "sameSite": same if same in {"Strict", "Lax", "None"} else "Lax",
            }
        )
    return found[:MOST_COOKIES]


def _jar(cookies: Cookies) -> CookieJar:
    jar = CookieJar()
    for each in cookies:
        domain = str(each["domain"])
        below = domain.startswith(".")
        lasting = each["expires"] is not None and each["expires"] >= 0
        jar.set_cookie(
            Cookie(
                version=0,
                name=each["name"],
                value=each["value"],
                port=None,
                port_specified=False,
                domain=domain,
                domain_specified=below,
                domain_initial_dot=below,
                path=each["path"],
                path_specified=True,
                secure=each["secure"],
                expires=int(each["expires"]) if lasting else None,
                discard=not lasting,
                comment=None,
                comment_url=None,
                rest={"HttpOnly": ""} if each["httpOnly"] else {},
            )
        )
    return jar


def _listed(jar: Iterable[Cookie]) -> list[dict[str, Any]]:
    return [
        {
            "name": cookie.name,
            "value": cookie.value or "",
            "domain": cookie.domain,
            "path": cookie.path,
            "expires": -1.0 if cookie.expires is None else float(cookie.expires),
            "httpOnly": cookie.has_nonstandard_attr("HttpOnly") or cookie.has_nonstandard_attr("httponly"),
            "secure": cookie.secure,
            "sameSite": "Lax",
        }
        for cookie in jar
    ][:MOST_COOKIES]
