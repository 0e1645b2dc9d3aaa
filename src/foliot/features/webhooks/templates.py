"""`{{ secret.NAME }}` in the value of a header stands for a secret of the tenant."""

from __future__ import annotations

import re
from collections.abc import Mapping

from foliot.core.errors import Invalid
from foliot.core.mask import TEMPLATE
from foliot.core.secret_names import SIGNING

# Also what somebody who knows other products would write, so that nobody believes it works.
_MEANT = re.compile(r"(?i)\{\{-?\s*secrets?\b")
_ENCODED = re.compile(r"(?i)(?:\{|%7b){2}(?:\s|%20|\+|-)*secrets?\b")


def filled(value: str, secrets: Mapping[str, str]) -> str:
    """The value with its secrets in place; what they hold is not read as a template again."""
    return TEMPLATE.sub(lambda found: secrets[found[1]], value)


def check_header(where: str, value: str) -> None:
    """`Invalid` when something looks like a secret and is none. Says nothing of the value."""
    if SIGNING in TEMPLATE.findall(value):
        raise Invalid(where, f"must not hold the secret {SIGNING}: it signs, and is never sent")
    if _MEANT.search(TEMPLATE.sub("", value)):
        rule = "must name a secret as {{ secret.NAME }}, with a name of letters, digits and underscores"
        raise Invalid(where, rule)


def refuse_secret(where: str, text: str) -> None:
    """Secrets stay out of URLs and bodies, which are kept and shown."""
    if _ENCODED.search(text):
        raise Invalid(where, "must not hold a secret: {{ secret.NAME }} works in the values of headers only")
