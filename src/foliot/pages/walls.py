"""Recognises captchas and login walls: answers that stand in a page's place and say nothing about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

CAPTCHA = "captcha"
LOGIN = "login"
FEW = 1500
"""Characters of visible text; a page with more beside a captcha is a page with a form."""
_SURE = re.compile(
    r"captcha-delivery\.com|px-captcha|_Incapsula_Resource|/cdn-cgi/challenge-platform|cf-challenge|cf_chl_|"
    r"awswaf|perimeterx|distil_r_captcha|geo\.captcha"
)
_MARKS = re.compile(r"g-recaptcha|h-captcha|hcaptcha\.com|recaptcha/api|cf-turnstile|geetest|captcha", re.IGNORECASE)
_TITLES = re.compile(
    r"just a moment|attention required|are you (?:a )?(?:human|robot)|robot check|access denied|security check|"
    r"verify (?:that )?you are|pardon our interruption|bot verification|captcha",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"verify (?:that )?you(?: are|'re) (?:a )?human|unusual traffic|not a robot|"
    r"complete the (?:captcha|security check)|enable javascript and cookies to continue|press (?:and|&) hold",
    re.IGNORECASE,
)
_LOGIN_PATH = re.compile(r"/(?:log-?in|sign-?in|signin|sso|auth|account/login|users/sign_in)(?:[/.?]|$)", re.IGNORECASE)
_LOGIN_TITLE = re.compile(r"\b(?:log ?in|sign ?in|anmelden|logga in|connexion|iniciar sesi)", re.IGNORECASE)
_CLOSED = frozenset({401, 403, 429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """How a page was reached, and what of it was found."""

    status: int
    url: str
    """After redirects."""
    asked: str
    lost: bool
    """Fields that the page should have were not found."""
    blind: bool
    """No field is looked for: nothing shows whether the page is the right one."""


def wall_of(root: Any, text: str, arrival: Arrival) -> str | None:
    """`captcha` or `login`, where one stands in the page's place."""
    title = " ".join("".join(root.xpath("string(//title)")).split())[:300]
    if _is_captcha(root, text, title, arrival):
        return CAPTCHA
    return LOGIN if _is_login(root, text, title, arrival) else None


def _is_captcha(root: Any, text: str, title: str, arrival: Arrival) -> bool:
    closed, few = arrival.status in _CLOSED, len(text) < FEW
    named, said = bool(_TITLES.search(title)), few and bool(_SAID.search(text))
    sources = " ".join(root.xpath("//script/@src | //iframe/@src | //form/@action | //div/@id | //div/@class")[:3000])
    sure, marked = bool(_SURE.search(sources)), bool(_MARKS.search(sources))
    if closed:
        return named or said or sure or marked
    return few and (said or (sure and (arrival.lost or named)) or ((named or marked) and arrival.lost))


def _is_login(root: Any, text: str, title: str, arrival: Arrival) -> bool:
    if arrival.status == 401:
        return True
    if _LOGIN_PATH.search(urlsplit(arrival.asked).path):
        return False
    if _LOGIN_PATH.search(urlsplit(arrival.url).path):
        return True
    password = bool(root.xpath("boolean(//input[@type='password'])"))
    return password and len(text) < FEW and (arrival.lost or arrival.blind) and bool(_LOGIN_TITLE.search(title))
